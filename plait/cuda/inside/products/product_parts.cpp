#include "plait/cuda/inside/products/product_parts.h"

#include <algorithm>

namespace plait::cuda {
namespace {

constexpr int64_t kMostPairs = 65535, kMostRows = int64_t{1} << 30;

// The dimension of the batch within a part; that of 0 dimensions has one pair.
size_t inner_dimension(const Products& products) {
  return static_cast<size_t>(std::ranges::max_element(products.sizes) - products.sizes.begin());
}
int64_t inner_size(const Products& products) {
  return products.sizes.empty() ? 1 : products.sizes[inner_dimension(products)];
}

// Moves to another pair of a part, or to another block of rows.
class Places {
 public:
  Places(const Products& products, DType result)
      : products_(products), size_(size_of(products.dtype)), result_size_(size_of(result)) {}

  void move(Products::Single& single, size_t dimension, int64_t steps) const {
    single.a.data += steps * products_.a_strides[dimension] * size_;
    single.b.data += steps * products_.b_strides[dimension] * size_;
    single.out.data += steps * products_.out_strides[dimension] * result_size_;
  }
  // The first pair of a loop's turn.
  Products::Single first_pair(int64_t turn) const {
    const size_t inner = inner_dimension(products_);
    Products::Single single{products_.a, products_.b, products_.out};
    for (size_t i = products_.sizes.size(); i-- > 0;) {
      if (i == inner) continue;
      move(single, i, turn % products_.sizes[i]);
      turn /= products_.sizes[i];
    }
    return single;
  }
  ProductPart block(const ProductPart& part, int64_t row, int64_t rows) const {
    ProductPart block = part;
    block.first.a = part.first.a.block(row, 0, rows, products_.steps, size_);
    block.first.out = part.first.out.block(row, 0, rows, products_.columns, result_size_);
    return block;
  }

 private:
  const Products& products_;
  int64_t size_, result_size_;
};

}  // namespace

int64_t count_parts(const Products& products) { return products.count / inner_size(products); }

bool for_each_part(const Products& products, DType result,
                   FunctionRef<bool(const ProductPart&)> run) {
  const Places places(products, result);
  const size_t inner = inner_dimension(products);
  const int64_t pairs = inner_size(products), turns = count_parts(products);
  for (int64_t turn = 0; turn < turns; ++turn) {
    for (int64_t done = 0; done < pairs; done += kMostPairs) {
      ProductPart part{places.first_pair(turn), std::min(pairs - done, kMostPairs)};
      if (done > 0) places.move(part.first, inner, done);
      if (part.count > 1) {
        part.a_stride = products.a_strides[inner];
        part.b_stride = products.b_strides[inner];
        part.out_stride = products.out_strides[inner];
      }
      for (int64_t row = 0; row < products.rows; row += kMostRows) {
        if (!run(places.block(part, row, std::min(products.rows - row, kMostRows)))) return false;
      }
    }
  }
  return true;
}

}  // namespace plait::cuda
