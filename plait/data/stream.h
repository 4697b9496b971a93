// Streams: sources of samples that are read from the beginning to the end, such as lines of a file
// or the members of an archive. A stream is any type with
//
//   std::optional<Sample> next();                       // empty at the end
//   std::vector<int64_t> position() const;              // of the next sample, in a few numbers
//   void seek(std::span<const int64_t> position);       // an empty one is the beginning
//
// A loader reads it on one thread at a time. So that several threads can do the rest of the work,
// a stream may have `Raw next()` and `Sample finish(Raw, const Tensor& key) const`, which is called
// by several threads at a time, also while another one is in next(): mapped(stream, function) does.
#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/core/error.h"
#include "plait/data/dataset.h"

namespace plait::data {

template <class S>
concept Stream = requires(S& stream, const S& fixed, std::span<const int64_t> position) {
  { stream.next().has_value() } -> std::convertible_to<bool>;
  { fixed.position() } -> std::convertible_to<std::vector<int64_t>>;
  stream.seek(position);
};

template <Stream S>
using RawOf = typename decltype(std::declval<S&>().next())::value_type;

template <class S>
concept Finishes = requires(const S& stream, RawOf<S> raw, const Tensor& key) {
  stream.finish(std::move(raw), key);
};

// The second part of the work on a sample; its key is the one of its place.
template <Stream S>
auto finished(const S& stream, RawOf<S> raw, const Tensor& key) {
  if constexpr (Finishes<S>) {
    return stream.finish(std::move(raw), key);
  } else {
    return raw;
  }
}

template <Stream S>
using FinishedOf =
    decltype(finished(std::declval<const S&>(), std::declval<RawOf<S>>(), std::declval<Tensor>()));

// function(sample) or function(sample, key).
template <Stream S, class F>
class MappedStream {
 public:
  MappedStream(S stream, F function) : stream_(std::move(stream)), function_(std::move(function)) {}

  std::optional<RawOf<S>> next() { return stream_.next(); }
  std::vector<int64_t> position() const { return stream_.position(); }
  void seek(std::span<const int64_t> position) { stream_.seek(position); }
  auto finish(RawOf<S> raw, const Tensor& key) const {
    if constexpr (std::invocable<const F&, FinishedOf<S>>) {
      return std::invoke(function_, finished(stream_, std::move(raw), key));
    } else {  // two keys, so that the function does not draw what the stream draws
      const Tensor inner = tensor_of(fold_in(bits_of(key), 0));
      return std::invoke(function_, finished(stream_, std::move(raw), inner), key);
    }
  }

 private:
  S stream_;
  F function_;
};

template <Stream S, class F>
MappedStream<S, F> mapped(S stream, F function) {
  return {std::move(stream), std::move(function)};
}

// Streams of one type, one after another.
template <Stream S>
class ChainDataset {
 public:
  struct Raw {
    size_t stream;
    RawOf<S> raw;
  };

  explicit ChainDataset(std::vector<S> streams) : streams_(std::move(streams)) {}

  std::optional<Raw> next() {
    for (; current_ < streams_.size(); ++current_, is_begun_ = false) {
      if (!is_begun_) streams_[current_].seek({});
      is_begun_ = true;
      if (auto raw = streams_[current_].next()) return Raw{current_, std::move(*raw)};
    }
    return std::nullopt;
  }
  // The number of the stream, then its position.
  std::vector<int64_t> position() const {
    std::vector<int64_t> position{static_cast<int64_t>(current_)};
    if (!is_begun_) return position;
    const std::vector<int64_t> inner = streams_[current_].position();
    position.insert(position.end(), inner.begin(), inner.end());
    return position;
  }
  void seek(std::span<const int64_t> position) {
    const int64_t number = position.empty() ? 0 : position[0];
    if (number < 0 || number > static_cast<int64_t>(streams_.size())) {
      throw ValueError("stream {} of {} does not exist", number, streams_.size());
    }
    current_ = static_cast<size_t>(number);
    is_begun_ = position.size() > 1;
    if (is_begun_ && current_ < streams_.size()) streams_[current_].seek(position.subspan(1));
  }
  auto finish(Raw raw, const Tensor& key) const {
    return finished(streams_[raw.stream], std::move(raw.raw), key);
  }

 private:
  std::vector<S> streams_;
  size_t current_ = 0;
  bool is_begun_ = false;
};

// The samples of a dataset from the first to the last, read as a stream.
template <Dataset D>
  requires(!TakesKey<D>)
class DatasetStream {
 public:
  explicit DatasetStream(D dataset) : dataset_(std::move(dataset)) {}

  std::optional<SampleOf<D>> next() {
    if (next_ >= static_cast<int64_t>(dataset_.size())) return std::nullopt;
    return dataset_.at(next_++);
  }
  std::vector<int64_t> position() const { return {next_}; }
  void seek(std::span<const int64_t> position) {
    next_ = position.empty() ? 0 : position[0];
    if (next_ < 0) throw ValueError("the position of a stream is {}, expected 0 or more", next_);
  }

 private:
  D dataset_;
  int64_t next_ = 0;
};

}  // namespace plait::data
