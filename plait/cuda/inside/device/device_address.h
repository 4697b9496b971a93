// Addresses of arrays, as the driver and kernels take them.
#pragma once

#include "plait/cuda/inside/driver/driver.h"
#include "plait/tensor/memory/array.h"

namespace plait::cuda {

// The element with all indices 0, in the memory of a device.
inline Address address_of(const Array& array) {
  return reinterpret_cast<Address>(array.device_data());
}

}  // namespace plait::cuda
