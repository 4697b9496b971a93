// NumPy's .npy files: one array each, versions 1.0 to 3.0 of the format.
//
// Supported are booleans, integers, floats and complex numbers, in either byte order and in C or
// Fortran order; the result is row-major. The narrow floats of ml_dtypes are supported too: '<V2'
// is bf16, '<V1' is f8e4m3 and '<f1' is f8e5m2. A random key is a record, [('key', '<u8', (2,))].
// Text, dates, objects, other records and raw bytes are a TypeError; a malformed file, or bytes
// after the array, are a ParseError.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "plait/tensor/memory/array.h"

namespace plait {

// A large array is not copied: the file is mapped, and its pages are read when they are first
// touched. Replacing the file, as save_npy does, is safe; truncating it in place is not. IoError if
// the file cannot be read.
Array load_npy(const std::string& path);

// Writes byte for byte what numpy.save writes. The file is replaced atomically. IoError if that
// fails; ValueError for an empty Array().
void save_npy(const std::string& path, const Array& array);

// The same, on the bytes of a file. The array is always a copy.
Array read_npy(std::span<const std::byte> bytes);
std::vector<std::byte> write_npy(const Array& array);

}  // namespace plait
