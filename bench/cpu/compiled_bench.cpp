// Compiled loop nests: time for each element (`items`), and compile time.
#include <memory>
#include <vector>

#include <benchmark/benchmark.h>

#include "plait/core/settings.h"
#include "plait/cpu/inside/codegen/nest_compiler.h"
#include "plait/ir/primitive.h"
#include "plait/ops/register_all.h"
#include "plait/tensor/memory/array.h"

namespace plait {
namespace {

using compile::Nest;
using compile::NestValue;
using cpu::CompiledNest;
using cpu::NestArguments;

// Builds nests from values of one dtype, one after the other.
class Maker {
 public:
  Maker(std::vector<Dim> outer, Dim columns, DType dtype, bool accumulates = false)
      : dtype_(dtype) {
    nest.grouped = accumulates ? 0 : static_cast<uint32_t>(outer.size());
    nest.outer = std::move(outer);
    nest.columns = columns;
  }
  uint32_t load(std::vector<Dim> strides) {
    nest.parameters.push_back(dtype_);
    return add({.kind = NestValue::Kind::load,
                .parameter = static_cast<uint32_t>(nest.parameters.size() - 1),
                .place = {0, std::move(strides)},
                .has_columns = true});
  }
  uint32_t number(double x) { return add({.number = Element::of(x)}); }
  uint32_t compute(const char* name, std::vector<uint32_t> operands) {
    bool moves = false;
    for (const uint32_t v : operands) moves = moves || nest.values[v].has_columns;
    return add({.kind = NestValue::Kind::compute,
                .primitive = &ir::primitive(name),
                .operands = std::move(operands),
                .has_columns = moves});
  }
  uint32_t reduce(ir::Reduction reduction, uint32_t v) {
    return add({.kind = NestValue::Kind::reduce, .operands = {v}, .reduction = reduction});
  }
  void result(uint32_t v, std::vector<Dim> strides, ir::Reduction reduction = ir::Reduction::none) {
    nest.results.push_back({v, {0, std::move(strides)}, reduction});
  }

  Nest nest;

 private:
  uint32_t add(NestValue value) {
    value.dtype = dtype_;
    nest.values.push_back(std::move(value));
    return static_cast<uint32_t>(nest.values.size() - 1);
  }
  DType dtype_;
};

Nest gelu(Dim, Dim columns, DType dtype) {
  Maker maker({}, columns, dtype);
  const uint32_t x = maker.load({1}), half = maker.number(0.5), one = maker.number(1);
  const uint32_t cube = maker.compute("multiply", {maker.compute("square", {x}), x});
  const uint32_t bent = maker.compute("multiply", {cube, maker.number(0.044715)});
  const uint32_t inner =
      maker.compute("multiply", {maker.compute("add", {x, bent}), maker.number(0.7978845608)});
  const uint32_t sum = maker.compute("add", {maker.compute("tanh", {inner}), one});
  maker.result(maker.compute("multiply", {maker.compute("multiply", {x, half}), sum}), {1});
  return maker.nest;
}
Nest softmax(Dim rows, Dim columns, DType dtype) {
  Maker maker({rows}, columns, dtype);
  const uint32_t x = maker.load({columns, 1});
  const uint32_t most = maker.reduce(ir::Reduction::maximum, x);
  const uint32_t power = maker.compute("exp", {maker.compute("subtract", {x, most})});
  const uint32_t sum = maker.reduce(ir::Reduction::sum, power);
  maker.result(maker.compute("divide", {power, sum}), {columns, 1});
  return maker.nest;
}
Nest layer_norm(Dim rows, Dim columns, DType dtype) {
  Maker maker({rows}, columns, dtype);
  const uint32_t x = maker.load({columns, 1}), gamma = maker.load({0, 1});
  const uint32_t share = maker.number(1.0 / 768);
  const auto mean = [&](uint32_t v) {
    return maker.compute("multiply", {maker.reduce(ir::Reduction::sum, v), share});
  };
  const uint32_t centred = maker.compute("subtract", {x, mean(x)});
  const uint32_t variance = mean(maker.compute("square", {centred}));
  const uint32_t inverse =
      maker.compute("rsqrt", {maker.compute("add", {variance, maker.number(1e-5)})});
  const uint32_t result = maker.compute("multiply", {centred, inverse});
  maker.result(maker.compute("multiply", {result, gamma}), {columns, 1});
  return maker.nest;
}
Nest column_sums(Dim rows, Dim columns, DType dtype) {
  Maker maker({rows}, columns, dtype, true);
  maker.result(maker.load({columns, 1}), {0, 1}, ir::Reduction::sum);
  return maker.nest;
}

using Make = Nest (*)(Dim rows, Dim columns, DType dtype);

void run(benchmark::State& bench, Make make, DType dtype) {
  register_all();
  if (!cpu::has_nest_compiler())
    return bench.SkipWithError("this build has no compiler of kernels");
  const int64_t rows = bench.range(0), columns = bench.range(1);
  const Nest nest = make(rows, columns, dtype);
  const Nest* const nests[] = {&nest};
  const CompiledNest code = cpu::compiled_nests(nests)[0];
  const Array x = Array::filled(dtype, {rows * columns}, Element::of(0.3));
  Array out = Array::filled(dtype, {rows * columns}, Element::of(0.0));
  Array scratch = Array::empty(DType::u8, {code.scratch_for(columns) + 64});
  const std::vector<const void*> in(nest.parameters.size(), x.data());
  void* results[] = {out.writable_data()};
  const NestArguments arguments = {in.data(),
                                   results,
                                   nullptr,
                                   0,
                                   nest.outer.empty() ? 1 : rows,
                                   0,
                                   columns,
                                   scratch.writable_data()};
  for (auto _ : bench) {
    code.run(&arguments);
    benchmark::ClobberMemory();
  }
  bench.SetItemsProcessed(bench.iterations() * rows * columns);
}

// Compiles eight kernels that are not in the cache.
void compile_new(benchmark::State& bench, Make make) {
  register_all();
  if (!cpu::has_nest_compiler())
    return bench.SkipWithError("this build has no compiler of kernels");
  set_setting("cache", "off");
  static int64_t columns = 1 << 20;
  for (auto _ : bench) {
    std::vector<Nest> nests;
    for (int i = 0; i < 8; ++i) nests.push_back(make(64, columns += 16, DType::f32));
    std::vector<const Nest*> all;
    for (const Nest& nest : nests) all.push_back(&nest);
    benchmark::DoNotOptimize(cpu::compiled_nests(all));
  }
  bench.SetItemsProcessed(bench.iterations() * 8);
  reset_setting("cache");
}

BENCHMARK_CAPTURE(run, gelu_f32, gelu, DType::f32)->Args({1, 16384});
BENCHMARK_CAPTURE(run, gelu_bf16, gelu, DType::bf16)->Args({1, 16384});
BENCHMARK_CAPTURE(run, gelu_f64, gelu, DType::f64)->Args({1, 16384});
BENCHMARK_CAPTURE(run, softmax_f32, softmax, DType::f32)->Args({64, 197})->Args({64, 256});
BENCHMARK_CAPTURE(run, layer_norm_f32, layer_norm, DType::f32)->Args({64, 768});
BENCHMARK_CAPTURE(run, column_sums_f32, column_sums, DType::f32)->Args({64, 1024});
BENCHMARK_CAPTURE(compile_new, gelu, gelu)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile_new, softmax, softmax)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(compile_new, layer_norm, layer_norm)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plait
