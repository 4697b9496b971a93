// Host code that a program comes back to.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/ir/type.h"
#include "plait/tensor/tensor.h"

namespace plait {

// Calls the function with concrete tensors: at once, and in a program whenever that comes there, in
// order with whatever else is seen from outside; under vmap sample by sample. What it gives must be
// arrays of these types, which name no sizes but those that the operands have. It has no
// derivative: custom_vjp gives one. A derivative of a loop may call a function that gives something
// once more on the way back.
//
// A program names the function by a number, and so runs in this process only. A function that is
// part of a program, or of what a tape follows, is kept until the process ends (keep_callback).
std::vector<Tensor> callback(const TensorFunction& function, std::span<const Tensor> operands,
                             std::span<const ir::Type> results = {});

// The number of a function in programs, and calls of it under that.
int64_t keep_callback(TensorFunction function);
std::vector<Tensor> call_back(int64_t function, std::span<const Tensor> operands,
                              std::span<const ir::Type> results = {});

struct CallbackAttributes {
  int64_t function = 0;
  std::vector<ir::Type> results = {};  // of one sample
  int64_t samples = 0;                 // ops/inside/samples.h
  static constexpr std::string_view kRequired[] = {"function"};
};

void register_callback();

}  // namespace plait
