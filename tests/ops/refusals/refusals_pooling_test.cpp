// Refusals of pooling.h and resampling.h.
#include <cmath>

#include <gtest/gtest.h>

#include "plait/ops/arrays/create.h"
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
auto power_call(Pool pool) {
  return [pool](const Tensor& x, const PerDimension& window, const MaxPoolOptions& options) {
    pool(x, 2, window, {.stride = options.stride});
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
      {"avg_pool3d", 3, average_call(avg_pool3d)},
      {"lp_pool1d", 1, power_call(lp_pool1d)},
      {"lp_pool2d", 2, power_call(lp_pool2d)},
      {"lp_pool3d", 3, power_call(lp_pool3d)}};
  for (const auto& [name, n, f] : pools) {
    const Tensor x = planes(n, 3);
    const std::string type = x.type().text();
    rows.push_back({name, [=] { f(f32(3), 2, {}); }, kShape, {"f32[3]"}});
    rows.push_back({name, [=] { f(planes(n, 3, DType::key), 2, {}); }, kType, {"key"}});
    rows.push_back({name, [=] { f(x, 4, {}); }, kShape, {"window", "4", type}});
    rows.push_back({name, [=] { f(x, 0, {}); }, kValue, {"window", "0", type}});
    rows.push_back({name, [=] { f(x, {2, 2, 2, 2}, {}); }, kValue, {"window", "4", type}});
    rows.push_back({name, [=] { f(x, 2, {.stride = 0}); }, kValue, {"stride", "0", type}});
    rows.push_back({name, [=] { f(Tensor(), 2, {}); }, kValue, {"never given"}});
    if (std::string_view(name).starts_with("lp")) continue;
    rows.push_back({name, [=] { f(x, 2, {.padding = -1}); }, kValue, {"padding", "-1", type}});
    rows.push_back({name, [=] { f(x, 2, {.padding = 2}); }, kValue, {"padding", "2", type}});
    if (std::string_view(name).starts_with("avg")) continue;
    rows.push_back({name, [=] { f(x, 2, {.dilation = 0}); }, kValue, {"dilation", "0", type}});
    rows.push_back({name, [=] { f(planes(n, 3, DType::c64), 2, {}); }, kType, {"c64"}});
  }
  const Refusals more = {
      {"lp_pool1d", [] { lp_pool1d(f32(1, 3), 0, 2); }, kValue, {"norm type is 0"}},
      {"lp_pool2d", [] { lp_pool2d(f32(1, 3, 3), INFINITY, 2); }, kValue, {"norm type is inf"}},
      {"lp_pool3d", [] { lp_pool3d(f32(1, 3, 3, 3), NAN, 2); }, kValue, {"norm type is nan"}},
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

struct UnpoolCall {
  const char* name;
  size_t dimensions;
  std::function<void(const Tensor&, const Tensor&, const PerDimension&, const MaxUnpoolOptions&)>
      call;
};

void add_unpooling(Refusals& rows) {
  const std::vector<UnpoolCall> pools = {{"max_unpool1d", 1, max_unpool1d},
                                         {"max_unpool2d", 2, max_unpool2d},
                                         {"max_unpool3d", 3, max_unpool3d}};
  for (const auto& [name, n, f] : pools) {
    const Tensor x = planes(n, 3), index = zeros_like(planes(n, 3, DType::i64));
    const std::string type = x.type().text();
    rows.push_back({name, [=] { f(f32(3), i64(3), 2, {}); }, kShape, {"f32[3]"}});
    rows.push_back({name, [=] { f(x, planes(n, 2, DType::i64), 2, {}); }, kShape, {type}});
    rows.push_back({name, [=] { f(x, x, 2, {}); }, kType, {type}});
    rows.push_back({name, [=] { f(planes(n, 3, DType::key), index, 2, {}); }, kType, {"key"}});
    rows.push_back({name, [=] { f(x, index + 1000, 2, {}); }, kIndex, {"1000"}});
    rows.push_back({name, [=] { f(x, index, 0, {}); }, kValue, {"window", "0"}});
    rows.push_back({name, [=] { f(x, index, {2, 2, 2, 2}, {}); }, kValue, {"window", "4"}});
    rows.push_back({name, [=] { f(x, index, 2, {.stride = 0}); }, kValue, {"stride", "0"}});
    rows.push_back({name, [=] { f(x, index, 2, {.padding = -1}); }, kValue, {"padding", "-1"}});
    const auto sized = [n](int64_t size) { return std::vector<Dim>(n, size); };
    rows.push_back(
        {name, [=] { f(x, index, 2, {.output_size = sized(8)}); }, kShape, {"8", "5 to 7"}});
    rows.push_back(
        {name, [=] { f(x, index, 2, {.output_size = sized(4)}); }, kShape, {"4", "5 to 7"}});
    rows.push_back({name,
                    [=] { f(x, index, 2, {.output_size = {6, 6, 6, 6, 6, 6}}); },
                    kValue,
                    {"6 numbers"}});
    rows.push_back({name, [=] { f(x, Tensor(), 2, {}); }, kValue, {"never given"}});
  }
}

struct FractionalCall {
  const char* name;
  size_t dimensions;
  std::function<void(const Tensor&, const PerDimension&, const FractionalMaxPoolOptions&)> call;
};

void add_fractional(Refusals& rows) {
  const std::vector<FractionalCall> pools = {
      {"fractional_max_pool2d", 2, fractional_max_pool2d},
      {"fractional_max_pool3d", 3, fractional_max_pool3d},
      {"fractional_max_pool2d_with_indices", 2, fractional_max_pool2d_with_indices},
      {"fractional_max_pool3d_with_indices", 3, fractional_max_pool3d_with_indices}};
  for (const auto& [name, n, f] : pools) {
    const Tensor x = planes(n, 4);
    const std::string type = x.type().text();
    const auto refuse = [&rows, name = name](auto call, ErrorKind kind,
                                             std::vector<std::string> words) {
      rows.push_back({name, call, kind, std::move(words)});
    };
    refuse([=] { f(f32(3), 2, {.output_size = 2}); }, kShape, {"f32[3]"});
    refuse([=] { f(planes(n, 4, DType::c64), 2, {.output_size = 2}); }, kType, {"c64"});
    refuse([=] { f(planes(n, 4, DType::key), 2, {.output_size = 2}); }, kType, {"key"});
    refuse([=] { f(x, 2, {}); }, kValue, {"output size", type});
    refuse([=] { f(x, 2, {.output_size = 2, .output_ratio = {.5}}); }, kValue, {"either", type});
    refuse([=] { f(x, 2, {.output_size = 0}); }, kValue, {"0", type});
    refuse([=] { f(x, 2, {.output_size = 4}); }, kShape, {"4 windows of 2", type});
    refuse([=] { f(x, 0, {.output_size = 2}); }, kValue, {"window", "0", type});
    refuse([=] { f(x, 2, {.output_ratio = {1.}}); }, kValue, {"ratio of 1", type});
    refuse([=] { f(x, 2, {.output_ratio = {0.}}); }, kValue, {"ratio of 0", type});
    refuse([=] { f(x, 2, {.output_ratio = {.1}}); }, kShape, {"0 windows", type});
    refuse([=] { f(x, 2, {.output_ratio = {.5, .5, .5, .5}}); }, kValue, {"4 numbers", type});
    refuse([=] { f(x, 2, {.output_size = 2, .samples = f32(4, 4)}); }, kShape, {"f32[4, 4]"});
    refuse([=] { f(x, 2, {.output_size = 2, .key = keys(2)}); }, kShape, {"key[2]"});
    refuse([=] { f(x, 2, {.output_size = 2, .key = f32()}); }, kType, {"f32[]"});
    refuse([=] { f(x, 2, {.output_size = 2, .samples = f32(), .key = keys()}); }, kValue,
           {"key", "samples"});
    refuse([=] { f(Tensor(), 2, {.output_size = 2}); }, kValue, {"never given"});
  }
}

void add_affine(Refusals& rows) {
  const auto grid = [](const Tensor& theta, const std::vector<Dim>& size) {
    return [=] { affine_grid(theta, size); };
  };
  const Refusals more = {
      {"affine_grid", grid(f32(1, 2, 3), {1, 1, 4}), kValue, {"3 sizes", "f32[1, 2, 3]"}},
      {"affine_grid", grid(f32(1, 2, 3), {1, 1, 4, 4, 4}), kShape, {"[1, 3, 4]", "f32[1, 2, 3]"}},
      {"affine_grid", grid(f32(1, 3, 4), {1, 1, 4, 4}), kShape, {"[1, 2, 3]", "f32[1, 3, 4]"}},
      {"affine_grid", grid(f32(2, 2, 3), {1, 1, 4, 4}), kShape, {"[1, 2, 3]", "f32[2, 2, 3]"}},
      {"affine_grid", grid(f32(2, 3), {1, 1, 4, 4}), kShape, {"f32[2, 3]"}},
      {"affine_grid", grid(f32(1, 2, 3), {1, 1, 0, 4}), kShape, {"size of 0", "f32[1, 2, 3]"}},
      {"affine_grid", grid(c64(1, 2, 3), {1, 1, 4, 4}), kType, {"c64[1, 2, 3]"}},
      {"affine_grid", grid(keys(1, 2, 3), {1, 1, 4, 4}), kType, {"key[1, 2, 3]"}},
      {"affine_grid", grid(Tensor(), {1, 1, 4, 4}), kValue, {"never given"}},
  };
  rows.insert(rows.end(), more.begin(), more.end());
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
  add_unpooling(rows);
  add_fractional(rows);
  add_resampling(rows);
  add_affine(rows);
  return rows;
}

TEST(Refusals, Pooling) { expect_refused(refusals_of_pooling()); }

}  // namespace plait
