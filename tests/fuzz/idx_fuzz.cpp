// Any bytes either are an array or give an error.
#include <cstdint>
#include <span>

#include "plait/core/error.h"
#include "plait/io/idx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    plait::read_idx(std::as_bytes(std::span(data, size)));
  } catch (const plait::Error&) {
  }
  return 0;
}
