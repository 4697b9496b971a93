// Matrix products of typical models. Rates count multiplications and additions.
#include <benchmark/benchmark.h>

#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/products/matmul.h"

namespace plait {
namespace {

struct Product {
  const char* name;
  DType dtype;
  int64_t batch, rows, steps, columns;
  bool turns_a = false, turns_b = false;  // stored transposed
};

Array ones(DType dtype, int64_t batch, int64_t rows, int64_t columns, bool is_turned) {
  if (is_turned) std::swap(rows, columns);
  const Array array = Array::filled(dtype, {batch, rows, columns}, Element::of(1.0));
  const Sizes axes{0, 2, 1};
  return is_turned ? array.view(array.layout().permuted(axes)) : array;
}

void run(benchmark::State& bench, const Product& product) {
  const Array a = ones(product.dtype, product.batch, product.rows, product.steps, product.turns_a);
  const Array b =
      ones(product.dtype, product.batch, product.steps, product.columns, product.turns_b);
  Array out = Array::empty(product.dtype, {product.batch, product.rows, product.columns});
  matmul(a, b, out);
  for (auto _ : bench) matmul(a, b, out);
  const double operations = 2e-9 * static_cast<double>(product.batch * product.rows) *
                            static_cast<double>(product.steps * product.columns);
  bench.counters["GFLOP/s"] =
      benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
}

constexpr Product kProducts[] = {
    {"f32/1576x768x2304", DType::f32, 1, 1576, 768, 2304},
    {"f32/1576x768x3072", DType::f32, 1, 1576, 768, 3072},
    {"f32/1576x3072x768", DType::f32, 1, 1576, 3072, 768},
    {"f32/weight_gradient_768x1576x3072", DType::f32, 1, 768, 1576, 3072, true, false},
    {"f32/input_gradient_1576x3072x768", DType::f32, 1, 1576, 3072, 768, false, true},
    {"f32/8", DType::f32, 1, 8, 8, 8},
    {"f32/16", DType::f32, 1, 16, 16, 16},
    {"f32/32", DType::f32, 1, 32, 32, 32},
    {"f32/64", DType::f32, 1, 64, 64, 64},
    {"f32/128", DType::f32, 1, 128, 128, 128},
    {"f32/256", DType::f32, 1, 256, 256, 256},
    {"f32/96x(197x64x197)", DType::f32, 96, 197, 64, 197, false, true},
    {"f32/96x(197x197x64)", DType::f32, 96, 197, 197, 64},
    {"bf16/1576x768x2304", DType::bf16, 1, 1576, 768, 2304},
    {"bf16/1576x768x3072", DType::bf16, 1, 1576, 768, 3072},
    {"bf16/1576x3072x768", DType::bf16, 1, 1576, 3072, 768},
    {"bf16/weight_gradient_768x1576x3072", DType::bf16, 1, 768, 1576, 3072, true, false},
    {"bf16/8", DType::bf16, 1, 8, 8, 8},
    {"bf16/64", DType::bf16, 1, 64, 64, 64},
    {"bf16/96x(197x64x197)", DType::bf16, 96, 197, 64, 197, false, true},
    {"bf16/96x(197x197x64)", DType::bf16, 96, 197, 197, 64},
    {"f64/512", DType::f64, 1, 512, 512, 512},
    {"f64/1576x768x2304", DType::f64, 1, 1576, 768, 2304},
    {"f16/512", DType::f16, 1, 512, 512, 512},
    {"c64/512", DType::c64, 1, 512, 512, 512},
    {"c128/512", DType::c128, 1, 512, 512, 512},
    {"i32/512", DType::i32, 1, 512, 512, 512},
    {"i64/512", DType::i64, 1, 512, 512, 512},
    {"bool/512", DType::boolean, 1, 512, 512, 512},
};

[[maybe_unused]] const bool registered = [] {
  for (const Product& product : kProducts) {
    benchmark::RegisterBenchmark(product.name, [&product](benchmark::State& bench) {
      run(bench, product);
    })->UseRealTime();
  }
  return true;
}();

}  // namespace
}  // namespace plait
