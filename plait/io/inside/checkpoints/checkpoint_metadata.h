// The metadata of a checkpoint's file.
#pragma once

#include <string_view>

#include "plait/io/checkpoints.h"

namespace plait {

// Names of metadata that Plait writes.
bool is_reserved_metadata(std::string_view name);

// All but the checksums.
SafetensorsMetadata metadata_of(const Checkpoint& checkpoint);

// A checkpoint without tensors and program. ParseError if an entry is malformed.
Checkpoint described_checkpoint(const SafetensorsMetadata& metadata);

}  // namespace plait
