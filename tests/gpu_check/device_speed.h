// Speed of operations on a GPU, as peer_operations.py measures PyTorch's: a line of JSON for each,
// {"name": …, "microseconds": …, "mean": …}, where `mean` is that of the magnitudes of the result.
#pragma once

#include <string>

namespace plait::gpu_check {

// Measures all operations whose name contains the text, for `seconds` each.
void measure(const std::string& name, double seconds);

}  // namespace plait::gpu_check
