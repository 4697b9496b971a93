#include "python/bindings/transforms/argument_copies.h"

#include <unordered_map>

#include "plait/core/error.h"

namespace plait::python {
namespace {

// For each such tensor the function that received it. Protected by Python's lock.
std::unordered_map<PyObject*, const std::string*>& all_copies() {
  static std::unordered_map<PyObject*, const std::string*> all;
  return all;
}

}  // namespace

nb::object ArgumentCopies::add(const Tensor& tensor) {
  nb::object made = nb::cast(tensor);
  all_copies().emplace(made.ptr(), &to_);
  tensors_.push_back(made);
  return made;
}

void ArgumentCopies::close() {
  for (const nb::object& each : tensors_) all_copies().erase(each.ptr());
  tensors_.clear();
}

void ArgumentCopies::expect_other(nb::handle tensor) {
  const auto found = all_copies().find(tensor.ptr());
  if (found == all_copies().end()) return;
  throw TypeError(
      "this tensor is an argument of {}: assigning into it would not change the caller's tensor",
      *found->second)
      .at(Location::of_caller())
      .hint("x = x.at[index].set(value) makes a new tensor, which the function may return");
}

}  // namespace plait::python
