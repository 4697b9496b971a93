// Looking at values while they are computed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "plait/tensor/tensor.h"

namespace plait {

// Prints "label: " and x as text (Tensor::text), or the text alone where there is no label. In a
// program it is an instruction, which prints whenever the program comes there: in order with
// whatever else is seen from outside, never removed or repeated; under vmap sample by sample. Gives
// x back.
Tensor print(const Tensor& x, std::string_view label = {});

// Takes what is printed, without the end of the line.
using PrintSink = std::function<void(std::string_view text)>;
// What is printed goes to the sink, one at a time, instead of to standard output; an empty sink is
// standard output again, and what the sink itself prints goes there. Gives the former sink, which
// no other thread is in any more.
PrintSink set_print_sink(PrintSink sink);

struct PrintAttributes {
  std::string label = {};
  int64_t samples = 0;  // ops/inside/samples.h
};

void register_print();

}  // namespace plait
