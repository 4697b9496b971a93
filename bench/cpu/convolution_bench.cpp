// Convolutions of typical image models, and their gradients.
#include <benchmark/benchmark.h>

#include "plait/cpu/inside/convolutions/cpu_convolution.h"

namespace plait {
namespace {

enum class Kind { forward, input_gradient, weight_gradient };

struct Layer {
  const char* name;
  Sizes x, w;
  ConvolutionGeometry geometry;
};

Array ones(DType dtype, const Sizes& sizes) {
  return Array::filled(dtype, sizes, Element::of(1.0));
}

void run(benchmark::State& bench, const Layer& layer, DType dtype, Kind kind) {
  Array x = ones(dtype, layer.x), w = ones(dtype, layer.w);
  Array out = ones(dtype, convolution_sizes(layer.x, layer.w, layer.geometry));
  const auto once = [&] {
    switch (kind) {
      case Kind::forward: return convolution(x, w, layer.geometry, out);
      case Kind::input_gradient: return convolution_input_gradient(out, w, layer.geometry, x);
      case Kind::weight_gradient: return convolution_weight_gradient(x, out, layer.geometry, w);
    }
  };
  once();
  for (auto _ : bench) once();
  const double operations = 2e-9 * static_cast<double>(out.element_count() * w.element_count()) /
                            static_cast<double>(w.sizes()[0]);
  bench.counters["GFLOP/s"] =
      benchmark::Counter(operations, benchmark::Counter::kIsIterationInvariantRate);
}

[[maybe_unused]] const bool registered = [] {
  static const Layer layers[] = {
      {"3x3_64", {8, 64, 56, 56}, {64, 64, 3, 3}, {{}, {1, 1}, {1, 1}}},
      {"3x3_512", {8, 512, 7, 7}, {512, 512, 3, 3}, {{}, {1, 1}, {1, 1}}},
      {"stem_7x7", {8, 3, 224, 224}, {64, 3, 7, 7}, {{2, 2}, {3, 3}, {3, 3}}},
      {"patches_16x16", {8, 3, 224, 224}, {768, 3, 16, 16}, {{16, 16}}},
      {"depthwise", {8, 128, 28, 28}, {128, 1, 3, 3}, {{}, {1, 1}, {1, 1}, {}, {}, 128}},
      {"tiny", {1, 4, 8, 8}, {4, 4, 3, 3}, {{}, {1, 1}, {1, 1}}}};
  for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
    for (const Layer& layer : layers) {
      for (const auto& [kind_name, kind] : {std::pair("forward", Kind::forward),
                                            {"input_gradient", Kind::input_gradient},
                                            {"weight_gradient", Kind::weight_gradient}}) {
        const std::string name = std::string(name_of(dtype)) + "/" + layer.name + "/" + kind_name;
        benchmark::RegisterBenchmark(name.c_str(), [&layer, dtype, kind = kind](auto& bench) {
          run(bench, layer, dtype, kind);
        })->UseRealTime();
      }
    }
  }
  return true;
}();

}  // namespace
}  // namespace plait
