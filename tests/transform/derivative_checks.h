// What holds of the derivatives of every program, held against one.
#pragma once

#include <stdexcept>

#include "tests/transform/random_program.h"

namespace plait {

class Disagreement : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What was recorded with symbols for sizes may be other operations, which round otherwise.
void expect_as_good_as_same(const char* what, const Tensors& got, const Tensors& wanted);

// Of a program that is run in place, or as an instruction of others sees it; sizes, numbers and
// direction are those of the description.
//
// Throws a Disagreement that says between what. True where its slope is smooth enough here that
// differences of its values tell it; else that one comparison was left out.
bool check_derivatives(const RandomProgram& program);

}  // namespace plait
