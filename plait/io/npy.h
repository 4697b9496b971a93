// NumPy's .npy files: one array each, versions 1.0 to 3.0 of the format.
//
// Read are booleans, integers, floats and complex numbers of either byte order and of C or Fortran
// order; what comes out is in row-major order. What ml_dtypes makes of narrow floats is read and
// written too: '<V2' is bf16, '<V1' is f8e4m3 and '<f1' is f8e5m2. A random key is a record,
// [('key', '<u8', (2,))]. Text, dates, objects, other records and raw bytes of unknown meaning are
// a TypeError; a file that breaks the format, or goes on after its array, is a ParseError.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "plait/tensor/memory/array.h"

namespace plait {

// A large array is not copied: it lies in the file, mapped, and is read when it is first touched.
// Replacing the file does not harm it, as save_npy does; cutting the file short in place does.
// IoError when the file cannot be read.
Array load_npy(const std::string& path);

// Byte for byte what numpy.save writes. The file appears under its name when it is whole: until
// then an older one stays. IoError when that fails; ValueError for an array of nothing.
void save_npy(const std::string& path, const Array& array);

// The same, of a file's bytes. What is read is always a copy.
Array read_npy(std::span<const std::byte> bytes);
std::vector<std::byte> write_npy(const Array& array);

}  // namespace plait
