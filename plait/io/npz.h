// NumPy's .npz files: zip archives in which each member is a .npy file (npy.h), named "<name>.npy".
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "plait/tensor/memory/array.h"

namespace plait {

// Names come without ".npy", and with the folders that they begin with. Members may be stored or
// deflated; every checksum is compared. As with load_npy, large arrays that are stored in place are
// not copied. ParseError for an archive that is damaged or holds anything but arrays; IoError when
// the file cannot be read, or is compressed and this build has no zlib.
std::map<std::string, Array> load_npz(const std::string& path);

// Stored members begin on 64 bytes, so that load_npz need not copy them. The file appears under its
// name when it is whole. ValueError for a name that no member can have.
void save_npz(const std::string& path, const std::map<std::string, Array>& arrays,
              bool compressed = false);

// The same, of a file's bytes. What is read is always a copy.
std::map<std::string, Array> read_npz(std::span<const std::byte> bytes);
std::vector<std::byte> write_npz(const std::map<std::string, Array>& arrays,
                                 bool compressed = false);

}  // namespace plait
