#include "plait/ops/inside/products/batched_products.h"

namespace plait {
namespace {

// The layout of the batch dimensions, broadcast to `sizes`.
Layout batch_of(const Layout& layout, std::span<const int64_t> sizes) {
  const Layout own{std::span(layout.sizes.data(), layout.rank() - 2),
                   std::span(layout.strides.data(), layout.rank() - 2)};
  return own.broadcast_to(sizes);
}

template <class Byte>
MatrixOf<Byte> matrix_of(Byte* data, const Layout& layout) {
  const size_t rank = layout.rank();
  return {data, layout.sizes[rank - 2], layout.sizes[rank - 1], layout.strides[rank - 2],
          layout.strides[rank - 1]};
}

// If b is the same for all matrices of a batch dimension, and the rows of a and out continue from
// one matrix to the next, the dimension is merged into the rows.
void fold_batch_into_rows(Products& products) {
  while (!products.sizes.empty()) {
    const size_t last = products.sizes.size() - 1;
    const int64_t a_stride = products.a_strides[last], out_stride = products.out_strides[last];
    if (products.b_strides[last] != 0) return;
    if (products.rows == 1) {
      products.a.row_stride = a_stride;
      products.out.row_stride = out_stride;
    }
    if (a_stride != products.rows * products.a.row_stride ||
        out_stride != products.rows * products.out.row_stride) {
      return;
    }
    products.rows *= products.sizes[last];
    products.count /= products.sizes[last];
    for (Sizes* list :
         {&products.sizes, &products.a_strides, &products.b_strides, &products.out_strides}) {
      list->erase(last);
    }
  }
}

}  // namespace

Sizes sizes_of_product(const Layout& a, const Layout& b) {
  const Layout& longer = a.rank() >= b.rank() ? a : b;
  const Layout& shorter = a.rank() >= b.rank() ? b : a;
  Sizes sizes = longer.sizes;
  for (size_t i = 3; i <= shorter.rank(); ++i) {
    int64_t& size = sizes[sizes.size() - i];
    if (size == 1) size = shorter.sizes[shorter.rank() - i];
  }
  sizes[sizes.size() - 2] = a.sizes[a.rank() - 2];
  sizes[sizes.size() - 1] = b.sizes[b.rank() - 1];
  return sizes;
}

Products products_of(const Array& a, const Array& b, const Layout& out, std::byte* out_data) {
  Products products{.dtype = a.dtype()};
  products.a = matrix_of<const std::byte>(a.device_data(), a.layout());
  products.b = matrix_of<const std::byte>(b.device_data(), b.layout());
  products.out = matrix_of(out_data, out);
  products.rows = products.a.rows;
  products.columns = products.b.columns;
  products.steps = products.a.columns;
  const std::span<const int64_t> batch(out.sizes.data(), out.rank() - 2);
  products.count = element_count_of(batch);
  if (products.count <= 1) return products;
  const Layout in_a = batch_of(a.layout(), batch), in_b = batch_of(b.layout(), batch),
               in_out = batch_of(out, batch);
  const Layout* layouts[] = {&in_a, &in_b, &in_out};
  JointLayout joint(layouts);
  products.sizes = std::move(joint.sizes);
  products.a_strides = std::move(joint.strides[0]);
  products.b_strides = std::move(joint.strides[1]);
  products.out_strides = std::move(joint.strides[2]);
  fold_batch_into_rows(products);
  products.a.rows = products.out.rows = products.rows;
  return products;
}

}  // namespace plait
