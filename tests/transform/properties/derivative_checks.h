// Checks that hold for the derivatives of every program.
#pragma once

#include "tests/support/agreement.h"
#include "tests/support/programs/tensor_program.h"

namespace plait {

// Checks one random program, run eagerly or as an instruction in other programs; sizes, numbers and
// direction come from its description.
//
// Throws a Disagreement that names both sides. Returns true if the program is smooth enough here
// for finite differences; false if that comparison was skipped.
bool check_derivatives(const RandomProgram& program);

}  // namespace plait
