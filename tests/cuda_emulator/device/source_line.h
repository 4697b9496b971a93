// Source lines of code addresses in compiled kernels.
#pragma once

#include <string>

namespace emulator {

// " (kernel.cu:12)" for a return address in the image of a module; empty if it is not known.
std::string source_line(const std::string& image, const void* code);

}  // namespace emulator
