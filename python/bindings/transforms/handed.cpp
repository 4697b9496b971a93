#include "python/bindings/transforms/handed.h"

#include <unordered_map>

#include "plait/core/error.h"

namespace plait::python {
namespace {

// For each such tensor the function that received it. Protected by Python's lock.
std::unordered_map<PyObject*, const std::string*>& all_handed() {
  static std::unordered_map<PyObject*, const std::string*> all;
  return all;
}

}  // namespace

nb::object Handed::add(const Tensor& tensor) {
  nb::object made = nb::cast(tensor);
  all_handed().emplace(made.ptr(), &to_);
  tensors_.push_back(made);
  return made;
}

void Handed::close() {
  for (const nb::object& each : tensors_) all_handed().erase(each.ptr());
  tensors_.clear();
}

void Handed::expect_other(nb::handle tensor) {
  const auto found = all_handed().find(tensor.ptr());
  if (found == all_handed().end()) return;
  throw TypeError(
      "this tensor is an argument of {}: assigning into it would not change the caller's tensor",
      *found->second)
      .at(Location::of_caller())
      .hint("x = x.at[index].set(value) makes a new tensor, which the function may return");
}

}  // namespace plait::python
