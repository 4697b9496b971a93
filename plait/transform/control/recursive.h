// Recursive functions, also mutually recursive ones. Outside of a trace they run as ordinary host
// code, as deep as memory allows; in a trace they become functions of the program, and the depth
// depends on their values.
//
//   auto factorial = recursive("factorial", [](auto self, Tensor n) {
//     return cond(n <= 1, [](Tensor n) { return ones_like(n); },
//                 [&](Tensor n) { return n * self(n - 1); }, n);
//   });
//   auto both = recursive<std::pair<Tensor, Tensor>>("both", ...);  // any result but one tensor
//
// Functions may capture tensors. In a trace, the result types are those of the branch of a `cond`
// or `switch_` that does not recurse.
#pragma once

#include <any>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/core/system/deep_stack.h"
#include "plait/core/trees/tree.h"
#include "plait/transform/control/control.h"

namespace plait {

namespace control {

// Identity of a recursive function in traces: each object is a function of its own.
struct RecursiveName {
  std::string name;
};
bool is_staging();
// Returns the leaves of the result, and sets `structure` to the result that was recorded. `key`
// distinguishes calls that differ in more than tensors.
using RecursiveBody =
    std::function<Tensors(std::span<const Tensor> arguments, std::any& structure)>;
Tensors call_recursive(const std::shared_ptr<const RecursiveName>& function, const TreeKey& key,
                       std::span<const Tensor> arguments, const RecursiveBody& body,
                       std::any& structure);

}  // namespace control

// Result of `recursive`, and the `self` that its function receives. Copies are the same function.
template <class Result, class Body>
class Recursive {
 public:
  Recursive(std::string name, Body body)
      : name_(std::make_shared<const control::RecursiveName>(std::move(name))),
        body_(std::make_shared<const Body>(std::move(body))) {}

  template <class... Arguments>
  Result operator()(const Arguments&... arguments) const {
    if (!control::is_staging()) {
      return with_enough_stack([&] { return static_cast<Result>((*body_)(*this, arguments...)); });
    }
    const std::tuple<Arguments...> all(arguments...);
    const auto on_leaves = [&](std::span<const Tensor> given, std::any& structure) {
      Result result = std::apply(
          [&](const Arguments&... replaced) {
            return static_cast<Result>((*body_)(*this, replaced...));
          },
          with_tensors(all, given));
      control::Tensors leaves = tensors_of(result);
      structure = std::move(result);
      return leaves;
    };
    std::any structure;
    const control::Tensors results =
        control::call_recursive(name_, key_of(all), tensors_of(all), on_leaves, structure);
    return with_tensors(std::any_cast<Result>(std::move(structure)), results);
  }

 private:
  std::shared_ptr<const control::RecursiveName> name_;
  std::shared_ptr<const Body> body_;
};

// body(self, arguments…) returns a `Result`, a tree of tensors.
template <class Result = Tensor, class Body>
Recursive<Result, Body> recursive(std::string name, Body body) {
  return {std::move(name), std::move(body)};
}

}  // namespace plait
