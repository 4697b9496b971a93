// A number without a dtype, as written in the source: the 2 of `x * 2` takes the dtype of x if
// possible.
#pragma once

#include <complex>
#include <concepts>
#include <cstdint>

#include "plait/core/numbers/element.h"
#include "plait/core/numbers/promotion.h"
#include "plait/core/sizes/dim.h"

namespace plait {

class Scalar {
 public:
  Scalar(bool value) : kind_(ScalarKind::boolean), integer_(value) {}  // NOLINT: all implicit
  template <std::integral T>
  Scalar(T value) : kind_(ScalarKind::integer), integer_(static_cast<int64_t>(value)) {}  // NOLINT
  template <std::floating_point T>
  Scalar(T value) : kind_(ScalarKind::floating), number_(static_cast<double>(value)) {}  // NOLINT
  Scalar(std::complex<double> value) : kind_(ScalarKind::complex), number_(value) {}     // NOLINT
  // A size stays symbolic, so that 1. / x.shape(0) is correct for every size.
  Scalar(Dim size) : kind_(ScalarKind::integer), size_(size), is_size_(true) {}  // NOLINT

  ScalarKind kind() const { return kind_; }
  // True if it is a symbolic size, whose value is unknown.
  bool is_symbolic() const { return is_size_ && !size_.is_number(); }
  Dim size() const { return is_size_ ? size_ : Dim(integer_); }
  // ValueError if it is symbolic.
  Element element() const;

 private:
  ScalarKind kind_;
  int64_t integer_ = 0;
  std::complex<double> number_;
  Dim size_ = 0;
  bool is_size_ = false;
};

}  // namespace plait
