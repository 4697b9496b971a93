// One array of an archive.
#pragma once

#include <memory>

#include "plait/io/inside/zip.h"
#include "plait/tensor/memory/array.h"

namespace plait {

// Borrows as npy_array() does. ParseError also if the checksum differs.
Array npz_member(const ZipMember& member, std::shared_ptr<const void> owner);

}  // namespace plait
