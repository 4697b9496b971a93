// Loaders: batches of a dataset, made by threads ahead of the computation.
//
//   data::TensorDataset dataset(images, labels);
//   data::Loader loader(dataset, {.batch_size = 32, .shuffle = true, .workers = 2});
//   for (int epoch = 0; epoch < 3; ++epoch) {
//     for (const auto& [x, y] : loader) step(x, y);
//   }
//
// A batch is a function of the seed, the epoch and its place in the epoch alone, so it is the same
// for any number of workers. state() has these numbers, and seek(state) goes on there: on any
// number of ranks, each of which has a loader.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/data/dataset.h"
#include "plait/data/loader_core.h"
#include "plait/data/loader_run.h"
#include "plait/data/sampler.h"
#include "plait/data/stream.h"
#include "plait/data/stream_run.h"

namespace plait::data {

// A batch that was filled up to the batch size: rows where the mask is false are copies of another
// sample, and are not part of the data.
template <class Batch>
struct Padded {
  Batch batch;
  Tensor mask;  // bool[batch size]
};

// One pass over the batches of an epoch, for a range-based for.
template <class Batch>
class BatchRange {
 public:
  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;

    Iterator() = default;
    explicit Iterator(LoaderCore* core) : core_(core) { ++*this; }
    Batch& operator*() const { return *static_cast<Batch*>(batch_.get()); }
    Iterator& operator++() {
      batch_ = nullptr;
      batch_ = core_->next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return batch_ == nullptr; }

   private:
    LoaderCore* core_ = nullptr;
    std::shared_ptr<void> batch_ = nullptr;
  };

  explicit BatchRange(LoaderCore* core) : core_(core) {}
  Iterator begin() { return Iterator(core_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  LoaderCore* core_;
};

template <class D, class Collate = Stack>
  requires(Dataset<D> || Stream<D>)
class Loader {
 public:
  using Batch = BatchOf<D, Collate>;

  // ValueError for options that are not possible. `collate` is called with the vector of the
  // samples of a batch, by several threads; by default they are stacked.
  explicit Loader(D dataset, const LoaderOptions& options = {}, Collate collate = {})
      : parts_(std::make_shared<LoaderParts<D, Collate>>(std::move(dataset), std::move(collate))),
        core_(std::make_unique<LoaderCore>(options, Stream<D>)) {}

  // Begins the next epoch, or goes on at the place of seek().
  auto begin() { return epoch<false>().begin(); }
  std::default_sentinel_t end() const { return {}; }
  // The same with all batches filled up to the batch size: `for (auto& [batch, mask] : …)`.
  BatchRange<Padded<Batch>> padded() { return epoch<true>(); }

  // The number of batches of a whole epoch, by default of the next one. ValueError for a stream.
  int64_t size() const
    requires Dataset<D>
  {
    const LoaderState& now = state();
    return core_->batch_count(sampler(now).size(now.epoch));
  }

  // After the last batch that was returned. In the body of a loop over batches that includes the
  // current one.
  const LoaderState& state() const { return core_->state(); }
  // ValueError if the state is of a dataset of another size, or of batches that this loader does
  // not have; nothing changes then. So for a state within an epoch of a loader that is not
  // in_order, if batch size, ranks or rank differ: each rank is at another place.
  void seek(const LoaderState& state) {
    core_->expect_division(state);
    (void)run(state, false);
    core_->seek(state);
  }

 private:
  template <bool pads>
  auto epoch() {
    core_->begin(run(core_->following(), pads));
    return BatchRange<std::conditional_t<pads, Padded<Batch>, Batch>>(core_.get());
  }
  Sampler sampler(const LoaderState& state) const
    requires Dataset<D>
  {
    return core_->sampler(static_cast<int64_t>(parts_->data.size()), state.seed);
  }
  std::shared_ptr<LoaderRun> run(const LoaderState& state, bool pads) const {
    if constexpr (Dataset<D>) {
      return std::make_shared<DatasetRun<D, Collate>>(parts_, core_->options(), sampler(state),
                                                      state, pads);
    } else {
      return std::make_shared<StreamRun<D, Collate>>(parts_, core_->options(), state, pads);
    }
  }

  std::shared_ptr<LoaderParts<D, Collate>> parts_;
  std::unique_ptr<LoaderCore> core_;
};

}  // namespace plait::data
