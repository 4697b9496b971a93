// Conditions that must hold while something is computed.
#pragma once

#include <string>
#include <string_view>

#include "plait/tensor/tensor.h"

namespace plait {

// CheckError with the message where one of these is false. In a program it is an instruction, which
// looks whenever the program comes there: in order with whatever else is seen from outside, never
// removed. Under vmap each sample is looked at, and the error says which one it was.
void check(const Tensor& condition, std::string_view message = {});

struct CheckAttributes {
  std::string message = {};
  int64_t samples = 0;  // ops/samples.h
};

void register_check();

}  // namespace plait
