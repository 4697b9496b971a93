// Any bytes either are an array or give an error; what is read is the same when written again.
#include <cstdint>
#include <span>
#include <stdexcept>

#include "plait/core/error.h"
#include "plait/io/npy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plait::Array array;
  try {
    array = plait::read_npy(std::as_bytes(std::span(data, size)));
  } catch (const plait::Error&) {
    return 0;
  }
  const plait::Array again = plait::read_npy(plait::write_npy(array));
  if (again.literal() != array.literal()) throw std::logic_error("an array differs, read again");
  return 0;
}
