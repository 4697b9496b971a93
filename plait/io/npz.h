// NumPy's .npz files: zip archives in which each member is a .npy file (npy.h), named "<name>.npy".
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "plait/tensor/memory/array.h"

namespace plait {

// Names are without ".npy", with the path inside the archive. Members may be stored or deflated;
// all checksums are verified. As in load_npy, large stored arrays are not copied. ParseError for a
// damaged archive, or one that contains anything but arrays; IoError if the file cannot be read, or
// is compressed and this build has no zlib.
std::map<std::string, Array> load_npz(const std::string& path);
// These arrays only: other members, which may be strings, are not read. KeyError for an unknown
// name.
std::map<std::string, Array> load_npz(const std::string& path, std::span<const std::string> names);
// The names of all members, in the order of the archive.
std::vector<std::string> npz_names(const std::string& path);

// Stored members are aligned to 64 bytes, so that load_npz need not copy them. The file is replaced
// atomically. ValueError for an invalid member name.
void save_npz(const std::string& path, const std::map<std::string, Array>& arrays,
              bool compressed = false);

// The same, on the bytes of a file. The arrays are always copies.
std::map<std::string, Array> read_npz(std::span<const std::byte> bytes);
std::vector<std::byte> write_npz(const std::map<std::string, Array>& arrays,
                                 bool compressed = false);

}  // namespace plait
