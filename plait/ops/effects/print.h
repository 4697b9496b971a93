// Printing of values while they are computed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "plait/tensor/tensor.h"

namespace plait {

// Prints "label: " and x as text (Tensor::text), or only the text if there is no label. In a
// program it is an instruction that prints each time it runs, in order with other side effects, and
// is never removed or duplicated; under vmap once per sample. Returns x.
Tensor print(const Tensor& x, std::string_view label = {});

// Receives one printed text, without the final newline.
using PrintSink = std::function<void(std::string_view text)>;
// Redirects printed text from standard output to the sink, which receives one text at a time. An
// empty sink restores standard output. Text that the sink itself prints goes to standard output.
// Returns the previous sink, which no thread is running any more.
PrintSink set_print_sink(PrintSink sink);

struct PrintAttributes {
  std::string label = {};
  int64_t samples = 0;  // see ops/inside/samples.h
};

void register_print();

}  // namespace plait
