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

void move(const Products& products, Products::Single& single, size_t dimension, int64_t steps) {
  const int64_t bytes = steps * products.element_size();
  single.a.data += bytes * products.a_strides[dimension];
  single.b.data += bytes * products.b_strides[dimension];
  single.out.data += bytes * products.out_strides[dimension];
}

// The first pair of a loop's turn.
Products::Single first_pair(const Products& products, int64_t turn) {
  const size_t inner = inner_dimension(products);
  Products::Single single{products.a, products.b, products.out};
  for (size_t i = products.sizes.size(); i-- > 0;) {
    if (i == inner) continue;
    move(products, single, i, turn % products.sizes[i]);
    turn /= products.sizes[i];
  }
  return single;
}

bool run_blocks(const Products& products, const ProductPart& part,
                FunctionRef<bool(const ProductPart&)> run) {
  const int64_t size = products.element_size();
  for (int64_t row = 0; row < products.rows; row += kMostRows) {
    const int64_t rows = std::min(products.rows - row, kMostRows);
    ProductPart block = part;
    block.first.a = part.first.a.block(row, 0, rows, products.steps, size);
    block.first.out = part.first.out.block(row, 0, rows, products.columns, size);
    if (!run(block)) return false;
  }
  return true;
}

}  // namespace

int64_t count_parts(const Products& products) { return products.count / inner_size(products); }

bool for_each_part(const Products& products, FunctionRef<bool(const ProductPart&)> run) {
  const size_t inner = inner_dimension(products);
  const int64_t pairs = inner_size(products);
  for (int64_t turn = 0; turn < count_parts(products); ++turn) {
    for (int64_t done = 0; done < pairs; done += kMostPairs) {
      ProductPart part{first_pair(products, turn), std::min(pairs - done, kMostPairs)};
      if (done > 0) move(products, part.first, inner, done);
      if (part.count > 1) {
        part.a_stride = products.a_strides[inner];
        part.b_stride = products.b_strides[inner];
        part.out_stride = products.out_strides[inner];
      }
      if (!run_blocks(products, part, run)) return false;
    }
  }
  return true;
}

}  // namespace plait::cuda
