// Matrix products by a library (oneDNN), prepared once for given sizes and then run by any threads
// at once, each run in the thread that calls. A build without the library prepares nothing.
#pragma once

#include <cstdint>
#include <memory>

#include "plait/core/numbers/dtype.h"

namespace plait {

struct ProductShape {
  DType dtype;
  int64_t rows, columns, steps;
  // One stride of each operand is 1; the other is not less than the extent of that dimension.
  int64_t a_row, a_step;
  int64_t b_step, b_column;
  int64_t out_row;  // the columns of out lie side by side

  friend bool operator==(const ProductShape&, const ProductShape&) = default;
};

class LibraryProduct {
 public:
  virtual ~LibraryProduct() = default;
  virtual void run(const std::byte* a, const std::byte* b, std::byte* out) = 0;
};

// Whether it is worth asking for products of the dtype.
bool library_has_product(DType dtype);
// Null when the library cannot, or not well.
std::shared_ptr<LibraryProduct> library_product(const ProductShape& shape);

// Products with b as the library reads it fastest, into which layout it is brought first: of `rows`
// of a, or `last_rows`. Rows of a are dense, and rows of the result lie side by side.
struct PackedShape {
  DType dtype;
  DType b_dtype;  // f32 may be rounded to `dtype` on the way
  int64_t rows, last_rows, columns, steps;
  int64_t a_row;
  int64_t b_step, b_column;
  int64_t packers;  // threads that pack

  friend bool operator==(const PackedShape&, const PackedShape&) = default;
};

class PackedLibraryProduct {
 public:
  virtual ~PackedLibraryProduct() = default;
  virtual int64_t packed_bytes() const = 0;
  // b is packed in so many parts.
  virtual int64_t parts() const = 0;
  virtual void pack(int64_t part, const std::byte* b, std::byte* packed) = 0;
  virtual void run(int64_t rows, const std::byte* a, const std::byte* packed, std::byte* out) = 0;
};

std::shared_ptr<PackedLibraryProduct> packed_library_product(const PackedShape& shape);

}  // namespace plait
