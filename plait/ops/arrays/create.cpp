#include "plait/ops/arrays/create.h"

#include <algorithm>
#include <cmath>

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/arrays/to_device.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/fits.h"

namespace plait {

struct IotaAttributes {
  Dim size = 0;
  DType dtype = DType::i64;
  static constexpr std::string_view kRequired[] = {"size"};
};

namespace {

constexpr int64_t kWork = 1 << 15;  // elements worth a thread

void infer_iota(ir::Inference& in) {
  const auto& a = in.attributes_as<IotaAttributes>();
  if (!kNumbers.contains(a.dtype)) in.fail("{} is not a dtype of numbers", name_of(a.dtype));
  if (a.size.is_number() && a.size.number() < 0) {
    throw ShapeError("iota: a negative size: {}", a.size).at(in.location);
  }
  in.give(ir::Type::array(a.dtype, {a.size}));
}

template <class T>
void count_up(Array& counted) {
  T* out = counted.writable_elements<T>().data();
  parallel_for(counted.element_count(), kWork, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) out[i] = static_cast<T>(i);
  });
}

void iota_now(KernelCall& call, const void*) {
  const ArrayType& type = call.types[0];
  const bool has_own = type.dtype == DType::i32 || type.dtype == DType::f64;
  Array counted = Array::empty(has_own ? type.dtype : DType::i64, type.sizes);
  switch (counted.dtype()) {
    case DType::i32: count_up<int32_t>(counted); break;
    case DType::f64: count_up<double>(counted); break;
    default: count_up<int64_t>(counted);
  }
  call.results[0] = counted.converted(type.dtype);
}

struct CreateTable {
  const ir::Primitive& iota = declare({.primitive = {.name = "iota",
                                                     .summary = "0, 1, 2, … as a vector.",
                                                     .oracle = "numpy.arange",
                                                     .attributes = &ir::schema_of<IotaAttributes>(),
                                                     .operands = ir::exactly(0),
                                                     .infer = infer_iota},
                                       .rules = {.not_differentiable = "has no operands"},
                                       .evaluator = iota_now});
};
const CreateTable& create_ops() {
  static const CreateTable table;
  return table;
}

bool is_whole(const Scalar& scalar) { return scalar.kind() <= ScalarKind::integer; }

// The number of elements of start, start + step, … that are before stop.
Dim count_of(const Scalar& start, const Scalar& stop, const Scalar& step) {
  if (is_whole(start) && is_whole(stop) && is_whole(step)) {
    const Dim by = step.size();
    if (!by.is_number() || same(by, Dim(0))) throw ValueError("arange: the step is {}", by);
    const int64_t stride = by.number();
    const Dim distance = stride > 0 ? stop.size() - start.size() : start.size() - stop.size();
    return max(floor_div(distance + (std::abs(stride) - 1), std::abs(stride)), Dim(0));
  }
  const double count = std::ceil((number_of(stop) - number_of(start)) / number_of(step));
  if (!std::isfinite(count) || count >= 0x1p62) {
    throw ValueError("arange: from {} to {} by {}", number_of(start), number_of(stop),
                     number_of(step));
  }
  return static_cast<int64_t>(std::max(count, 0.0));
}

}  // namespace

Tensor iota(Dim size, DType dtype) {
  const Call call("iota");
  return on_default_device(
      plait::apply(create_ops().iota, {}, ir::Attributes::of(IotaAttributes{size, dtype})));
}

Tensor full(const Shape& shape, const Scalar& value, DType dtype) {
  const Call call("full", shape);
  expect_fits(value, dtype);
  return broadcast_to(on_default_device(scalar_tensor(value, dtype)), shape);
}
Tensor full(const Shape& shape, const Scalar& value) {
  const Call call("full", shape);
  return full(shape, value, default_dtype(value.kind()));
}
Tensor zeros(const Shape& shape, DType dtype) {
  const Call call("zeros", shape);
  return full(shape, 0, dtype);
}
Tensor ones(const Shape& shape, DType dtype) {
  const Call call("ones", shape);
  return full(shape, 1, dtype);
}
Tensor empty(const Shape& shape, DType dtype) {
  const Call call("empty", shape);
  return zeros(shape, dtype);
}
Tensor empty_like(const Tensor& x) {
  const Call call("empty_like", x);
  return zeros_like(x);
}
Tensor full_like(const Tensor& x, const Scalar& value) {
  const Call call("full_like", x);
  expect_fits(value, x.dtype());
  return broadcast_to(made_on(x.device(), scalar_tensor(value, x.dtype())), x.shape());
}
Tensor zeros_like(const Tensor& x) {
  const Call call("zeros_like", x);
  return full_like(x, 0);
}
Tensor ones_like(const Tensor& x) {
  const Call call("ones_like", x);
  return full_like(x, 1);
}

Tensor arange(const Scalar& stop) {
  const Call call("arange");
  return arange(0, stop);
}

Tensor arange(const Scalar& start, const Scalar& stop, const Scalar& step) {
  const Call call("arange");
  for (const Scalar* each : {&start, &stop, &step}) {
    if (each->kind() == ScalarKind::complex) {
      throw TypeError("arange: complex numbers are not ordered").at(Location::of_caller());
    }
  }
  const bool whole = is_whole(start) && is_whole(stop) && is_whole(step);
  const DType dtype = default_dtype(whole ? ScalarKind::integer : ScalarKind::floating);
  const Tensor counted = iota(count_of(start, stop, step), whole ? dtype : DType::f64);
  if (whole && same(start.size(), Dim(0)) && same(step.size(), Dim(1))) return counted;
  return astype(counted * step + start, dtype);
}

Tensor linspace(double start, double stop, int64_t count, DType dtype) {
  const Call call("linspace");
  if (count < 0) throw ValueError("linspace: the count is {}, expected 0 or more", count);
  if (!std::isfinite(stop - start))
    throw ValueError("linspace: the range from {} to {} is not finite", start, stop);
  if (count > 0) expect_fits(start, dtype);
  if (count > 1) expect_fits(stop, dtype);
  const double step = count > 1 ? (stop - start) / static_cast<double>(count - 1) : 0;
  const Tensor counted = iota(count, DType::f64);
  // The last element is exactly `stop`, in spite of rounding.
  return astype(where(equal(counted, count - 1) & (count > 1), stop, counted * step + start),
                dtype);
}

Tensor logspace(double start, double stop, int64_t count, double base, DType dtype) {
  const Call call("logspace");
  if (!(base > 0))
    throw ValueError("logspace: the base is {}, expected more than 0", base)
        .at(Location::of_caller());
  return astype(power(base, linspace(start, stop, count, DType::f64)), dtype);
}

Tensor geomspace(double start, double stop, int64_t count, DType dtype) {
  const Call call("geomspace");
  if (!(start * stop > 0) || !std::isfinite(start / stop)) {
    throw ValueError("geomspace: from {} to {}", start, stop)
        .at(Location::of_caller())
        .hint("both ends must have the same sign, and must not be 0");
  }
  const Tensor exponents = linspace(0, std::log(stop / start), count, DType::f64);
  const Tensor place = iota(count);
  // Both ends are exact.
  const Tensor between = where(place == 0, start, exp(exponents) * start);
  return astype(where((place == count - 1) & (place > 0), stop, between), dtype);
}

Tensor eye(int64_t rows, int64_t columns, DType dtype) {
  const Call call("eye");
  if (columns == -1) columns = rows;
  if (rows < 0 || columns < 0) {
    throw ShapeError("eye: a negative size: [{}, {}]", rows, columns).at(Location::of_caller());
  }
  // The diagonal is every (columns + 1)-th element in row-major order.
  const int64_t count = std::min(rows, columns), step = columns + 1;
  const Dim taken = count == 0 ? 0 : (count - 1) * Dim(step) + 1;
  const Tensor diagonal = ones({count}, dtype);
  return reshape(pad_zeros(diagonal, 0, 0, Dim(rows) * columns - taken, step), {rows, columns});
}

Tensor asarray(const Operand& x, std::optional<DType> dtype) {
  const Call call("asarray", x);
  const Tensor made =
      x.as(dtype.value_or(x.is_tensor() ? x.tensor().dtype() : default_dtype(x.scalar().kind())));
  return x.is_tensor() ? made : on_default_device(made);
}

const ir::Primitive& iota_primitive() { return create_ops().iota; }

void register_create_ops() { create_ops(); }

}  // namespace plait
