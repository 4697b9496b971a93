// Records a function again: the start of transforms on programs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plait/tensor/inside/tracing/trace.h"

namespace plait {

// A trace with the parameters of a function and the facts about their sizes.
struct Retrace {
  Trace trace;
  std::vector<Tensor> parameters;

  Retrace(const ir::Function& function, const std::string& name);
  ir::Program finish(std::span<const Tensor> results);
};

}  // namespace plait
