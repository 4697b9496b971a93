#include "plait/ops/neural/pooling.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/neural/window.h"

#include "tests/ops/layer_support.h"

namespace plait {
namespace {

struct Pool {
  Sizes size;
  std::vector<int64_t> window, stride, padding, dilation;
  bool ceil_mode = false;
};

const std::vector<Pool>& pools() {
  static const std::vector<Pool> pools = {
      {{2, 3, 7}, {3}, {2}, {1}, {1}},
      {{2, 3, 8}, {3}, {2}, {0}, {1}, true},
      {{1, 2, 6, 7}, {2, 3}, {2, 2}, {1, 0}, {1, 1}, true},
      {{1, 2, 5, 9}, {2, 2}, {1, 3}, {0, 1}, {2, 3}},
      {{1, 1, 4, 4}, {1, 1}, {2, 3}, {0, 0}, {1, 1}},
      {{2, 1, 3, 4, 5}, {2, 1, 3}, {1, 2, 2}, {1, 0, 1}, {1, 1, 1}},
      {{1, 1, 1, 1}, {2, 2}, {2, 2}, {1, 1}, {3, 3}, true}};
  return pools;
}

// The formulas of PyTorch's manual, element by element.
struct Expected {
  Sizes sizes;
  std::vector<double> maximum, average, average_of_inside, index;
};

Expected expected(const Pool& pool, const std::vector<double>& x) {
  const size_t n = pool.window.size();
  Expected e{{pool.size[0], pool.size[1]}, {}, {}, {}, {}};
  for (size_t i = 0; i < n; ++i) {
    const int64_t size = pool.size[i + 2], extent = (pool.window[i] - 1) * pool.dilation[i] + 1;
    const int64_t rest = size + 2 * pool.padding[i] - extent;
    int64_t count = (rest + (pool.ceil_mode ? pool.stride[i] - 1 : 0)) / pool.stride[i] + 1;
    if (pool.ceil_mode && (count - 1) * pool.stride[i] >= size + pool.padding[i]) --count;
    e.sizes.push_back(count);
  }
  const int64_t windows = element_count_of(e.sizes);
  for (int64_t w = 0; w < windows; ++w) {
    Sizes at(n + 2);
    int64_t rest = w, taps = 1;
    for (size_t i = n + 2; i-- > 0; rest /= e.sizes[i]) at[i] = rest % e.sizes[i];
    for (const int64_t each : pool.window) taps *= each;
    double greatest = -INFINITY, total = 0, inside = 0, padded = 0, index = -1;
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t place = 0, rest_tap = tap, place_of_tap[3];
      bool is_inside = true, is_padded = true;
      for (size_t i = n; i-- > 0; rest_tap /= pool.window[i]) {
        const int64_t p = at[i + 2] * pool.stride[i] + rest_tap % pool.window[i] * pool.dilation[i];
        place_of_tap[i] = p - pool.padding[i];
        is_padded = is_padded && p < pool.size[i + 2] + 2 * pool.padding[i];
        is_inside = is_inside && place_of_tap[i] >= 0 && place_of_tap[i] < pool.size[i + 2];
      }
      padded += is_padded;
      if (!is_inside) continue;
      int64_t plane = 1;
      for (size_t i = 0; i < n; ++i) {
        place = place * pool.size[i + 2] + place_of_tap[i];
        plane *= pool.size[i + 2];
      }
      const double value = x[static_cast<size_t>((at[0] * pool.size[1] + at[1]) * plane + place)];
      total += value;
      inside += 1;
      if (index < 0 || value > greatest) {
        greatest = value;
        index = static_cast<double>(place);
      }
    }
    e.maximum.push_back(greatest);
    e.index.push_back(index);
    e.average.push_back(total / padded);
    e.average_of_inside.push_back(total / inside);
  }
  return e;
}

MaxPooled max_pool(const Tensor& x, const Pool& p) {
  const MaxPoolOptions options{p.stride, p.padding, p.dilation, p.ceil_mode};
  switch (p.window.size()) {
    case 1: return max_pool1d_with_indices(x, p.window, options);
    case 2: return max_pool2d_with_indices(x, p.window, options);
    default: return max_pool3d_with_indices(x, p.window, options);
  }
}

Tensor avg_pool(const Tensor& x, const Pool& p, bool count_include_pad) {
  const AveragePoolOptions options{p.stride, p.padding, p.ceil_mode, count_include_pad};
  switch (p.window.size()) {
    case 1: return avg_pool1d(x, p.window, options);
    case 2: return avg_pool2d(x, p.window, options);
    default: return avg_pool3d(x, p.window, options);
  }
}

TEST(Pooling, IsWhatEachWindowHolds) {
  for (const Pool& pool : pools()) {
    const Tensor x = wave(pool.size) - 2;  // negative, so that zero padding must not win
    const Expected e = expected(pool, values_of(x));
    const MaxPooled pooled = max_pool(x, pool);
    EXPECT_EQ(pooled.values.array().sizes(), e.sizes);
    expect_values(pooled.values, e.maximum, 0);
    expect_values(pooled.indices, e.index, 0);
    expect_values(max_pool(astype(x, DType::f32), pool).indices, e.index, 0);
    if (std::ranges::any_of(pool.dilation, [](int64_t step) { return step != 1; })) continue;
    expect_values(avg_pool(x, pool, true), e.average, 1e-12);
    expect_values(avg_pool(x, pool, false), e.average_of_inside, 1e-12);
  }
}

TEST(Pooling, TakesTheFirstOfTiesAndPropagatesNaN) {
  const Tensor x = reshape(doubles({1, 1, 0, 1, NAN, 2, -INFINITY, -INFINITY}), {1, 1, 8});
  const MaxPooled pooled = max_pool1d_with_indices(x, 2);
  expect_values(pooled.values, {1, 1, NAN, -INFINITY});
  expect_values(pooled.indices, {0, 3, 4, 6});
  const Tensor i = reshape(tensor<int8_t>({-128, -5, 3, 3, 127, 0}), {1, 1, 6});
  EXPECT_EQ(max_pool1d(i, 2, {.padding = 1}).text(), "[[[-128    3  127    0]]] : i8[1, 1, 4]");
}

TEST(Pooling, AdaptiveDividesEvenly) {
  for (const auto& [size, count] : std::vector<std::pair<int64_t, int64_t>>{
           {7, 3}, {6, 3}, {5, 5}, {3, 7}, {1, 4}, {10, 1}, {4, 0}}) {
    const Tensor x = wave({2, 2, size});
    const std::vector<double> values = values_of(x);
    std::vector<double> means, maxima;
    for (int64_t row = 0; row < 4; ++row) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t first = i * size / count, end = ((i + 1) * size + count - 1) / count;
        double total = 0, greatest = -INFINITY;
        for (int64_t at = first; at < end; ++at) {
          total += values[static_cast<size_t>(row * size + at)];
          greatest = std::max(greatest, values[static_cast<size_t>(row * size + at)]);
        }
        means.push_back(total / static_cast<double>(end - first));
        maxima.push_back(greatest);
      }
    }
    expect_values(adaptive_avg_pool1d(x, count), means, 1e-12);
    expect_values(adaptive_max_pool1d(x, count), maxima, 0);
  }
  const Tensor x = wave({2, 3, 6, 8});
  expect_same(adaptive_avg_pool2d(x, {1, 1}), mean(x, {2, 3}, true), 1e-12);
  expect_same(adaptive_avg_pool2d(x, {3, 4}), avg_pool2d(x, 2), 1e-12);
  expect_same(adaptive_max_pool2d(x, {-1, 4}), max_pool2d(x, {1, 2}), 0);
}

TEST(Pooling, OfNarrowFloatsDoesNotOverflow) {
  const Tensor x = full({1, 1, 64}, 60000.0, DType::f16);
  EXPECT_EQ(avg_pool1d(x, 64).text(), "[[[60000.]]] : f16[1, 1, 1]");
  EXPECT_EQ(avg_pool1d(reshape(arange(4), {1, 1, 4}), 2).text(), "[[[0.5 2.5]]] : f32[1, 1, 2]");
  const Tensor sums = avg_pool1d(wave({1, 1, 6}), 2, {.divisor_override = 3});
  expect_same(sums, avg_pool1d(wave({1, 1, 6}), 2) * (2.0 / 3), 1e-12);
}

TEST(Windows, TransposesAndBatches) {
  for (const Pool& pool : pools()) {
    const Expected e = expected(pool, values_of(wave(pool.size)));
    WindowAttributes a{.window = pool.window,
                       .strides = pool.stride,
                       .dilation = pool.dilation,
                       .padding = pool.padding};
    for (size_t i = 2; i < e.sizes.size(); ++i) a.counts.push_back(e.sizes[i]);
    WindowAttributes spread = a;
    for (size_t i = 2; i < e.sizes.size(); ++i) spread.sizes.push_back(pool.size[i]);
    const auto of = [](const WindowAttributes& each) { return ir::Attributes::of(each); };
    expect_transposes("window_sum", of(a), {wave(pool.size)});
    expect_transposes("window_spread", of(spread), {wave(e.sizes)});
    expect_batches("window_sum", of(a), {wave(pool.size)}, {true});
    expect_batches("window_spread", of(spread), {wave(e.sizes)}, {true});
    expect_batches("window_maximum_index", of(a), {wave(pool.size)}, {true});
  }
  const WindowAttributes even{.counts = {2, 3}};
  expect_transposes("window_sum", ir::Attributes::of(even), {wave({2, 5, 7})});
}

TEST(Windows, ElementsOfPlanes) {
  const Tensor x = wave({2, 3, 4}),
               index = reshape(tensor<int64_t>({0, 3, 3, -1, 2, 1}), {2, 1, 3});
  const Tensor taken = plane_take(x, index, 1);
  EXPECT_EQ(taken.shape(), (Shape{2, 3, 3}));
  const auto at = [&](size_t i) { return values_of(x)[i]; };
  expect_values(slice(slice(taken, 1, {.start = 1, .stop = 2}), 0, {.stop = 1}),
                {at(4), at(7), at(7)});
  expect_values(slice(slice(taken, 1, {.start = 1, .stop = 2}), 0, {.start = 1}),
                {0, at(18), at(17)});
  const Tensor places = broadcast_to(index, {2, 3, 3});
  const auto take = ir::Attributes::of(PlaneAttributes{1});
  const auto put = ir::Attributes::of(PlaneAttributes{1, {4}});
  expect_transposes("plane_take", take, {x, places});
  expect_transposes("plane_put", put, {wave({2, 3, 3}), places});
  const Tensor one = squeeze(slice(places, 0, {.stop = 1}), 0);
  expect_batches("plane_take", take, {x, places}, {true, true});
  expect_batches("plane_take", take, {x, one}, {true, false});
  expect_batches("plane_take", take, {wave({3, 4}), places}, {false, true});
  expect_batches("plane_put", put, {wave({2, 3, 3}), one}, {true, false});
  // A plane that is not contiguous.
  const Tensor turned = permute_dims(wave({4, 3, 2}), {2, 1, 0});
  expect_same(plane_take(turned, index, 1), plane_take(turned + 0, index, 1), 0);
  EXPECT_THROW(plane_take(x, full({2, 1, 3}, 4), 1), IndexError);
  EXPECT_THROW(plane_take(x, full({2, 1, 3}, -2), 1), IndexError);
}

TEST(Pooling, TracedAndWithSymbolicSizes) {
  const Tensor x = wave({2, 3, 8, 9});
  const auto maximum = [](const Tensor& x) {
    return max_pool2d(x, 3, {.stride = 2, .padding = 1});
  };
  const auto average = [](const Tensor& x) {
    return avg_pool2d(x, 3, {.stride = 2, .padding = 1, .ceil_mode = true});
  };
  expect_traced_alike(maximum, x);
  expect_traced_alike(average, x);
  expect_symbolic_alike(maximum, {0, 2, 3}, x);
  expect_symbolic_alike(average, {0, 2, 3}, x);
  expect_symbolic_alike([](const Tensor& x) { return adaptive_avg_pool2d(x, 5); }, {0, 2, 3}, x);
}

TEST(Pooling, PowersFractionsAndUnpoolingWithSymbolicSizes) {
  const Tensor x = wave({2, 3, 8, 9});
  const auto powers = [](const Tensor& x) {
    return lp_pool2d(x, 2, {2, 3}, {.stride = 2, .ceil_mode = true});
  };
  const auto unpooled = [](const Tensor& x) {
    const MaxPooled pooled = max_pool2d_with_indices(x, 2);
    return max_unpool2d(pooled.values, pooled.indices, 2,
                        {.output_size = {x.shape(2), x.shape(3)}});
  };
  const auto fractions = [samples = absolute(wave({2, 3, 2}))](const Tensor& x) {
    return fractional_max_pool2d(x, {2, 3}, {.output_size = 4, .samples = samples});
  };
  expect_traced_alike(powers, x);
  expect_traced_alike(unpooled, x);
  expect_traced_alike(fractions, x);
  expect_symbolic_alike(powers, {0, 2, 3}, x);
  expect_symbolic_alike(unpooled, {0, 2, 3}, x);
  expect_symbolic_alike(fractions, {2, 3}, x);
}

TEST(Pooling, WindowsThatDoNotFitAreRefusedOfSymbolicSizesToo) {
  for (const bool ceil_mode : {false, true}) {
    const auto pool = [&](const Tensor& x) {
      return avg_pool1d(x, 4, {.stride = 2, .ceil_mode = ceil_mode});
    };
    const TracedProgram traced =
        trace(pool)(abstract_tensor(ir::Type::array(DType::f64, {1, 1, Dim::symbol("n")})));
    EXPECT_EQ(evaluate(traced.program, std::vector{ones({1, 1, 7}, DType::f64)})[0].shape(2),
              Dim(ceil_mode ? 3 : 2));
    EXPECT_THROW(evaluate(traced.program, std::vector{ones({1, 1, 2}, DType::f64)}), ShapeError);
  }
}

TEST(Pooling, RefusesWhatDoesNotFit) {
  const Tensor x = wave({2, 3, 8, 9});
  EXPECT_THROW(max_pool2d(x, 3, {.padding = 2}), ValueError);
  EXPECT_THROW(max_pool2d(x, 0), ValueError);
  EXPECT_THROW(max_pool2d(x, {9, 2}), ShapeError);
  EXPECT_THROW(max_pool2d(wave({8, 9}), 2), ShapeError);
  EXPECT_THROW(max_pool2d(x, {2, 2, 2}), ValueError);
  EXPECT_THROW(avg_pool2d(x, 2, {.divisor_override = 0}), ValueError);
  EXPECT_THROW(adaptive_avg_pool2d(x, -2), ValueError);
  EXPECT_THROW(adaptive_avg_pool1d(zeros({2, 0}), 2), ShapeError);
  EXPECT_THROW(max_pool1d(astype(wave({1, 1, 4}), DType::c64), 2), TypeError);
}

}  // namespace
}  // namespace plait
