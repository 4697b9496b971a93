// Calls of host code from programs.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "plait/ir/type.h"
#include "plait/tensor/tensor.h"

namespace plait {

// Calls the function with concrete tensors: eagerly, or in a program each time the instruction
// runs, in order with other side effects; under vmap once per sample. The results must be arrays of
// the given types, whose symbolic sizes must be sizes of the operands. There is no derivative;
// define one with custom_vjp. The backward pass of a loop may call a function that has results
// again.
//
// A program refers to the function by a number, and therefore runs in this process only. A function
// that is part of a program or of a tape is kept until the process ends (keep_callback).
std::vector<Tensor> callback(const TensorFunction& function, std::span<const Tensor> operands,
                             std::span<const ir::Type> results = {});

// Registers a function and returns its number in programs; calls the function of a number.
int64_t keep_callback(TensorFunction function);
std::vector<Tensor> call_back(int64_t function, std::span<const Tensor> operands,
                              std::span<const ir::Type> results = {});

struct CallbackAttributes {
  int64_t function = 0;
  std::vector<ir::Type> results = {};  // types for one sample
  int64_t samples = 0;                 // see ops/inside/samples.h
  static constexpr std::string_view kRequired[] = {"function"};
};

void register_callback();

}  // namespace plait
