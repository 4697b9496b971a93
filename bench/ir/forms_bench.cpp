// Writing and reading a function of a million instructions, as text and as bytes.
#include <benchmark/benchmark.h>

#include "plait/core/location.h"
#include "plait/ir/builder.h"
#include "plait/ir/text/printer.h"

#include "tests/support/scalar_ops.h"

namespace plait::ir {
namespace {

constexpr int64_t kInstructions = 1'000'000;

enum Names { kNumbers, kLabelsAndLocations };

Program chain(Names names) {
  register_scalar_ops();
  ProgramBuilder program;
  FunctionBuilder f = program.function("main");
  const Dim n = f.size_parameter("n");
  const ValueId x = f.parameter(Type::array(DType::f32, {n, 784}), "x");
  const Primitive& add = primitive("add");
  ValueId y = x;
  for (int64_t i = 0; i < kInstructions; ++i) {
    const ValueId operands[] = {y, x};
    NewInstruction instruction{.primitive = add, .operands = operands};
    if (names == kLabelsAndLocations) instruction.location = Location::of("model.cpp", i % 500);
    y = f.add(instruction);
    if (names == kLabelsAndLocations) f.label(y, fmt::format("value{}", i));
  }
  program.add(f.finish({y}));
  return program.finish();
}

const Program& chain_once(int64_t names) {
  static const Program programs[] = {chain(kNumbers), chain(kLabelsAndLocations)};
  return programs[names];
}

void count(benchmark::State& state, size_t bytes) {
  state.SetItemsProcessed(state.iterations() * kInstructions);
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(bytes));
}

void print_text(benchmark::State& state) {
  const Program& program = chain_once(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(program.text());
  count(state, program.text().size());
}

void parse_text(benchmark::State& state) {
  const std::string text = chain_once(state.range(0)).text();
  for (auto _ : state) benchmark::DoNotOptimize(Program::parse(text));
  count(state, text.size());
}

void write_bytes(benchmark::State& state) {
  const Program& program = chain_once(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(program.bytes());
  count(state, program.bytes().size());
}

void read_bytes(benchmark::State& state) {
  const std::string bytes = chain_once(state.range(0)).bytes();
  for (auto _ : state) benchmark::DoNotOptimize(Program::from_bytes(bytes));
  count(state, bytes.size());
}

// Argument: with numbers only, or with labels and locations.
BENCHMARK(print_text)->Arg(kNumbers)->Arg(kLabelsAndLocations)->Unit(benchmark::kMillisecond);
BENCHMARK(parse_text)->Arg(kNumbers)->Arg(kLabelsAndLocations)->Unit(benchmark::kMillisecond);
BENCHMARK(write_bytes)->Arg(kNumbers)->Arg(kLabelsAndLocations)->Unit(benchmark::kMillisecond);
BENCHMARK(read_bytes)->Arg(kNumbers)->Arg(kLabelsAndLocations)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace plait::ir
