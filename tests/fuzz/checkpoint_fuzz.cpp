// Any metadata of a safetensors file either describes a checkpoint or gives an error. What is
// described is the same when its own metadata is read again.
#include <algorithm>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/checkpoints/checkpoint_metadata.h"
#include "plait/io/safetensors.h"

namespace {

void read(const plait::SafetensorsMetadata& metadata) {
  const plait::Checkpoint found = plait::described_checkpoint(metadata);
  const plait::SafetensorsMetadata written = plait::metadata_of(found);
  const plait::Checkpoint again = plait::described_checkpoint(written);
  if (plait::metadata_of(again) != written) throw std::logic_error("a checkpoint differs");
}

// The lines of a text in pairs: names and values.
plait::SafetensorsMetadata pairs_of(std::string_view text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.emplace_back(text.substr(at, end - at));
    at = end + 1;
  }
  plait::SafetensorsMetadata pairs;
  for (size_t i = 0; i + 1 < lines.size(); i += 2) pairs[lines[i]] = lines[i + 1];
  return pairs;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    read(pairs_of(plait::characters_of(std::as_bytes(std::span(data, size)))));
  } catch (const plait::Error&) {
  }
  return 0;
}
