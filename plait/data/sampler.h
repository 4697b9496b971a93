// Samplers: the order in which an epoch visits the samples. Each is a value that computes the index
// at any place of any epoch, so nothing is lost or repeated when a run continues in between.
//
//   const data::RandomSampler sampler(1'000'000, {.seed = 7});
//   sampler.at(3, 500);    // the sample at place 500 of epoch 3
//
// A sampler of your own is any type with size(epoch) and at(epoch, place), which may be called by
// several threads. If an index may occur several times in an epoch, define `bool repeats() const`,
// so that each occurrence gets a random key of its own.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace plait::data {

template <class T>
concept SamplerLike = requires(const T& sampler, int64_t epoch, int64_t place) {
  { sampler.size(epoch) } -> std::convertible_to<int64_t>;
  { sampler.at(epoch, place) } -> std::convertible_to<int64_t>;
};

// Any sampler. Copies share it.
class Sampler {
 public:
  template <SamplerLike T>
    requires(!std::same_as<T, Sampler>)
  Sampler(T sampler)  // NOLINT(google-explicit-constructor): any sampler is one
      : sampler_(std::make_shared<const Of<T>>(std::move(sampler))) {}

  int64_t size(int64_t epoch = 0) const { return sampler_->size(epoch); }
  int64_t at(int64_t epoch, int64_t place) const { return sampler_->at(epoch, place); }
  bool repeats() const { return sampler_->repeats(); }

 private:
  struct Any {
    virtual ~Any() = default;
    virtual int64_t size(int64_t epoch) const = 0;
    virtual int64_t at(int64_t epoch, int64_t place) const = 0;
    virtual bool repeats() const = 0;
  };
  template <class T>
  struct Of final : Any {
    explicit Of(T given) : sampler(std::move(given)) {}
    int64_t size(int64_t epoch) const override { return sampler.size(epoch); }
    int64_t at(int64_t epoch, int64_t place) const override { return sampler.at(epoch, place); }
    bool repeats() const override {
      if constexpr (requires { sampler.repeats(); }) return sampler.repeats();
      return false;
    }
    T sampler;
  };

  std::shared_ptr<const Any> sampler_;
};

// 0, 1, …, count - 1.
class SequentialSampler {
 public:
  explicit SequentialSampler(int64_t count);
  int64_t size(int64_t epoch = 0) const;
  int64_t at(int64_t epoch, int64_t place) const;

 private:
  int64_t count_;
};

struct RandomSamplerOptions {
  uint64_t seed = 0;
  bool replacement = false;                 // each index is drawn independently
  std::optional<int64_t> num_samples = {};  // length of an epoch; by default as many as indices
};
// 0, 1, …, count - 1 in another random order in each epoch. If an epoch has more samples than
// there are indices, each order is followed by another one.
class RandomSampler {
 public:
  explicit RandomSampler(int64_t count, const RandomSamplerOptions& options = {});
  int64_t size(int64_t epoch = 0) const;
  int64_t at(int64_t epoch, int64_t place) const;
  bool repeats() const;

 private:
  int64_t count_, samples_;
  uint64_t seed_;
  bool replacement_;
};

// These indices, in this order.
class SubsetSampler {
 public:
  explicit SubsetSampler(std::vector<int64_t> indices);
  int64_t size(int64_t epoch = 0) const;
  int64_t at(int64_t epoch, int64_t place) const;

 private:
  std::shared_ptr<const std::vector<int64_t>> indices_;
};

// These indices, in another random order in each epoch.
class SubsetRandomSampler {
 public:
  explicit SubsetRandomSampler(std::vector<int64_t> indices, uint64_t seed = 0);
  int64_t size(int64_t epoch = 0) const;
  int64_t at(int64_t epoch, int64_t place) const;

 private:
  std::shared_ptr<const std::vector<int64_t>> indices_;
  uint64_t seed_;
};

struct WeightedSamplerOptions {
  uint64_t seed = 0;
  bool replacement = true;
};
// `num_samples` indices, with probabilities proportional to the weights. Without replacement an
// epoch is drawn when its first index is requested, and kept until another one is.
class WeightedRandomSampler {
 public:
  // ValueError for a negative or infinite weight, if all are 0, and if fewer than `num_samples` are
  // positive without replacement.
  WeightedRandomSampler(std::span<const double> weights, int64_t num_samples,
                        const WeightedSamplerOptions& options = {});
  int64_t size(int64_t epoch = 0) const;
  int64_t at(int64_t epoch, int64_t place) const;
  bool repeats() const;

 private:
  struct Drawn;

  std::vector<int64_t> draw(int64_t epoch) const;

  // The sums of the weights up to each, including it; without replacement the weights themselves.
  std::shared_ptr<const std::vector<double>> numbers_;
  int64_t samples_, last_;  // the last index with a positive weight
  uint64_t seed_;
  std::shared_ptr<Drawn> drawn_;  // null with replacement
};

// Every `ranks`-th place of another sampler, as PyTorch's: each rank has the same number of
// samples, so the last ones are dropped, or the first ones are repeated. LoaderOptions::ranks does
// neither.
class DistributedSampler {
 public:
  DistributedSampler(Sampler sampler, int64_t ranks, int64_t rank, bool drop_last = false);
  int64_t size(int64_t epoch = 0) const;
  int64_t at(int64_t epoch, int64_t place) const;
  bool repeats() const;

 private:
  Sampler sampler_;
  int64_t ranks_, rank_;
  bool drop_last_;
};

}  // namespace plait::data
