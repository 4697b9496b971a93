// How preprocessed CUDA C++ becomes C++ for the host's compiler: kernels are found, and shared
// memory gets its place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace emulator {

struct KernelInText {
  std::string name;
  std::string bounds;  // the arguments of __launch_bounds__; may be empty
};

struct HostText {
  std::string text;
  std::vector<KernelInText> kernels;
};

HostText host_text(std::string_view preprocessed);
// The table that the driver reads after loading: see EmulatedKernel.
std::string kernel_table(const std::vector<KernelInText>& kernels, int architecture);
// The text that comes before each kernel.
std::string_view shim_language();
std::string_view shim_numbers();
std::string_view shim_math();

}  // namespace emulator
