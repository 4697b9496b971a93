// Whether two ways to compute the same agree.
#pragma once

#include <stdexcept>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

using Tensors = std::vector<Tensor>;
using Numbers = std::vector<double>;

class Disagreement : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Those that have derivatives; of complex ones both parts.
Numbers numbers_of(const Tensors& tensors);
double greatest_of(const Numbers& numbers);  // of those that are finite, without their signs
bool is_finite(const Numbers& numbers);

// Each throws a Disagreement that says between what.
void expect_close(const char* what, const Numbers& got, const Numbers& wanted, double tolerance);
void expect_same_bits(const char* what, const Tensors& got, const Tensors& wanted);
// What was recorded with symbols for sizes may be other operations, which round otherwise.
void expect_as_good_as_same(const char* what, const Tensors& got, const Tensors& wanted,
                            double tolerance = 1e-11);

}  // namespace plait
