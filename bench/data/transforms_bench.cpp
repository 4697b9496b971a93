// Speed of transforms of images of 500 × 375 bytes, on one thread. transforms_bench.py has them
// beside torchvision's.
#include <benchmark/benchmark.h>

#include "plait/data/transforms/image_transforms.h"
#include "plait/ops/random/random.h"

namespace plait::data::transforms {
namespace {

const std::vector<double> kMean = {0.485, 0.456, 0.406}, kStd = {0.229, 0.224, 0.225};

// Planes, or as decoders leave them, with the channels of a pixel adjacent.
Tensor picture(bool is_interleaved) {
  const Tensor key = random::key(0);
  return is_interleaved ? to_image(random::bits(key, {375, 500, 3}, DType::u8))
                        : random::bits(key, {3, 375, 500}, DType::u8);
}

void run(benchmark::State& state, const Compose& transform) {
  const Tensor image = picture(state.range(0) == 1);
  const DrawKey key(random::key(1));
  int64_t number = 0;
  for (auto _ : state) benchmark::DoNotOptimize(transform(image, key.part(number++)).identity());
  state.SetItemsProcessed(state.iterations());
}

void random_resized_crop_to_floats(benchmark::State& state) {
  run(state, Compose({RandomResizedCrop{{224, 224}}, RandomHorizontalFlip{},
                      ToDtype{DType::f32, true}, Normalize{kMean, kStd}}));
}
BENCHMARK(random_resized_crop_to_floats)->Arg(0)->Arg(1);

void random_resized_crop(benchmark::State& state) {
  run(state, Compose({RandomResizedCrop{{224, 224}}}));
}
BENCHMARK(random_resized_crop)->Arg(0)->Arg(1);

void crop_to_floats(benchmark::State& state) {
  run(state, Compose({RandomCrop{{224, 224}}, RandomHorizontalFlip{}, ToDtype{DType::f32, true},
                      Normalize{kMean, kStd}}));
}
BENCHMARK(crop_to_floats)->Arg(0)->Arg(1);

void color_jitter(benchmark::State& state) {
  run(state, Compose({CenterCrop{{224, 224}}, ColorJitter{Range{0.6, 1.4}, Range{0.6, 1.4},
                                                          Range{0.6, 1.4}, Range{-0.1, 0.1}}}));
}
BENCHMARK(color_jitter)->Arg(0)->Arg(1);

}  // namespace
}  // namespace plait::data::transforms
