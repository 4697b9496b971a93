// c128 and keys, which the format lacks: they are stored as F64 and U64 with a last axis of size 2.
// The metadata says which tensors these are: "plait.dtypes" is a JSON object, {"name":"key"}.
#pragma once

#include <optional>
#include <vector>

#include "plait/io/inside/safetensors/safetensors_header.h"

namespace plait {

inline bool is_stored_as_pairs(DType dtype) { return dtype == DType::c128 || is_key(dtype); }
inline DType dtype_of_pairs(DType dtype) { return is_key(dtype) ? DType::u64 : DType::f64; }
Sizes with_pairs(Sizes sizes);
Sizes without_pairs(Sizes sizes);

// Sets the dtypes of the tensors that the metadata lists. Other programs may have renamed tensors
// and kept the metadata, so entries that do not fit are ignored.
void find_pairs(const SafetensorsMetadata& metadata, std::vector<SafetensorsTensor>& tensors);

// The metadata with a list of these tensors; without an older one, which may be of another file.
std::optional<SafetensorsMetadata> metadata_with_pairs(
    std::optional<SafetensorsMetadata> metadata, const std::vector<SafetensorsTensor>& tensors);

}  // namespace plait
