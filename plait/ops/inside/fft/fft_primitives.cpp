#include "plait/ops/inside/fft/fft_primitives.h"

#include <array>
#include <cmath>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/along.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

constexpr DTypeSet kSingleAndDouble = DTypeSet(DType::f32) | DTypeSet(DType::f64);

// The type of the operand with another dtype and another size along the axis.
ir::Type transformed(const ir::Inference& in, int64_t axis, DType dtype, Dim size) {
  Shape shape = in.operands[0].shape();
  shape.set(axis, size);
  return in.operands[0].without_sharding().with_dtype(dtype).with_shape(shape);
}

// The size along the axis, which must not be 0.
Dim length_of(const ir::Inference& in, int64_t axis) {
  in.expect_array(0, in.primitive.takes);
  expect_axis(in, axis);
  const Dim size = in.operands[0].shape().at(axis);
  if (!same(size, Dim(0))) return size;
  throw ValueError("{}: {} is empty along axis {}", in.primitive.name, in.operands[0].text(), axis)
      .at(in.location);
}

void infer_fft(ir::Inference& in) {
  const int64_t axis = in.attributes_as<FftAttributes>().axis;
  in.give(transformed(in, axis, in.operands[0].dtype(), length_of(in, axis)));
}

void infer_rfft(ir::Inference& in) {
  const int64_t axis = in.attributes_as<RfftAttributes>().axis;
  const Dim half = floor_div(length_of(in, axis), 2) + 1;
  const bool is_single = in.operands[0].dtype() == DType::f32;
  in.give(transformed(in, axis, is_single ? DType::c64 : DType::c128, half));
}

void infer_irfft(ir::Inference& in) {
  const auto& a = in.attributes_as<IrfftAttributes>();
  const Dim given = length_of(in, a.axis);
  if (a.size.is_number() && a.size.number() < 1) {
    throw ValueError("{}: the size is {}, expected 1 or more", in.primitive.name, a.size)
        .at(in.location);
  }
  if (!same(given, floor_div(a.size, 2) + 1)) {
    throw ShapeError("{}: {} numbers need {} complex ones, not {}", in.primitive.name, a.size,
                     floor_div(a.size, 2) + 1, in.operands[0].text())
        .at(in.location);
  }
  in.give(transformed(in, a.axis, real_dtype(in.operands[0].dtype()), a.size));
}

Tensor apply_fft(const Tensor& x, const FftAttributes& a) {
  return apply(fft_primitives().fft, {x}, ir::Attributes::of(a));
}

// Σ x[j] y[k] ω^jk is symmetric: the transform is its own transpose.
Tensor transpose_fft(const RuleContext& c, const Tensor& cotangent, size_t) {
  return apply(fft_primitives().fft, {cotangent}, c.attributes);
}

// Re Σ c[k] ω^jk, with zeros for the coefficients that rfft omits.
Tensor transpose_rfft(const RuleContext& c, const Tensor& cotangent, size_t) {
  const auto& a = c.attributes.as<RfftAttributes>();
  const Dim rest = c.operand_types[0].shape().at(a.axis) - cotangent.shape(a.axis);
  const Tensor whole = pad_zeros(cotangent, a.axis, 0, rest);
  return real(apply_fft(whole, {.axis = a.axis, .scale = a.scale}));
}

// All coefficients but the first and the middle one also represent their complex conjugates.
Tensor transpose_irfft(const RuleContext& c, const Tensor& cotangent, size_t) {
  const auto& a = c.attributes.as<IrfftAttributes>();
  const Tensor half = apply(fft_primitives().rfft, {cotangent},
                            ir::Attributes::of(RfftAttributes{a.axis, a.scale}));
  const Tensor place = iota(half.shape(a.axis));
  const Tensor is_single = (place == 0) | (place * 2 == Operand(a.size));
  Shape along;
  for (size_t i = 0; i < half.rank(); ++i) along.append(1);
  along.set(a.axis, half.shape(a.axis));
  const Tensor count = astype(where(is_single, 1, 2), cotangent.dtype());
  return conj(half) * reshape(count, along);
}

using Operands = std::span<const Tensor>;
using Lanes = std::vector<bool>;

}  // namespace

std::span<const std::string_view> enumerator_names(FftScale) {
  static constexpr std::array<std::string_view, 3> names{"none", "root", "length"};
  return names;
}

double factor_of(FftScale scale, int64_t length) {
  const auto n = static_cast<double>(length);
  switch (scale) {
    case FftScale::none: return 1;
    case FftScale::root: return 1 / std::sqrt(n);
    case FftScale::length: return 1 / n;
  }
  return 1;
}

void expect_length(const KernelCall& call, int64_t length) {
  if (length >= 1) return;
  throw ValueError("{}: a transform of {} numbers; the operand is {}{}", call.primitive.name,
                   length, name_of(call.operands[0].dtype()),
                   text_of_sizes(call.operands[0].sizes()));
}

const FftPrimitives& fft_primitives() {
  static const FftPrimitives table{
      .fft = declare(
          {.primitive = {.name = "fft",
                         .summary = "The Fourier transform along an axis.",
                         .oracle = "numpy.fft.fft and numpy.fft.ifft",
                         .attributes = &ir::schema_of<FftAttributes>(),
                         .operands = ir::exactly(1),
                         .takes = kComplexes,
                         .infer = infer_fft},
           .rules = {.transposes = {{{}, transpose_fft}},
                     .batching = {[](const ir::Attributes& a, Operands x, const Lanes& lanes) {
                       return batch_along<FftAttributes>(fft_primitives().fft, a, x, lanes);
                     }}}}),
      .rfft = declare(
          {.primitive = {.name = "rfft",
                         .summary = "The Fourier transform of n real numbers along an axis: its "
                                    "first n / 2 + 1 results.",
                         .oracle = "numpy.fft.rfft",
                         .attributes = &ir::schema_of<RfftAttributes>(),
                         .operands = ir::exactly(1),
                         .takes = kSingleAndDouble,
                         .infer = infer_rfft},
           .rules = {.transposes = {{{}, transpose_rfft}},
                     .batching = {[](const ir::Attributes& a, Operands x, const Lanes& lanes) {
                       return batch_along<RfftAttributes>(fft_primitives().rfft, a, x, lanes);
                     }}}}),
      .irfft = declare(
          {.primitive = {.name = "irfft",
                         .summary = "The inverse of rfft: real numbers from the first half of "
                                    "their transform along an axis.",
                         .oracle = "numpy.fft.irfft",
                         .attributes = &ir::schema_of<IrfftAttributes>(),
                         .operands = ir::exactly(1),
                         .takes = kComplexes,
                         .infer = infer_irfft},
           .rules = {.transposes = {{{}, transpose_irfft}},
                     .batching = {[](const ir::Attributes& a, Operands x, const Lanes& lanes) {
                       return batch_along<IrfftAttributes>(fft_primitives().irfft, a, x, lanes);
                     }}}})};
  return table;
}

void register_fft_ops() { fft_primitives(); }

}  // namespace plait
