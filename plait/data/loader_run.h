// How the batches of a dataset or of a stream are made. Used by loader.h.
#pragma once

#include <concepts>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/core/error.h"
#include "plait/data/collate.h"
#include "plait/data/dataset.h"
#include "plait/data/loader_core.h"
#include "plait/data/sample_key.h"
#include "plait/data/sampler.h"
#include "plait/data/stream.h"
#include "plait/ops/random/stream_scope.h"

namespace plait::data {

template <class Batch>
struct Padded;

// Stands for BatchBuilder, which needs no vector of the samples.
struct Stack {};

template <class D>
struct SampleOfSource;
template <Dataset D>
struct SampleOfSource<D> {
  using Type = SampleOf<D>;
};
template <Stream D>
struct SampleOfSource<D> {
  using Type = FinishedOf<D>;
};

template <class Sample, class Collate>
struct BatchOfSamples {
  using Type = std::decay_t<std::invoke_result_t<const Collate&, std::vector<Sample>>>;
};
template <class Sample>
struct BatchOfSamples<Sample, Stack> {
  using Type = Sample;
};
template <class D, class Collate>
using BatchOf = typename BatchOfSamples<typename SampleOfSource<D>::Type, Collate>::Type;

// The dataset, or the stream, whose runs never overlap.
template <class D, class Collate>
struct LoaderParts {
  LoaderParts(D given, Collate function) : data(std::move(given)), collate(std::move(function)) {}
  D data;
  Collate collate;
};

// Throws the exception that is handled now, with the name of the sample in its message. A
// std::exception becomes a ValueError, in which it is nested; std::bad_alloc and what is not
// a std::exception stay as they are.
[[noreturn]] void rethrow_with_sample(int64_t sample);
Tensor mask_of(int64_t samples, int64_t rows);

// The shape of a batch: the places of its samples, and its rows, which are more if it is padded. A
// batch without samples is like the one at place `like`.
struct BatchShape {
  Places places;
  int64_t rows;
  int64_t like;
};

// The batch of the samples sample_at_row(0), …, which has the type that a loader returns.
template <class D, class Collate, class SampleAtRow>
std::shared_ptr<void> made_batch(const Collate& collate, const BatchShape& shape, bool pads,
                                 const SampleAtRow& sample_at_row) {
  using Sample = typename SampleOfSource<D>::Type;
  using Batch = BatchOf<D, Collate>;
  const int64_t samples = shape.places.count(), rows = shape.rows;
  std::optional<Batch> batch;
  if constexpr (std::same_as<Collate, Stack>) {
    BatchBuilder<Sample> builder(std::max<int64_t>(rows, 1));
    for (int64_t row = 0; row < std::max<int64_t>(samples, 1); ++row) {
      sample_at_row(row, [&](const Sample& sample) { builder.put(row, sample); });
    }
    if (pads) builder.repeat_first(samples);
    batch = std::move(builder).finish(rows);
  } else {
    std::vector<Sample> list;
    for (int64_t row = 0; row < samples; ++row) {
      sample_at_row(row, [&](Sample sample) { list.push_back(std::move(sample)); });
    }
    if (samples == 0 && pads) {
      sample_at_row(0, [&](Sample sample) { list.push_back(std::move(sample)); });
    }
    while (pads && static_cast<int64_t>(list.size()) < rows) list.push_back(list.front());
    batch = collate(std::move(list));
  }
  if (!pads) return std::make_shared<Batch>(std::move(*batch));
  return std::make_shared<Padded<Batch>>(
      Padded<Batch>{std::move(*batch), mask_of(samples, shape.rows)});
}

// The batches of an epoch of known size.
class PlannedRun : public LoaderRun {
 public:
  PlannedRun(const LoaderOptions& options, const Sampler& sampler, const LoaderState& state,
             bool pads);

  int64_t count() const final { return plan_.count(); }
  int64_t epoch_size() const final { return size_; }
  bool is_by_samples() const final { return !first_pieces_.empty(); }
  int64_t first_piece(int64_t batch) const final;
  std::shared_ptr<void> make(int64_t piece) final;
  MadeBatch join(int64_t batch, std::vector<MadePiece> pieces) final;

 protected:
  bool pads() const { return pads_; }
  int64_t index_at(int64_t place) const { return sampler_.at(epoch_, place); }
  KeyBits key_at(int64_t place, int64_t index) const;
  KeyBits stream_key_of(const BatchShape& shape) const;  // for the collation

 private:
  BatchShape shape_of(int64_t batch) const;
  virtual std::shared_ptr<void> made(const BatchShape& shape) const = 0;
  virtual std::shared_ptr<void> sample(int64_t place) const = 0;
  virtual std::shared_ptr<void> joined(const BatchShape& shape,
                                       std::vector<MadePiece> samples) const = 0;

  Sampler sampler_;
  KeyBits key_;  // key of the epoch
  int64_t epoch_, size_, batch_size_;
  EpochPlan plan_;
  bool pads_;
  std::vector<int64_t> first_pieces_;  // by samples: of each batch, and the number of all
};

template <class D, class Collate>
class DatasetRun final : public PlannedRun {
 public:
  using Parts = LoaderParts<D, Collate>;
  using Sample = SampleOf<D>;

  DatasetRun(std::shared_ptr<const Parts> parts, const LoaderOptions& options,
             const Sampler& sampler, const LoaderState& state, bool pads)
      : PlannedRun(options, sampler, state, pads), parts_(std::move(parts)) {}

 private:
  // Passes the sample at a place on, and names it in errors.
  template <class Use>
  void with_sample(int64_t place, const Use& use) const {
    const int64_t index = index_at(place);
    const KeyBits key = key_at(place, index);
    const random::StreamScope stream(stream_key(key, StreamOf::sample));
    try {
      if constexpr (TakesKey<D>) {
        use(parts_->data.at(index, tensor_of(key)));
      } else {
        use(parts_->data.at(index));
      }
    } catch (...) {
      rethrow_with_sample(index);
    }
  }

  std::shared_ptr<void> made(const BatchShape& shape) const override {
    const random::StreamScope stream(stream_key_of(shape));
    return made_batch<D>(parts_->collate, shape, pads(), [&](int64_t row, const auto& use) {
      with_sample(shape.places.count() == 0 ? shape.like : shape.places.begin + row, use);
    });
  }
  std::shared_ptr<void> sample(int64_t place) const override {
    std::shared_ptr<void> result;
    with_sample(place,
                [&](Sample sample) { result = std::make_shared<Sample>(std::move(sample)); });
    return result;
  }
  std::shared_ptr<void> joined(const BatchShape& shape,
                               std::vector<MadePiece> samples) const override {
    const random::StreamScope stream(stream_key_of(shape));
    return made_batch<D>(parts_->collate, shape, pads(), [&](int64_t row, const auto& use) {
      const auto& sample =
          *static_cast<const Sample*>(samples[static_cast<size_t>(row)].value.get());
      try {
        use(sample);
      } catch (...) {
        rethrow_with_sample(index_at(shape.places.begin + row));
      }
    });
  }

  std::shared_ptr<const Parts> parts_;
};

}  // namespace plait::data
