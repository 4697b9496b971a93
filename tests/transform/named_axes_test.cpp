// Collective operations along the named axis of a vmap, compared with reductions over all samples,
// and with derivatives of the whole.
#include "tests/transform/named_axes.h"

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/collectives/collective.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/tracing/trace_function.h"
#include "plait/transform/control/control.h"
#include "plait/transform/control/recursive.h"
#include "plait/transform/derivatives/custom.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/derivatives/remat.h"
#include "plait/transform/derivatives/vjp.h"
#include "plait/transform/programs.h"
#include "plait/transform/vmap.h"

#include "tests/transform/traced_run.h"

namespace plait {
namespace {

// The same eagerly, in a program, and in a program that was printed and parsed.
template <class F, class... Arguments>
void expect_everywhere(const F& f, const Tensor& expected, const Arguments&... arguments) {
  expect_alike(f(arguments...), expected);
  const TracedProgram traced = trace(f)(arguments...);
  expect_alike(run_traced(traced, {arguments...}).at(0), expected);
  const TracedProgram read{ir::Program::parse(traced.program.text()), traced.hidden_inputs};
  expect_alike(run_traced(read, {arguments...}).at(0), expected);
  EXPECT_EQ(traced.program.text().find("vary"), std::string::npos);
  EXPECT_EQ(traced.program.text().find("all_reduce"), std::string::npos);
}

TEST(NamedAxes, Reductions) {
  const auto all = [](const Tensor& of_all) { return broadcast_to(of_all, {5, 3}); };
  expect_everywhere(along_batch([](Tensor a) { return all_reduce_sum(a, "batch"); }),
                    all(sum(kBatch, 0)), kBatch);
  expect_everywhere(along_batch([](Tensor a) { return a - all_reduce_mean(a, "batch"); }),
                    kBatch - mean(kBatch, 0), kBatch);
  expect_everywhere(along_batch([](Tensor a) { return a - all_reduce_max(a, "batch"); }),
                    kBatch - max(kBatch, 0), kBatch);
  expect_everywhere(along_batch([](Tensor a) { return a * all_reduce_min(a, "batch"); }),
                    kBatch * min(kBatch, 0), kBatch);
  // A shared value: returned once, or repeated for each sample.
  const auto once =
      vmap([](Tensor a) { return all_reduce_sum(a, "batch"); }, {.out = {none}, .name = "batch"});
  expect_everywhere(once, sum(kBatch, 0), kBatch);
  const auto count = vmap([](Tensor) { return all_reduce_sum(ones({}, DType::f64), "batch"); },
                          {.out = {none}, .name = "batch"});
  expect_everywhere(count, asarray(5., DType::f64), kBatch);
  EXPECT_EQ(
      along_batch([](Tensor a) { return all_reduce_sum(a > 0, "batch"); })(kBatch).type().text(),
      "i64[5, 3]");
  EXPECT_EQ(
      along_batch([](Tensor a) { return all_reduce_mean(astype(a, DType::i32), "batch"); })(kBatch)
          .type()
          .text(),
      "f32[5, 3]");
}

TEST(NamedAxes, ProductsAndBooleans) {
  expect_everywhere(along_batch([](Tensor a) { return a - all_reduce_prod(a, "batch"); }),
                    kBatch - prod(kBatch, 0), kBatch);
  expect_everywhere(
      along_batch([](Tensor a) { return where(all_reduce_and(a > 0, "batch"), a, 0); }),
      where(all(kBatch > 0, 0), kBatch, 0), kBatch);
  expect_everywhere(
      along_batch([](Tensor a) { return where(all_reduce_or(a > 1, "batch"), a, 0); }),
      where(any(kBatch > 1, 0), kBatch, 0), kBatch);
}

// Each of five samples has five parts.
TEST(NamedAxes, Parts) {
  const Tensor parts = matmul(expand_dims(kBatch, 2), reshape(iota(5, DType::f64) + 1, {1, 1, 5}));
  expect_everywhere(along_batch([](Tensor a) { return reduce_scatter(a, "batch", -1); }),
                    moveaxis(sum(parts, 0), 1, 0), parts);
  expect_everywhere(along_batch([](Tensor a) { return all_to_all(a, "batch", 1, 1); }),
                    moveaxis(moveaxis(parts, 2, 0), 1, 2), parts);
  expect_everywhere(along_batch([](Tensor a) {
                      return reduce_scatter(all_gather(a, "batch", 1, true), "batch", 1, true);
                    }),
                    parts * 5, parts);
  expect_everywhere(along_batch([](Tensor a) {
                      return all_to_all(all_to_all(a, "batch", 1, 0, true), "batch", 0, 1, true);
                    }),
                    parts, parts);
}

TEST(NamedAxes, PairsAndOnePlace) {
  const Tensor none = zeros({1, 3}, DType::f64);
  const auto row = [](int64_t i) { return slice(kBatch, 0, {i, i + 1}); };
  const std::vector<Tensor> permuted{none, row(4), row(0), none, none};
  expect_everywhere(
      along_batch([](Tensor a) { return axis_permute(a, "batch", {{0, 2}, {4, 1}}); }),
      concat(permuted), kBatch);
  expect_everywhere(along_batch([](Tensor a) { return a * axis_broadcast(a, "batch", 3); }),
                    kBatch * row(3), kBatch);
}

TEST(NamedAxes, PlacesAlongThem) {
  expect_everywhere(along_batch([](Tensor a) { return a * axis_index("batch"); }),
                    kBatch * reshape(iota(5), {5, 1}), kBatch);
  expect_everywhere(along_batch([](Tensor a) { return a * axis_size("batch"); }), kBatch * 5,
                    kBatch);
  const auto gathered = [](int64_t axis) {
    return vmap([axis](Tensor a) { return all_gather(a, "batch", axis); },
                {.out = {none}, .name = "batch"});
  };
  expect_everywhere(gathered(0), kBatch, kBatch);
  expect_everywhere(gathered(-1), transpose(kBatch), kBatch);
  expect_everywhere(along_batch([](Tensor a) { return axis_shift(a, "batch", 2); }),
                    roll(kBatch, 2, 0), kBatch);
  const auto sized = vmap([](Tensor a) { return a * astype(axis_index("batch"), DType::f64); },
                          {.in = {none}, .size = Dim(4), .name = "batch"});
  expect_everywhere(sized, kBatch * reshape(astype(iota(4), DType::f64), {4, 1, 1}), kBatch);
}

TEST(NamedAxes, Nest) {
  const Tensor y = numbers({2, 5, 3}, 1);
  const auto both = [](auto f) { return vmap(vmap(f, {.name = "inner"}), {.name = "outer"}); };
  const auto all = [](const Tensor& of_all) { return broadcast_to(of_all, {2, 5, 3}); };
  expect_everywhere(both([](Tensor a) { return a - all_reduce_sum(a, "inner"); }),
                    y - sum(y, 1, true), y);
  expect_everywhere(both([](Tensor a) { return a - all_reduce_sum(a, "outer"); }),
                    y - sum(y, 0, true), y);
  expect_everywhere(both([](Tensor a) { return all_reduce_mean(a, {"outer", "inner"}); }),
                    all(mean(y, {0, 1}, true)), y);
  expect_everywhere(both([](Tensor a) {
                      const Tensor greatest = all_reduce_max(a, {"inner", "outer"});
                      return all_gather(a, "outer", 1)[{ellipsis, 1}] + greatest;
                    }),
                    all(y[{1}] + max(y, {0, 1}, true)), y);
  expect_everywhere(
      both([](Tensor a) { return a + axis_index("outer") * 10. + axis_index("inner") * 1.; }),
      y + reshape(iota(2) * 10., {2, 1, 1}) + reshape(iota(5) * 1., {5, 1}), y);
  expect_everywhere(both([](Tensor a) { return all_gather(a, {"outer", "inner"}, 1); }),
                    broadcast_to(transpose(reshape(y, {10, 3})), {2, 5, 3, 10}), y);
  // The innermost axis of that name; values vary along the outer one as before.
  const auto shadowed = vmap(
      [](Tensor rows) {
        const Tensor outer = sum(rows);
        return vmap([&](Tensor a) { return a - all_reduce_sum(a * outer, "batch"); },
                    {.name = "batch"})(rows);
      },
      {.name = "batch"});
  const Tensor totals = sum(y, {1, 2}, true);
  expect_everywhere(shadowed, y - sum(y * totals, 1, true), y);
  // An unnamed axis within a named one.
  const auto within = along_batch([](Tensor rows) {
    return vmap([](Tensor a) { return a - all_reduce_mean(a, "batch"); })(rows);
  });
  expect_everywhere(within, y - mean(y, 0), y);
}

// Normalises columns to mean 0 and variance 1 over all samples.
Tensor normalized(const Tensor& a) {
  const Tensor mean = all_reduce_mean(a, "batch");
  const Tensor apart = a - mean;
  return apart * rsqrt(all_reduce_mean(square(apart), "batch") + 1e-3);
}
Tensor normalized_whole(const Tensor& a) {
  const Tensor apart = a - mean(a, 0);
  return apart * rsqrt(mean(square(apart), 0) + 1e-3);
}

TEST(NamedAxes, BatchNormalization) {
  const Tensor w = numbers({3, 4}, 2);
  const auto one = [](Tensor a, Tensor weight) {
    return sum(square(tanh(matmul(normalized(a), weight))));
  };
  const auto batch = [&](Tensor a, Tensor weight) {
    return sum(vmap(one, {.in = {0, none}, .name = "batch"})(a, weight));
  };
  const auto whole = [](Tensor a, Tensor weight) {
    return sum(square(tanh(matmul(normalized_whole(a), weight))));
  };
  // Outside and inside: derivatives of the total loss, by each sample and by shared values.
  expect_everywhere(grad<0>(batch), grad<0>(whole)(kBatch, w), kBatch, w);
  expect_everywhere(grad<1>(batch), grad<1>(whole)(kBatch, w), kBatch, w);
  const auto inside = [&](auto derivative, VmapOptions options) {
    options.name = "batch";
    return vmap(derivative, options);
  };
  expect_everywhere(inside(grad<0>(one), {.in = {0, none}}), grad<0>(whole)(kBatch, w), kBatch, w);
  expect_everywhere(inside(grad<1>(one), {.in = {0, none}, .out = {none}}),
                    grad<1>(whole)(kBatch, w), kBatch, w);
  // Second derivatives, in both modes.
  const auto slope = [&](Tensor a, Tensor weight) {
    return sum(square(inside(grad<1>(one), {.in = {0, none}, .out = {none}})(a, weight)));
  };
  const auto slope_of_whole = [&](Tensor a, Tensor weight) {
    return sum(square(grad<1>(whole)(a, weight)));
  };
  expect_everywhere(grad<0>(slope), grad<0>(slope_of_whole)(kBatch, w), kBatch, w);
  const auto inner_slope = [&](Tensor a, Tensor weight) {
    return sum(square(grad<1>(one)(a, weight)));
  };
  expect_everywhere(inside(grad<0>(inner_slope), {.in = {0, none}}),
                    grad<0>(slope_of_whole)(kBatch, w), kBatch, w);
}

TEST(NamedAxes, GradientsAreOfTheWhole) {
  // A shared loss counts once.
  const auto shared = [](Tensor a) { return sum(square(all_reduce_sum(a, "batch"))); };
  expect_everywhere(along_batch(grad(shared)), broadcast_to(2 * sum(kBatch, 0), {5, 3}), kBatch);
  // A loss of each sample: their sum.
  const auto own = [](Tensor a) { return sum(a * all_reduce_sum(a, "batch")); };
  expect_everywhere(along_batch(grad(own)), broadcast_to(2 * sum(kBatch, 0), {5, 3}), kBatch);
  // Both together, and constants.
  const auto mixed = [](Tensor a) {
    const Tensor total = all_reduce_sum(a, "batch");
    return sum(total + 3.) + sum(a * total);
  };
  expect_everywhere(along_batch(grad(mixed)), broadcast_to(5 + 2 * sum(kBatch, 0), {5, 3}), kBatch);
  // The cotangent of a shared value is a sum over all samples, or one of each sample.
  const Tensor w = numbers({3}, 1);
  const auto product = [](Tensor a, Tensor weight) { return sum(square(a) * weight); };
  const auto by_weight = [&](BatchAxis out, auto f) {
    return vmap(grad<1>(f), {.in = {0, none}, .out = {out}, .name = "batch"});
  };
  expect_everywhere(by_weight(none, product), sum(square(kBatch), 0), kBatch, w);
  const auto apart = [](Tensor a, Tensor weight) {
    return grad([&](Tensor own) { return sum(square(a) * own); })(vary(weight, "batch"));
  };
  expect_everywhere(vmap(apart, {.in = {0, none}, .name = "batch"}), square(kBatch), kBatch, w);
  // Equal maxima share the cotangent.
  const Tensor twice = stack(std::vector<Tensor>{kBatch[0], kBatch[0], kBatch[1]}, 0);
  const auto by_max = [](Tensor a) { return sum(all_reduce_max(a, "batch")); };
  const auto whole = [](Tensor a) { return sum(max(a, 0)); };
  expect_everywhere(along_batch(grad(by_max)), grad(whole)(twice), twice);
  const auto by_min = [](Tensor a) { return sum(a * all_reduce_min(a, "batch")); };
  const auto whole_min = [](Tensor a) { return sum(a * min(a, 0)); };
  expect_everywhere(along_batch(grad(by_min)), grad(whole_min)(twice), twice);
  const auto whole_rows = [](Tensor a) { return sum(a * min(a, 0), 1); };
  expect_everywhere(
      along_batch([&](Tensor a) { return jvp(by_min, std::tuple(a), std::tuple(a * a)).second; }),
      jvp(whole_rows, std::tuple(twice), std::tuple(twice * twice)).second, twice);
}

TEST(NamedAxes, GradientsOfWhatMoves) {
  const Tensor w = numbers({5, 3}, 3);
  const auto shifted = [](Tensor a, Tensor b) {
    return sum(square(axis_shift(a, "batch", 1)) * b);
  };
  const auto shifted_whole = [](Tensor a, Tensor b) { return sum(square(roll(a, 1, 0)) * b); };
  expect_everywhere(along_batches(grad<0>(shifted)), grad<0>(shifted_whole)(kBatch, w), kBatch, w);
  const auto gathered = [](Tensor a, Tensor b) {
    return sum(matmul(all_gather(a, "batch"), b) * sum(b));
  };
  const auto gathered_whole = [](Tensor a, Tensor b) {
    return sum(sum(matmul(b, transpose(a)), 1) * sum(b, 1));
  };
  expect_everywhere(along_batches(grad<0>(gathered)), grad<0>(gathered_whole)(kBatch, w), kBatch,
                    w);
  expect_everywhere(along_batches(grad<1>(gathered)), grad<1>(gathered_whole)(kBatch, w), kBatch,
                    w);
  const auto second = [&](Tensor a, Tensor b) { return sum(square(grad<1>(gathered)(a, b))); };
  const auto second_whole = [&](Tensor a, Tensor b) {
    return sum(square(grad<1>(gathered_whole)(a, b)));
  };
  expect_everywhere(along_batches(grad<0>(second)), grad<0>(second_whole)(kBatch, w), kBatch, w);
}

// The derivative at each place, by the collective's own rule, is that of the ordinary operations
// that it becomes for all places; twice, and forward.
template <class F>
void expect_same_within(const F& f, const Tensor& x) {
  const auto along = along_batch(f);
  const Shape shape = along(x).shape();
  const Tensor y = reshape(cos(iota(shape.element_count(), DType::f64)), shape);
  const auto loss = [&](Tensor a, Tensor b) { return all_reduce_sum(sum(sin(f(a)) * b), "batch"); };
  const auto whole = [&](Tensor a, Tensor b) { return sum(sin(along(a)) * b); };
  expect_everywhere(along_batches(grad<0>(loss)), grad<0>(whole)(x, y), x, y);
  const auto twice = [&](Tensor a, Tensor b) {
    return all_reduce_sum(sum(square(grad<0>(loss)(a, b))), "batch");
  };
  const auto twice_whole = [&](Tensor a, Tensor b) { return sum(square(grad<0>(whole)(a, b))); };
  expect_everywhere(along_batches(grad<0>(twice)), grad<0>(twice_whole)(x, y), x, y);
  const auto forward = [&](Tensor a) { return jvp(f, std::tuple(a), std::tuple(cos(a))).second; };
  expect_everywhere(along_batch(forward), jvp(along, std::tuple(x), std::tuple(cos(x))).second, x);
}

TEST(NamedAxes, GradientsOfParts) {
  const Tensor parts = matmul(expand_dims(kBatch, 2), reshape(iota(5, DType::f64) + 1, {1, 1, 5}));
  expect_same_within([](Tensor a) { return reduce_scatter(a, "batch", 1); }, parts);
  expect_same_within([](Tensor a) { return all_gather(a, "batch", 1, true); }, parts);
  expect_same_within([](Tensor a) { return all_to_all(a, "batch", 1, 0); }, parts);
  expect_same_within([](Tensor a) { return axis_permute(a, "batch", {{0, 2}, {4, 1}}); }, kBatch);
  expect_same_within([](Tensor a) { return axis_broadcast(a, "batch", 3); }, kBatch);
  // With a 0 among the factors.
  expect_same_within([](Tensor a) { return all_reduce_prod(a, "batch"); },
                     kBatch.at({1, 2}).set(0));
}

TEST(NamedAxes, TangentsAndCotangentsOfEachPlace) {
  const Tensor w = numbers({3}, 1);
  // A shared value with a tangent of its own at each place.
  const auto along = [](Tensor a, Tensor weight) {
    return jvp([](Tensor at) { return sum(at * at); }, std::tuple(weight), std::tuple(a)).second;
  };
  expect_everywhere(vmap(along, {.in = {0, none}, .name = "batch"}), sum(2 * kBatch * w, 1), kBatch,
                    w);
  // A shared result with a cotangent of its own at each place.
  const auto back = [](Tensor a) {
    const auto [y, pull] = vjp([](Tensor b) { return all_reduce_sum(square(b), "batch"); }, a);
    return std::get<0>(pull(a));
  };
  expect_everywhere(along_batch(back), 2 * kBatch * sum(kBatch, 0), kBatch);
}

}  // namespace
}  // namespace plait
