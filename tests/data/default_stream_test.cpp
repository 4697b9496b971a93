// Draws without a key, by datasets and streams of loaders.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/data/loader.h"
#include "plait/data/stream.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/random/random.h"

namespace plait {
namespace {

using namespace data;

Tensor drawn() { return random::randint(Shape{}, 0, 1 << 30); }

// Samples that are drawn without a key.
struct Drawn {
  int64_t count = 0;
  int64_t size() const { return count; }
  Tensor at(int64_t) const { return drawn(); }
};

// The same as a stream, whose reading draws too.
struct DrawnInOrder {
  int64_t count = 0;
  int64_t following = 0;
  Tensor first = {};

  std::optional<Tensor> next() {
    if (following++ >= count) return std::nullopt;
    return first + drawn();
  }
  Tensor finish(const Tensor& raw, const Tensor&) const { return raw + drawn(); }
  std::vector<int64_t> position() const { return {following}; }
  void seek(std::span<const int64_t> position) {
    following = position.empty() ? 0 : position[0];
    first = drawn();
  }
};

// The samples of two epochs, and what the caller draws before and after.
template <class D>
std::vector<std::string> two_epochs(const D& dataset, const LoaderOptions& options) {
  random::seed(5);
  std::vector<std::string> found{drawn().text()};
  const auto collate = [](const std::vector<Tensor>& samples) {
    const Tensor parts[] = {stack(samples), reshape(drawn(), {1})};
    return concat(parts);
  };
  Loader loader(dataset, options, collate);
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const Tensor& batch : loader) found.push_back(batch.text());
  }
  found.push_back(drawn().text());
  return found;
}

template <class D>
void expect_the_same(const D& dataset) {
  const auto expected = two_epochs(dataset, {.batch_size = 4, .seed = 3});
  for (const int workers : {1, 2, 8}) {
    EXPECT_EQ(two_epochs(dataset, {.batch_size = 4, .seed = 3, .workers = workers}), expected);
  }
  EXPECT_NE(two_epochs(dataset, {.batch_size = 4, .seed = 4}), expected);
  random::seed(5);
  (void)drawn();
  EXPECT_EQ(drawn().text(), expected.back());
}

template <class D>
void expect_to_go_on(const D& dataset) {
  Loader loader(dataset, {.batch_size = 4, .seed = 3});
  std::vector<std::string> batches;
  std::vector<LoaderState> states;
  for (const Tensor& batch : loader) {
    batches.push_back(batch.text());
    states.push_back(loader.state());
  }
  for (size_t i = 0; i + 1 < states.size(); ++i) {
    Loader other(dataset, {.batch_size = 4, .workers = 2});
    other.seek(states[i]);
    EXPECT_EQ((*other.begin()).text(), batches[i + 1]);
  }
}

TEST(DefaultStream, OfDatasets) {
  expect_the_same(Drawn{10});
  expect_to_go_on(Drawn{10});
}

TEST(DefaultStream, OfStreams) {
  expect_the_same(DrawnInOrder{10});
  expect_to_go_on(DrawnInOrder{10});
}

TEST(DefaultStream, RepeatedSamplesDrawDifferently) {
  const RandomSampler sampler(1, {.replacement = true, .num_samples = 8});
  Loader loader(Drawn{1}, {.batch_size = 8, .sampler = sampler});
  const Tensor batch = *loader.begin();
  const auto elements = batch.array().elements<int64_t>();
  for (size_t i = 1; i < elements.size(); ++i) EXPECT_NE(elements[i], elements[0]);
}

}  // namespace
}  // namespace plait
