// Any bytes either are a GGUF file or give an error, and so does each of its tensors.
#include <cstdint>
#include <span>

#include "plait/core/error.h"
#include "plait/io/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    const auto file = plait::Gguf::read(std::as_bytes(std::span(data, size)));
    for (const auto& [key, value] : file.metadata()) file.at(key);
    for (const auto& name : file.names()) {
      try {
        file.array(name);
      } catch (const plait::Error&) {
      }
    }
  } catch (const plait::Error&) {
  }
  return 0;
}
