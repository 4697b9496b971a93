// The generator of random bits (ops/inside/random/philox.h) in CUDA C++.
#pragma once

#include <cstdint>
#include <string_view>

#include "plait/core/numbers/element.h"
#include "plait/cuda/inside/driver/driver.h"

namespace plait::cuda {

// The keys of a call, as kernels get them: the first one by value, so that one key needs no memory
// of the device.
struct RandomKeys {
  KeyBits first;
  Address all = 0;  // all keys, if there are several
};

// Key, Keys (RandomKeys), key_at, stream_block, stream_word, folded_key.
extern const std::string_view kPhiloxText;

}  // namespace plait::cuda
