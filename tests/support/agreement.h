// Compares two computations of the same result.
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

// The elements of tensors that have derivatives; both parts of complex ones.
Numbers numbers_of(const Tensors& tensors);
double greatest_of(const Numbers& numbers);  // largest magnitude of the finite ones
bool is_finite(const Numbers& numbers);

// Each throws a Disagreement that names the two computations.
void expect_close(const char* what, const Numbers& got, const Numbers& wanted, double tolerance);
void expect_same_bits(const char* what, const Tensors& got, const Tensors& wanted);
// With symbolic sizes, other operations may be recorded, which round differently.
void expect_as_good_as_same(const char* what, const Tensors& got, const Tensors& wanted,
                            double tolerance = 1e-11);

}  // namespace plait
