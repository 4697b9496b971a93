#include "tests/gpu_check/device_speed.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/core/device.h"
#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reinterpret.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/scatter.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/neural/activation.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/reductions/sort.h"
#include "plait/tensor/memory/device_memory.h"

namespace plait::gpu_check {
namespace {

const Device kGpu("cuda:0");
constexpr int64_t kMany = 16 << 20;

// i * 7919 mod 1000, from -0.5 to 0.5: the same numbers in each library.
Tensor numbers(const Shape& shape, DType dtype = DType::f32) {
  const Tensor places = arange(shape.element_count().number());
  return reshape(astype(astype(remainder(places * 7919, 1000), DType::f64) / 1000.0 - 0.5, dtype),
                 shape);
}
Tensor rows_below(int64_t end, int64_t count) { return remainder(arange(count) * 7919, end); }

struct Measured {
  std::string name;
  std::function<std::function<Tensor()>()> prepare;
};

template <class Function>
Measured unary(std::string name, Shape shape, DType dtype, Function function) {
  return {std::move(name),
          [=] { return [x = numbers(shape, dtype), function] { return function(x); }; }};
}

Measured product(std::string name, Shape a, Shape b, DType dtype) {
  return {std::move(name),
          [=] { return [a = numbers(a, dtype), b = numbers(b, dtype)] { return matmul(a, b); }; }};
}

std::vector<Measured> elementwise() {
  return {
      unary("add 16 f32", {16}, DType::f32, [](const Tensor& x) { return x + x; }),
      unary("add 16M f32", {kMany}, DType::f32, [](const Tensor& x) { return x + x; }),
      unary("times 2 16M bf16", {kMany}, DType::bf16, [](const Tensor& x) { return x * 2.0; }),
      unary("exp 16M f32", {kMany}, DType::f32, [](const Tensor& x) { return exp(x); }),
      unary("gelu 16M bf16", {kMany}, DType::bf16, [](const Tensor& x) { return gelu(x); }),
      unary("where 16M f32", {kMany}, DType::f32,
            [](const Tensor& x) { return where(x > 0.0, x, 0.0); }),
      unary("transposed copy 4096 f32", {4096, 4096}, DType::f32,
            [](const Tensor& x) { return contiguous(transpose(x)); }),
  };
}

std::vector<Measured> reductions() {
  return {
      unary("sum 16M f32", {kMany}, DType::f32, [](const Tensor& x) { return sum(x); }),
      unary("sum rows 4096 f32", {4096, 4096}, DType::f32,
            [](const Tensor& x) { return sum(x, 1); }),
      unary("sum columns 4096 f32", {4096, 4096}, DType::f32,
            [](const Tensor& x) { return sum(x, 0); }),
      unary("argmax rows 4096 f32", {4096, 4096}, DType::f32,
            [](const Tensor& x) { return argmax(x, 1); }),
      unary("softmax 8192x1024 f32", {8192, 1024}, DType::f32,
            [](const Tensor& x) { return softmax(x, -1); }),
      unary("layer norm 8192x768 f32", {8192, 768}, DType::f32,
            [](const Tensor& x) { return layer_norm(x, {768}); }),
      unary("cumsum rows 4096 f32", {4096, 4096}, DType::f32,
            [](const Tensor& x) { return cumsum(x, 1); }),
  };
}

std::vector<Measured> others() {
  return {
      product("matmul 4096 f32", {4096, 4096}, {4096, 4096}, DType::f32),
      product("matmul 8192 bf16", {8192, 8192}, {8192, 8192}, DType::bf16),
      product("matmul 96x512x64x512 bf16", {96, 512, 64}, {96, 64, 512}, DType::bf16),
      {"embedding 50257x768 8192 f32",
       [] {
         return [table = numbers({50257, 768}), rows = rows_below(50257, 8192)] {
           return take(table, rows, 0);
         };
       }},
      {"index_add 50257x768 8192 f32",
       [] {
         return [table = zeros({50257, 768}), rows = rows_below(50257, 8192),
                 x = numbers({8192, 768})] { return index_add(table, 0, rows, x); };
       }},
      unary("sort 1M f32", {1 << 20}, DType::f32, [](const Tensor& x) { return sort(x); }),
      unary("topk 50 8192x1024 f32", {8192, 1024}, DType::f32,
            [](const Tensor& x) { return topk(x, 50).values; }),
  };
}

using Clock = std::chrono::steady_clock;
double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// Microseconds of a call among many that are queued: the best of five.
double microseconds_of(const std::function<Tensor()>& call, double seconds) {
  DeviceMemory& memory = device_memory(kGpu);
  for (int i = 0; i < 3; ++i) call();
  memory.synchronize();
  const auto mean_of = [&](int64_t calls) {
    const Clock::time_point start = Clock::now();
    for (int64_t i = 0; i < calls; ++i) call();
    memory.synchronize();
    return since(start) / static_cast<double>(calls);
  };
  const double once = mean_of(1);
  const auto calls = std::max<int64_t>(1, static_cast<int64_t>(seconds / 5 / std::max(once, 1e-7)));
  double best = mean_of(calls);
  for (int i = 1; i < 5; ++i) best = std::min(best, mean_of(calls));
  return best * 1e6;
}

}  // namespace

void measure(const std::string& name, double seconds) {
  const DeviceScope scope(kGpu);
  for (const auto& group : {elementwise(), reductions(), others()}) {
    for (const Measured& measured : group) {
      if (measured.name.find(name) == std::string::npos) continue;
      try {
        const std::function<Tensor()> call = measured.prepare();
        const double magnitude = mean(absolute(astype(call(), DType::f64))).item<double>();
        fmt::print("{{\"name\": \"{}\", \"microseconds\": {:.3f}, \"mean\": {:.17g}}}\n",
                   measured.name, microseconds_of(call, seconds), magnitude);
      } catch (const Error& error) {
        fmt::print(stderr, "{}: {}\n", measured.name, error.what());
      }
      std::fflush(stdout);
    }
  }
}

}  // namespace plait::gpu_check
