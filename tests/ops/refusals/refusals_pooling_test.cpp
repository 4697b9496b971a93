// Refusals of pooling.h and resampling.h.
#include <cmath>

#include <gtest/gtest.h>

#include "plait/ops/neural/pooling.h"
#include "plait/ops/neural/resampling.h"

#include "refusals.h"

namespace plait {
namespace {

struct PoolCall {
  const char* name;
  size_t dimensions;
  std::function<void(const Tensor&, const PerDimension&, const MaxPoolOptions&)> call;
};

template <class Pool>
auto max_call(Pool pool) {
  return [pool](const Tensor& x, const PerDimension& window, const MaxPoolOptions& options) {
    pool(x, window, options);
  };
}
template <class Pool>
auto average_call(Pool pool) {
  return [pool](const Tensor& x, const PerDimension& window, const MaxPoolOptions& options) {
    pool(x, window, {.stride = options.stride, .padding = options.padding});
  };
}

Tensor planes(size_t dimensions, int64_t size, DType dtype = DType::f32) {
  return counted(dtype, Sizes(dimensions + 2, size));
}

void add_windows(Refusals& rows) {
  const std::vector<PoolCall> pools = {
      {"max_pool1d", 1, max_call(max_pool1d)},
      {"max_pool2d", 2, max_call(max_pool2d)},
      {"max_pool3d", 3, max_call(max_pool3d)},
      {"max_pool1d_with_indices", 1, max_call(max_pool1d_with_indices)},
      {"max_pool2d_with_indices", 2, max_call(max_pool2d_with_indices)},
      {"max_pool3d_with_indices", 3, max_call(max_pool3d_with_indices)},
      {"avg_pool1d", 1, average_call(avg_pool1d)},
      {"avg_pool2d", 2, average_call(avg_pool2d)},
      {"avg_pool3d", 3, average_call(avg_pool3d)}};
  for (const auto& [name, n, f] : pools) {
    const Tensor x = planes(n, 3);
    const std::string type = x.type().text();
    rows.push_back({name, [=] { f(f32(3), 2, {}); }, kShape, {"f32[3]"}});
    rows.push_back({name, [=] { f(planes(n, 3, DType::key), 2, {}); }, kType, {"key"}});
    rows.push_back({name, [=] { f(x, 4, {}); }, kShape, {"window", "4", type}});
    rows.push_back({name, [=] { f(x, 0, {}); }, kValue, {"window", "0", type}});
    rows.push_back({name, [=] { f(x, {2, 2, 2, 2}, {}); }, kValue, {"window", "4", type}});
    rows.push_back({name, [=] { f(x, 2, {.stride = 0}); }, kValue, {"stride", "0", type}});
    rows.push_back({name, [=] { f(x, 2, {.padding = -1}); }, kValue, {"padding", "-1", type}});
    rows.push_back({name, [=] { f(x, 2, {.padding = 2}); }, kValue, {"padding", "2", type}});
    rows.push_back({name, [=] { f(Tensor(), 2, {}); }, kValue, {"never given"}});
    if (std::string_view(name).starts_with("avg")) continue;
    rows.push_back({name, [=] { f(x, 2, {.dilation = 0}); }, kValue, {"dilation", "0", type}});
    rows.push_back({name, [=] { f(planes(n, 3, DType::c64), 2, {}); }, kType, {"c64"}});
  }
  const Refusals more = {
      {"avg_pool1d",
       [] { avg_pool1d(f32(1, 3), 2, {.divisor_override = 0}); },
       kValue,
       {"divisor", "0"}},
      {"avg_pool2d",
       [] { avg_pool2d(f32(1, 3, 3), 2, {.divisor_override = 0}); },
       kValue,
       {"divisor"}},
      {"avg_pool3d",
       [] { avg_pool3d(f32(1, 3, 3, 3), 2, {.divisor_override = 0}); },
       kValue,
       {"divisor"}},
  };
  rows.insert(rows.end(), more.begin(), more.end());
}

struct AdaptiveCall {
  const char* name;
  size_t dimensions;
  std::function<void(const Tensor&, const PerDimension&)> call;
};

void add_adaptive(Refusals& rows) {
  const std::vector<AdaptiveCall> pools = {
      {"adaptive_avg_pool1d", 1, adaptive_avg_pool1d},
      {"adaptive_avg_pool2d", 2, adaptive_avg_pool2d},
      {"adaptive_avg_pool3d", 3, adaptive_avg_pool3d},
      {"adaptive_max_pool1d", 1, adaptive_max_pool1d},
      {"adaptive_max_pool2d", 2, adaptive_max_pool2d},
      {"adaptive_max_pool3d", 3, adaptive_max_pool3d},
      {"adaptive_max_pool1d_with_indices", 1, adaptive_max_pool1d_with_indices},
      {"adaptive_max_pool2d_with_indices", 2, adaptive_max_pool2d_with_indices},
      {"adaptive_max_pool3d_with_indices", 3, adaptive_max_pool3d_with_indices}};
  for (const auto& [name, n, f] : pools) {
    const Tensor x = planes(n, 3);
    const std::string type = x.type().text();
    rows.push_back({name, [=] { f(f32(3), 2); }, kShape, {"f32[3]"}});
    rows.push_back({name, [=] { f(planes(n, 3, DType::key), 2); }, kType, {"key"}});
    rows.push_back({name, [=] { f(planes(n, 0), 2); }, kShape, {planes(n, 0).type().text()}});
    rows.push_back({name, [=] { f(x, -2); }, kValue, {"-2", type}});
    rows.push_back({name, [=] { f(x, {2, 2, 2, 2}); }, kValue, {"4", type}});
    rows.push_back({name, [=] { f(Tensor(), 2); }, kValue, {"never given"}});
    if (std::string_view(name).starts_with("adaptive_avg")) continue;
    rows.push_back({name, [=] { f(planes(n, 3, DType::c64), 2); }, kType, {"c64"}});
  }
}

void add_resampling(Refusals& rows) {
  const auto resized = [](const Tensor& x, const InterpolateOptions& options) {
    return [x, options] { interpolate(x, options); };
  };
  const Tensor line = f32(1, 1, 3), plane = f32(1, 1, 3, 3);
  const auto sampled = [plane](const Tensor& grid, const GridSampleOptions& options = {}) {
    return [plane, grid, options] { grid_sample(plane, grid, options); };
  };
  const Refusals more = {
      {"interpolate", resized(f32(3), {.size = {2}}), kShape, {"f32[3]"}},
      {"interpolate", resized(keys(1, 1, 3), {.size = {2}}), kType, {"key[1, 1, 3]"}},
      {"interpolate", resized(Tensor(), {.size = {2}}), kValue, {"never given"}},
      {"interpolate", resized(line, {}), kValue, {"sizes", "f32[1, 1, 3]"}},
      {"interpolate", resized(line, {.size = {2}, .scale_factor = {2}}), kValue, {"sizes"}},
      {"interpolate", resized(line, {.size = {2, 2}}), kValue, {"2 sizes", "f32[1, 1, 3]"}},
      {"interpolate", resized(line, {.size = {0}}), kShape, {"0", "f32[1, 1, 3]"}},
      {"interpolate", resized(line, {.size = {-1}}), kShape, {"-1", "f32[1, 1, 3]"}},
      {"interpolate", resized(f32(1, 1, 0), {.size = {2}}), kShape, {"f32[1, 1, 0]"}},
      {"interpolate", resized(line, {.scale_factor = {0}}), kValue, {"scale", "0", "f32[1, 1, 3]"}},
      {"interpolate", resized(line, {.scale_factor = {-1}}), kValue, {"scale", "-1"}},
      {"interpolate", resized(line, {.scale_factor = {NAN}}), kValue, {"scale", "nan"}},
      {"interpolate", resized(line, {.scale_factor = {1e30}}), kValue, {"scale", "1e+30"}},
      {"interpolate", resized(line, {.scale_factor = {.1}}), kShape, {"size of 0"}},
      {"interpolate",
       resized(line, {.size = {2}, .mode = Interpolation::cubic}),
       kValue,
       {"cubic", "f32[1, 1, 3]"}},
      {"interpolate",
       resized(line, {.size = {2}, .align_corners = true}),
       kValue,
       {"align_corners", "f32[1, 1, 3]"}},
      {"interpolate",
       resized(line, {.size = {2}, .antialias = true}),
       kValue,
       {"antialias", "f32[1, 1, 3]"}},
      {"grid_sample", sampled(f32(1, 2, 2, 3)), kShape, {"f32[1, 1, 3, 3]", "f32[1, 2, 2, 3]"}},
      {"grid_sample", sampled(f32(2, 2, 2, 2)), kShape, {"f32[2, 2, 2, 2]"}},
      {"grid_sample", sampled(f32(2, 2)), kShape, {"f32[2, 2]"}},
      {"grid_sample", sampled(c64(1, 2, 2, 2)), kType, {"c64[1, 2, 2, 2]"}},
      {"grid_sample", sampled(keys(1, 2, 2, 2)), kType, {"key[1, 2, 2, 2]"}},
      {"grid_sample", sampled(Tensor()), kValue, {"never given"}},
      {"grid_sample",
       sampled(f32(1, 2, 2, 2), {.mode = Interpolation::area}),
       kValue,
       {"f32[1, 1, 3, 3]"}},
      {"grid_sample",
       [] { grid_sample(f32(1, 1, 0, 3), f32(1, 2, 2, 2)); },
       kShape,
       {"f32[1, 1, 0, 3]"}},
      {"grid_sample", [] { grid_sample(f32(1, 1, 3), f32(1, 2, 1)); }, kShape, {"f32[1, 1, 3]"}},
      {"grid_sample",
       [] { grid_sample(f32(1, 1, 2, 2, 2), f32(1, 2, 2, 2, 3), {.mode = Interpolation::cubic}); },
       kValue,
       {"cubic", "f32[1, 1, 2, 2, 2]"}},
      {"grid_sample",
       [] { grid_sample(keys(1, 1, 3, 3), f32(1, 2, 2, 2)); },
       kType,
       {"key[1, 1, 3, 3]"}},
  };
  rows.insert(rows.end(), more.begin(), more.end());
}

}  // namespace

Refusals refusals_of_pooling() {
  Refusals rows;
  add_windows(rows);
  add_adaptive(rows);
  add_resampling(rows);
  return rows;
}

TEST(Refusals, Pooling) { expect_refused(refusals_of_pooling()); }

}  // namespace plait
