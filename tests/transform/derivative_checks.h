// What holds of the derivatives of every program, held against one.
#pragma once

#include "tests/support/agreement.h"
#include "tests/support/tensor_program.h"

namespace plait {

// Of a program that is run in place, or as an instruction of others sees it; sizes, numbers and
// direction are those of the description.
//
// Throws a Disagreement that says between what. True where its slope is smooth enough here that
// differences of its values tell it; else that one comparison was left out.
bool check_derivatives(const RandomProgram& program);

}  // namespace plait
