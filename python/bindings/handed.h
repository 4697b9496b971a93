// Tensors that a transform makes for the function that it calls, in the place of the caller's. To
// assign into one of them would change it alone, where without the transform it would change the
// caller's: so that is an error.
#pragma once

#include <vector>

#include "python/bindings/bindings.h"

namespace plait::python {

class Handed {
 public:
  explicit Handed(const char* to) : to_(to) {}  // "a function that is traced"
  Handed(const Handed&) = delete;
  Handed& operator=(const Handed&) = delete;
  ~Handed() { close(); }

  nb::object add(const Tensor& tensor);
  void close();  // the function is over

  // TypeError where it is such a tensor.
  static void expect_other(nb::handle tensor);

 private:
  const char* to_;
  std::vector<nb::object> tensors_;
};

}  // namespace plait::python
