#include "plait/data/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "plait/core/error.h"
#include "plait/data/epoch_plan.h"
#include "plait/data/permutation.h"
#include "plait/data/sample_key.h"
#include "plait/ops/inside/random/philox.h"

namespace plait::data {
namespace {

void expect_count(std::string_view sampler, std::string_view what, int64_t count) {
  if (count < 0) throw ValueError("{}: {} is {}, expected 0 or more", sampler, what, count);
}

void expect_place(std::string_view sampler, int64_t place, int64_t size) {
  if (place >= 0 && place < size) return;
  throw IndexError("{}: the place {} is out of range for an epoch of {} samples", sampler, place,
                   size);
}

std::shared_ptr<const std::vector<int64_t>> expect_indices(std::string_view sampler,
                                                           std::vector<int64_t> indices) {
  for (const int64_t index : indices) expect_count(sampler, "an index", index);
  return std::make_shared<const std::vector<int64_t>>(std::move(indices));
}

// Uniform on [0, count), up to count / 2^64.
int64_t below(int64_t count, uint64_t word) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<int64_t>(static_cast<Wide>(word) * static_cast<uint64_t>(count) >> 64);
}

// Uniform on [0, 1), a multiple of 2^-53.
double unit(uint64_t word) { return static_cast<double>(word >> 11) * 0x1p-53; }

}  // namespace

SequentialSampler::SequentialSampler(int64_t count) : count_(count) {
  expect_count("SequentialSampler", "the count", count);
}
int64_t SequentialSampler::size(int64_t) const { return count_; }
int64_t SequentialSampler::at(int64_t, int64_t place) const {
  expect_place("SequentialSampler", place, count_);
  return place;
}

RandomSampler::RandomSampler(int64_t count, const RandomSamplerOptions& options)
    : count_(count),
      samples_(options.num_samples.value_or(count)),
      seed_(options.seed),
      replacement_(options.replacement) {
  expect_count("RandomSampler", "the count", count);
  expect_count("RandomSampler", "num_samples", samples_);
  if (count == 0 && samples_ > 0) {
    throw ValueError("RandomSampler: {} samples of an empty dataset", samples_);
  }
}
int64_t RandomSampler::size(int64_t) const { return samples_; }
int64_t RandomSampler::at(int64_t epoch, int64_t place) const {
  expect_place("RandomSampler", place, samples_);
  const KeyBits key = order_key(seed_, epoch);
  if (replacement_) return below(count_, stream_word(key, static_cast<uint64_t>(place)));
  const int64_t round = place / count_;
  return Permutation(count_, round == 0 ? key : fold_in(key, round))(place % count_);
}
bool RandomSampler::repeats() const { return replacement_ || samples_ > count_; }

SubsetSampler::SubsetSampler(std::vector<int64_t> indices)
    : indices_(expect_indices("SubsetSampler", std::move(indices))) {}
int64_t SubsetSampler::size(int64_t) const { return static_cast<int64_t>(indices_->size()); }
int64_t SubsetSampler::at(int64_t, int64_t place) const {
  expect_place("SubsetSampler", place, size());
  return (*indices_)[static_cast<size_t>(place)];
}

SubsetRandomSampler::SubsetRandomSampler(std::vector<int64_t> indices, uint64_t seed)
    : indices_(expect_indices("SubsetRandomSampler", std::move(indices))), seed_(seed) {}
int64_t SubsetRandomSampler::size(int64_t) const { return static_cast<int64_t>(indices_->size()); }
int64_t SubsetRandomSampler::at(int64_t epoch, int64_t place) const {
  expect_place("SubsetRandomSampler", place, size());
  const Permutation order(size(), order_key(seed_, epoch));
  return (*indices_)[static_cast<size_t>(order(place))];
}

struct WeightedRandomSampler::Drawn {
  std::mutex mutex;
  int64_t epoch = -1;
  std::shared_ptr<const std::vector<int64_t>> indices;
};

WeightedRandomSampler::WeightedRandomSampler(std::span<const double> weights, int64_t num_samples,
                                             const WeightedSamplerOptions& options)
    : samples_(num_samples), last_(-1), seed_(options.seed) {
  expect_count("WeightedRandomSampler", "num_samples", num_samples);
  std::vector<double> sums;
  sums.reserve(weights.size());
  int64_t positive = 0;
  double sum = 0;
  for (const double weight : weights) {
    sum += weight;
    if (!(weight >= 0) || !std::isfinite(sum)) {
      throw ValueError(
          "WeightedRandomSampler: weight {} is {}, expected 0 or more, with a finite sum",
          sums.size(), weight);
    }
    if (weight > 0) last_ = static_cast<int64_t>(sums.size()), ++positive;
    sums.push_back(sum);
  }
  const int64_t needed = options.replacement ? std::min<int64_t>(1, num_samples) : num_samples;
  if (positive < needed) {
    throw ValueError("WeightedRandomSampler: {} weights are positive, but {} samples are drawn{}",
                     positive, num_samples, options.replacement ? "" : " without replacement");
  }
  if (!options.replacement) {
    drawn_ = std::make_shared<Drawn>();
    sums.assign(weights.begin(), weights.end());
  }
  numbers_ = std::make_shared<const std::vector<double>>(std::move(sums));
}

int64_t WeightedRandomSampler::size(int64_t) const { return samples_; }
bool WeightedRandomSampler::repeats() const { return drawn_ == nullptr; }

int64_t WeightedRandomSampler::at(int64_t epoch, int64_t place) const {
  expect_place("WeightedRandomSampler", place, samples_);
  if (drawn_ == nullptr) {
    const uint64_t word = stream_word(order_key(seed_, epoch), static_cast<uint64_t>(place));
    const auto found = std::ranges::upper_bound(*numbers_, unit(word) * numbers_->back());
    return std::min<int64_t>(found - numbers_->begin(), last_);  // the product may be rounded up
  }
  const std::lock_guard lock(drawn_->mutex);
  if (drawn_->epoch != epoch || !drawn_->indices) {
    drawn_->indices = std::make_shared<const std::vector<int64_t>>(draw(epoch));
    drawn_->epoch = epoch;
  }
  return (*drawn_->indices)[static_cast<size_t>(place)];
}

// An index with weight w gets the time of the first event of a process with rate w. The indices of
// the earliest events are drawn one after another with the right probabilities (Efraimidis and
// Spirakis, "Weighted random sampling with a reservoir", 2006).
std::vector<int64_t> WeightedRandomSampler::draw(int64_t epoch) const {
  const KeyBits key = order_key(seed_, epoch);
  std::vector<std::pair<double, int64_t>> times;
  for (size_t i = 0; i < numbers_->size(); ++i) {
    const double weight = (*numbers_)[i], number = unit(stream_word(key, i));
    if (weight > 0) times.emplace_back(-std::log1p(-number) / weight, static_cast<int64_t>(i));
  }
  std::ranges::partial_sort(times, times.begin() + samples_);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < samples_; ++i) indices.push_back(times[static_cast<size_t>(i)].second);
  return indices;
}

DistributedSampler::DistributedSampler(Sampler sampler, int64_t ranks, int64_t rank, bool drop_last)
    : sampler_(std::move(sampler)), ranks_(ranks), rank_(rank), drop_last_(drop_last) {
  expect_valid({.ranks = ranks, .rank = rank});
}
int64_t DistributedSampler::size(int64_t epoch) const {
  const int64_t all = sampler_.size(epoch);
  return drop_last_ ? all / ranks_ : all / ranks_ + (all % ranks_ != 0 ? 1 : 0);
}
int64_t DistributedSampler::at(int64_t epoch, int64_t place) const {
  expect_place("DistributedSampler", place, size(epoch));
  return sampler_.at(epoch, (place * ranks_ + rank_) % sampler_.size(epoch));
}
bool DistributedSampler::repeats() const { return sampler_.repeats(); }

}  // namespace plait::data
