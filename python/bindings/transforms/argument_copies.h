// Tensors that a transform creates for the function that it calls, in place of the caller's.
// Without the transform, an assignment would change the caller's tensor; here it would only change
// the copy, so it is an error.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "python/bindings/bindings.h"

namespace plait::python {

class ArgumentCopies {
 public:
  explicit ArgumentCopies(std::string to) : to_(std::move(to)) {}  // "a function that is traced"
  ArgumentCopies(const ArgumentCopies&) = delete;
  ArgumentCopies& operator=(const ArgumentCopies&) = delete;
  ~ArgumentCopies() { close(); }

  nb::object add(const Tensor& tensor);
  void close();  // called when the function has returned

  // TypeError if x is such a tensor.
  static void expect_other(nb::handle tensor);

 private:
  std::string to_;
  std::vector<nb::object> tensors_;
};

}  // namespace plait::python
