#include "plait/ops/products/linear.h"

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

using ir::IndexSignature;

IndexSignature::Dimension index(uint32_t number) { return {{{{{number}}}}}; }

// "b… i k, b… k j -> b… i j | sum"
IndexSignature matmul_signature(const ir::Inference& in) {
  in.expect_array(0, in.primitive.takes);
  in.expect_array(1, in.primitive.takes);
  const int64_t rank = in.operands[0].rank();
  if (rank < 2 || in.operands[1].rank() != rank) {
    in.fail("expected two batches of matrices of one rank, not {} and {}", in.operands[0].text(),
            in.operands[1].text());
  }
  const auto batch = static_cast<uint32_t>(rank - 2);
  IndexSignature signature{.operands = std::vector<IndexSignature::Access>(2),
                           .results = std::vector<IndexSignature::Access>(1),
                           .reduction = ir::Reduction::sum};
  for (uint32_t b = 0; b < batch; ++b) signature.indices.push_back(fmt::format("b{}", b));
  for (const char* name : {"i", "k", "j"}) signature.indices.emplace_back(name);
  const auto access = [&](uint32_t row, uint32_t column) {
    IndexSignature::Access access;
    for (uint32_t b = 0; b < batch; ++b) access.dimensions.push_back(index(b));
    access.dimensions.push_back(index(batch + row));
    access.dimensions.push_back(index(batch + column));
    return access;
  };
  signature.operands = {access(0, 1), access(1, 2)};
  signature.results = {access(0, 2)};
  return signature;
}

struct LinearTable;
const LinearTable& linear_ops();

std::vector<Tensor> batch_matmul(const ir::Attributes&, std::span<const Tensor> operands,
                                 const std::vector<bool>& batched) {
  const Tensor &a = operands[0], &b = operands[1];
  if (!batched[1] && b.rank() == 2) return {plait::matmul(a, b)};
  const std::vector<Tensor> all = all_batched(operands, batched);
  return {plait::matmul(all[0], all[1])};
}

struct LinearTable {
  const ir::Primitive& matmul = declare(
      {.primitive = {.name = "matmul",
                     .summary = "The product of matrices, or of each pair in two batches.",
                     .oracle = "numpy.matmul",
                     .operands = ir::exactly(2),
                     .takes = kNumbers,
                     .numerics = {.precision = ir::Precision::narrow},
                     .signature = matmul_signature,
                     .body = {
                         .real = [](std::span<const double> x) { return x[0] * x[1]; },
                         .integer =
                             [](std::span<const int64_t> x) {
                               return static_cast<int64_t>(static_cast<uint64_t>(x[0]) *
                                                           static_cast<uint64_t>(x[1]));
                             },
                         .complex =
                             [](std::span<const std::complex<double>> x) { return x[0] * x[1]; }}},
       .rules = {.transposes = {{Reads::operand(1),
                                 [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   return plait::matmul(cotangent, matrix_transpose(c.operand(1)));
                                 }},
                                {Reads::operand(0),
                                 [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   return plait::matmul(matrix_transpose(c.operand(0)), cotangent);
                                 }}},
                 .batching = {batch_matmul}}});
};
const LinearTable& linear_ops() {
  static const LinearTable table;
  return table;
}

Shape with_batch(const Shape& batch, const Shape& matrices) {
  Shape shape = batch;
  shape.append(matrices.at(-2));
  shape.append(matrices.at(-1));
  return shape;
}

Shape batch_of(const Shape& shape) { return Shape(shape.dims().first(shape.rank() - 2)); }

void check_inner(const Tensor& a, const Tensor& b) {
  if (a.rank() == 0 || b.rank() == 0) {
    throw ShapeError("matmul: {} · {}: a scalar is not a matrix", a.type().text(), b.type().text())
        .at(Location::of_caller())
        .hint("multiply by a scalar with *");
  }
  const Dim inner_a = a.shape(-1), inner_b = b.shape(b.rank() == 1 ? -1 : -2);
  if (!inner_a.is_number() || !inner_b.is_number() || same(inner_a, inner_b)) return;
  throw ShapeError("matmul: inner sizes differ: {} · {} ({} ≠ {})", a.shape().text(),
                   b.shape().text(), inner_a, inner_b)
      .at(Location::of_caller());
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  const Call call("matmul", a, b);
  check_inner(a, b);
  const DType dtype = common_dtype(a, b);
  Tensor x = astype(a, dtype), y = astype(b, dtype);
  if (a.rank() == 1) x = expand_dims(x, 0);
  if (b.rank() == 1) y = expand_dims(y, -1);
  const Shape batch_x = batch_of(x.shape()), batch_y = batch_of(y.shape());
  const Dim rows = x.shape(-2);
  const bool is_tall = batch_x.rank() > 0 && batch_y.rank() == 0;
  if (is_tall) {
    // A stack of matrices times one matrix is computed as one tall matrix times it; this also makes
    // its derivative a single product.
    x = reshape(x, {batch_x.element_count() * x.shape(-2), x.shape(-1)});
  } else if (!same(batch_x, batch_y)) {
    const Shape batch = common_shape("matmul", batch_x, batch_y);
    x = broadcast_to(x, with_batch(batch, x.shape()));
    y = broadcast_to(y, with_batch(batch, y.shape()));
  }
  Tensor product = plait::apply(linear_ops().matmul, {x, y});
  if (is_tall) product = reshape(product, with_batch(batch_x, Shape{rows, y.shape(-1)}));
  if (a.rank() == 1) product = squeeze(product, -2);
  return b.rank() == 1 ? squeeze(product, -1) : product;
}

Tensor outer(const Tensor& a, const Tensor& b) {
  const Call call("outer", a, b);
  return expand_dims(flatten(a), 1) * expand_dims(flatten(b), 0);
}

const ir::Primitive& matmul_primitive() { return linear_ops().matmul; }

void register_linear_ops() { linear_ops(); }

}  // namespace plait
