// Any bytes either are an archive, whose members are inside it, or give an error.
#include <cstdint>
#include <span>
#include <stdexcept>

#include "plait/core/error.h"
#include "plait/io/inside/tar/tar_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  plait::TarReader reader(std::as_bytes(std::span(data, size)));
  size_t end = 0;
  try {
    while (const auto member = reader.next()) {
      if (member->begin < end + 512 || member->size > size - member->begin) {
        throw std::logic_error("a member is not behind the one before it");
      }
      end = member->begin + member->size;
    }
  } catch (const plait::Error&) {
  }
  return 0;
}
