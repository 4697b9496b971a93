// NVRTC, NVIDIA's compiler of CUDA C++ at run time, opened when it is first needed.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "plait/core/settings.h"

namespace plait {
namespace setting {
extern Setting<std::string> kNvrtc;
}

namespace cuda {

struct Nvrtc {
  using Program = struct NvrtcProgramTag*;
  using Status = int;  // nvrtcResult; 0: success

  Status (*version)(int* major, int* minor);
  const char* (*error_string)(Status);
  Status (*create)(Program*, const char* text, const char* name, int headers,
                   const char* const* header_texts, const char* const* header_names);
  Status (*destroy)(Program*);
  Status (*compile)(Program, int count, const char* const* options);
  Status (*log_size)(Program, size_t*);
  Status (*log)(Program, char*);
  Status (*cubin_size)(Program, size_t*);
  Status (*cubin)(Program, char*);
  Status (*ptx_size)(Program, size_t*);
  Status (*ptx)(Program, char*);

  std::string identity;            // another library compiles otherwise
  std::vector<int> architectures;  // those that it knows, ascending; empty if it does not say
};

// DeviceError that says what to install if there is none.
const Nvrtc& nvrtc();
// For tests: a library of a known path.
Nvrtc open_nvrtc(const std::string& chosen);

}  // namespace cuda
}  // namespace plait
