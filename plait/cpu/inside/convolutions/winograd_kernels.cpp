// For every processor: vectors of 16 bytes.
#include "plait/cpu/inside/convolutions/winograd_kernels_body.h"

namespace plait {
namespace {

struct Level {
  static constexpr int kBytes = 16;
};

}  // namespace

constinit const WinogradLevel kWinograd = winograd_kernels_body::level_of<Level>();

}  // namespace plait
