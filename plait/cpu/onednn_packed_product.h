// Large matrix products of bf16 by oneDNN, in blocks that are copied together first.
#pragma once

#include <memory>

#include "plait/cpu/library_product.h"

namespace plait {

// Null where this is not the faster way.
std::shared_ptr<LibraryProduct> packed_product(const ProductShape& shape);

}  // namespace plait
