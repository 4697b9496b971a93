#include "plait/ops/random/random.h"

#include <cmath>

#include "plait/core/error.h"
#include "plait/core/numbers/float_formats.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/random/random_functions.h"
#include "plait/ops/inside/random/random_primitives.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/tracing/named_axes.h"

namespace plait::random {
namespace {

std::vector<Dim> sizes_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

// A key has no device: the default one is where the draws are.
template <class Attributes>
Tensor drawn(const ir::Primitive& primitive, std::string_view function, const Tensor& key,
             Attributes attributes) {
  return on_default_device(
      apply(primitive, {expect_key(function, key)}, ir::Attributes::of(std::move(attributes))));
}

Tensor values(std::string_view function, Distribution distribution, const Tensor& key,
              const Shape& shape, DType dtype) {
  expect_floating(function, dtype);
  return drawn(random_primitives().values, function, key,
               RandomValuesAttributes{distribution, sizes_of(shape), dtype});
}

// Rounds to the dtype.
double rounded(double number, DType dtype) {
  std::byte memory[sizeof(double)];
  store_element(dtype, Element::of(number), memory);
  return load_element(dtype, memory).number.real();
}

// The greatest number of the dtype below `high`.
double before(double high, DType dtype) {
  const FloatLimits limits = float_limits(dtype);
  double number = rounded(high, dtype);
  for (double step = std::max(std::abs(number) * limits.epsilon / 4, limits.smallest_subnormal / 4);
       number >= high; step *= 2) {
    number = rounded(high - step, dtype);
  }
  return number;
}

}  // namespace

Tensor expect_key(std::string_view function, const Tensor& key) {
  if (is_key(key.dtype())) return key;
  throw TypeError("{}: expected a key, not {}", function, key.type().text())
      .at(Location::of_caller())
      .hint("random::key(seed) creates one");
}

void expect_one_key(std::string_view function, const Tensor& key) {
  expect_key(function, key);
  if (key.rank() == 0) return;
  throw ShapeError("{}: expected one key, not {}", function, key.type().text())
      .at(Location::of_caller());
}

Tensor key_or_next(std::string_view function, const Tensor& key) {
  if (!key) return draw_key();
  expect_one_key(function, key);
  return key;
}

void expect_floating(std::string_view function, DType dtype) {
  if (is_floating(dtype)) return;
  throw TypeError("{}: returns floating-point numbers, not {}", function, name_of(dtype))
      .at(Location::of_caller());
}

void expect_integer(std::string_view function, DType dtype) {
  if (is_integer(dtype)) return;
  throw TypeError("{}: returns integers, not {}", function, name_of(dtype))
      .at(Location::of_caller());
}

Tensor key(uint64_t seed) {
  return key(scalar_tensor(Scalar(static_cast<int64_t>(seed)), DType::i64));
}
Tensor key(const Tensor& seeds) {
  const Call call("key", seeds);
  if (!is_integer(seeds.dtype())) {
    throw TypeError("key: a seed is an integer, not {}", seeds.type().text())
        .at(Location::of_caller());
  }
  return apply(random_primitives().key_of_seed, {seeds});
}

Tensor split_key(const Tensor& key, Dim count) {
  const Call call("split_key", key);
  if (count.is_number() && count.number() < 0) {
    throw ValueError("split_key: cannot split into {} keys", count).at(Location::of_caller());
  }
  return apply(random_primitives().split_key, {expect_key("split_key", key)},
               ir::Attributes::of(SplitKeyAttributes{count}));
}

Tensor fold_in(const Tensor& key, const Operand& number) {
  const Call call("fold_in", key, number);
  expect_key("fold_in", key);
  const Tensor numbers =
      number.is_tensor() ? number.tensor() : number.as(default_dtype(number.scalar().kind()));
  if (!is_integer(numbers.dtype())) {
    throw TypeError("fold_in: expected integers, not {}", numbers.type().text())
        .at(Location::of_caller());
  }
  const Shape shape = common_shape("fold_in", key.shape(), numbers.shape());
  return apply(random_primitives().fold_in,
               {broadcast_to(key, shape), broadcast_to(numbers, shape)});
}

void seed(uint64_t seed) { set_default_seed(seed); }
// Each index of the open named axes gets its own key.
Tensor draw_key() { return vary_along(apply(random_primitives().draw_key, {}), all_open_axes()); }

Tensor bits(const Tensor& key, const Shape& shape, DType dtype) {
  const Call call("bits", key, shape);
  return drawn(random_primitives().bits, "bits", key, RandomBitsAttributes{sizes_of(shape), dtype});
}

Tensor uniform(const Tensor& key, const Shape& shape, double low, double high, DType dtype) {
  const Call call("uniform", key, shape);
  const Tensor unit = values("uniform", Distribution::uniform, key, shape, dtype);
  if (low == 0 && high == 1) return unit;
  if (!(low < high) || !std::isfinite(high - low) || !std::isfinite(rounded(high - low, dtype))) {
    throw ValueError("uniform: the range from {} to {} is invalid for {}", low, high,
                     name_of(dtype))
        .at(Location::of_caller());
  }
  // Rounding could reach `high`, which is excluded.
  return minimum(unit * (high - low) + low, std::max(before(high, dtype), rounded(low, dtype)));
}

Tensor normal(const Tensor& key, const Shape& shape, const Operand& mean, const Operand& deviation,
              DType dtype) {
  const Call call("normal", key, shape, mean, deviation);
  if (!deviation.is_tensor() && !deviation.scalar().is_symbolic()) {
    expect_not_negative("deviation", number_of(deviation.scalar()));
  }
  Tensor standard = values("normal", Distribution::normal, key, shape, dtype);
  const auto is_number = [](const Operand& operand, double number) {
    if (operand.is_tensor() || operand.scalar().is_symbolic()) return false;
    const Element element = operand.scalar().element();
    return element.kind == DTypeKind::floating && element.number == number;
  };
  if (!is_number(deviation, 1)) standard = standard * deviation;
  return is_number(mean, 0) ? standard : standard + mean;
}

Tensor truncated_normal(const Tensor& key, double low, double high, const Shape& shape,
                        DType dtype) {
  const Call call("truncated_normal", key, shape);
  expect_floating("truncated_normal", dtype);
  return drawn(random_primitives().truncated_normal, "truncated_normal", key,
               TruncatedNormalAttributes{sizes_of(shape), low, high, dtype});
}

Tensor exponential(const Tensor& key, const Shape& shape, DType dtype) {
  const Call call("exponential", key, shape);
  return values("exponential", Distribution::exponential, key, shape, dtype);
}
Tensor laplace(const Tensor& key, const Shape& shape, DType dtype) {
  const Call call("laplace", key, shape);
  return values("laplace", Distribution::laplace, key, shape, dtype);
}
Tensor gumbel(const Tensor& key, const Shape& shape, DType dtype) {
  const Call call("gumbel", key, shape);
  return values("gumbel", Distribution::gumbel, key, shape, dtype);
}

Tensor randint(const Tensor& key, const Shape& shape, Dim low, Dim high, DType dtype) {
  const Call call("randint", key, shape);
  expect_integer("randint", dtype);
  const auto is_held = [&](int64_t number) {
    const IntegerLimits limits = integer_limits(dtype);
    return number >= limits.min && (number < 0 || static_cast<uint64_t>(number) <= limits.max);
  };
  const bool is_known = low.is_number() && high.is_number();
  if (is_known &&
      (low.number() >= high.number() || !is_held(low.number()) || !is_held(high.number() - 1))) {
    throw ValueError("randint: the range [{}, {}) is empty for {}", low, high, name_of(dtype))
        .at(Location::of_caller());
  }
  const Tensor numbers = drawn(random_primitives().integers, "randint", key,
                               RandomIntegersAttributes{sizes_of(shape), high - low});
  return astype(same(low, Dim(0)) ? numbers : numbers + low, dtype);
}

Tensor bernoulli(const Tensor& key, const Operand& p, const std::optional<Shape>& shape) {
  const Call call("bernoulli", key, p);
  const bool is_wide = p.is_tensor() && p.tensor().dtype() == DType::f64;
  const Shape wanted = shape ? *shape : p.is_tensor() ? p.tensor().shape() : Shape();
  if (!p.is_tensor() && !p.scalar().is_symbolic()) {
    const double number = number_of(p.scalar());
    if (!(number >= 0 && number <= 1)) {
      throw ValueError("bernoulli: {} is not a probability", number).at(Location::of_caller());
    }
  }
  return uniform(key, wanted, 0, 1, is_wide ? DType::f64 : DType::f32) < p;
}

// Gumbel-max trick: argmax(logit + gumbel) is i with the probability softmax(logits)[i].
Tensor categorical(const Tensor& key, const Tensor& logits, int64_t axis) {
  const Call call("categorical", key, logits);
  if (logits.rank() == 0) {
    throw ShapeError("categorical: expected logits along an axis, not a scalar {}",
                     logits.type().text())
        .at(Location::of_caller());
  }
  const DType dtype = inexact(logits.dtype());
  const Tensor scores = gumbel(key, logits.shape(), dtype) + astype(logits, dtype);
  // Counts from the end, since the dimensions of the keys come first.
  const auto rank = static_cast<int64_t>(logits.rank());
  return argmax(scores, normal_axis(axis, logits.rank()) - rank);
}

Tensor permutation(const Tensor& key, Dim count) {
  const Call call("permutation", key);
  if (count.is_number() && count.number() < 0) {
    throw ValueError("permutation: the count is {}, expected 0 or more", count)
        .at(Location::of_caller());
  }
  return drawn(random_primitives().permutation, "permutation", key,
               RandomPermutationAttributes{count});
}

Tensor shuffle(const Tensor& key, const Tensor& x, int64_t axis) {
  const Call call("shuffle", key, x);
  if (expect_key("shuffle", key).rank() != 0) {
    throw ShapeError("shuffle: expected one key, not {}", key.type().text())
        .at(Location::of_caller())
        .hint("permutation() accepts several; take_along_axis() applies its results");
  }
  const int64_t at = normal_axis(axis, x.rank());
  return take(x, permutation(key, x.shape(at)), at);
}

// ---- From the default stream.

Tensor bits(const Shape& shape, DType dtype) {
  return from_stream([&](const Tensor& key) { return bits(key, shape, dtype); });
}
Tensor uniform(const Shape& shape, double low, double high, DType dtype) {
  return from_stream([&](const Tensor& key) { return uniform(key, shape, low, high, dtype); });
}
Tensor normal(const Shape& shape, const Operand& mean, const Operand& deviation, DType dtype) {
  return from_stream([&](const Tensor& key) { return normal(key, shape, mean, deviation, dtype); });
}
Tensor truncated_normal(double low, double high, const Shape& shape, DType dtype) {
  return from_stream(
      [&](const Tensor& key) { return truncated_normal(key, low, high, shape, dtype); });
}
Tensor exponential(const Shape& shape, DType dtype) {
  return from_stream([&](const Tensor& key) { return exponential(key, shape, dtype); });
}
Tensor laplace(const Shape& shape, DType dtype) {
  return from_stream([&](const Tensor& key) { return laplace(key, shape, dtype); });
}
Tensor gumbel(const Shape& shape, DType dtype) {
  return from_stream([&](const Tensor& key) { return gumbel(key, shape, dtype); });
}
Tensor randint(const Shape& shape, Dim low, Dim high, DType dtype) {
  return from_stream([&](const Tensor& key) { return randint(key, shape, low, high, dtype); });
}
Tensor bernoulli(const Operand& p, const std::optional<Shape>& shape) {
  return from_stream([&](const Tensor& key) { return bernoulli(key, p, shape); });
}
Tensor categorical(const Tensor& logits, int64_t axis) {
  return from_stream([&](const Tensor& key) { return categorical(key, logits, axis); });
}
Tensor permutation(Dim count) {
  return from_stream([&](const Tensor& key) { return permutation(key, count); });
}
Tensor shuffle(const Tensor& x, int64_t axis) {
  return from_stream([&](const Tensor& key) { return shuffle(key, x, axis); });
}

}  // namespace plait::random

namespace plait {

void register_random_ops() {
  random_primitives();
  parametric_primitives();
}

}  // namespace plait
