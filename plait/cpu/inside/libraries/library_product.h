// Matrix products by a library (oneDNN). A product is prepared once for given sizes; any number of
// threads may run it at the same time, each on its own thread. Without the library, nothing is
// prepared.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "plait/core/numbers/dtype.h"

namespace plait {

struct ProductShape {
  DType dtype;
  int64_t rows, columns, steps;
  // One stride of each operand is 1; the other one is at least the extent of that dimension.
  int64_t a_row, a_step;
  int64_t b_step, b_column;
  int64_t out_row;           // the columns of out are contiguous
  bool accumulates = false;  // adds to out, whose dtype is f32

  friend bool operator==(const ProductShape&, const ProductShape&) = default;
};

class LibraryProduct {
 public:
  virtual ~LibraryProduct() = default;
  virtual void run(const std::byte* a, const std::byte* b, std::byte* out) = 0;
};

// True if the library is useful for products of the dtype.
bool library_has_product(DType dtype);
// Null if the library has no implementation, or only a slow one.
std::shared_ptr<LibraryProduct> library_product(const ProductShape& shape);

// Products with b in the layout that the library reads fastest, into which b is packed first: of
// `rows` rows of a, or of `last_rows`. Rows of a and of the result are contiguous.
struct PackedShape {
  DType dtype;
  DType b_dtype;  // f32 may be rounded to `dtype` when packed
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
  virtual std::span<const int64_t> packed_layout() const = 0;  // equal for equal layouts
  // Number of parts in which b is packed.
  virtual int64_t parts() const = 0;
  virtual void pack(int64_t part, const std::byte* b, std::byte* packed) = 0;
  virtual void run(int64_t rows, const std::byte* a, const std::byte* packed, std::byte* out) = 0;
};

std::shared_ptr<PackedLibraryProduct> packed_library_product(const PackedShape& shape);

}  // namespace plait
