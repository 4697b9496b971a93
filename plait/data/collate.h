// Batches from samples. A sample is a tree of tensors (plait/core/trees/tree.h); its batch is a
// tree of the same type, whose tensors have the samples along a new first axis.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "plait/core/trees/tree.h"
#include "plait/data/constant_array.h"
#include "plait/tensor/tensor.h"

namespace plait::data {

// A tensor of a batch, into whose memory its rows are copied. It is where the array is that it
// begins with.
class RowBuffer {
 public:
  RowBuffer(const Array& like, int64_t rows);  // each row is like that array
  // ShapeError if the array has other sizes or another dtype.
  void put(int64_t row, const Array& array);
  void repeat_first(int64_t from_row);  // into all rows from this one on
  Tensor finish(int64_t rows) &&;       // the first rows

 private:
  Array batch_;
};

// ValueError that names the first difference of two samples.
void expect_same_structure(const TreeKey& first, const TreeKey& other);
[[noreturn]] void refuse_no_samples();

// Stacks samples one by one.
template <class Sample>
class BatchBuilder {
 public:
  explicit BatchBuilder(int64_t rows) : rows_(rows) {}

  // The first call must be for row 0.
  void put(int64_t row, const Sample& sample) {
    if (!like_) begin(sample);
    size_t next = 0;
    const TreeKey key = key_of<Tensor>(sample, [&](const Tensor& leaf) {
      if (next < buffers_.size()) arrays_[next] = &constant_array("a batch", leaf);
      ++next;
    });
    expect_same_structure(key_, key);
    for (size_t i = 0; i < buffers_.size(); ++i) buffers_[i].put(row, *arrays_[i]);
  }
  // The rows from `from_row` on become copies of the first.
  void repeat_first(int64_t from_row) {
    for (RowBuffer& buffer : buffers_) buffer.repeat_first(from_row);
  }
  Sample finish() && { return std::move(*this).finish(rows_); }
  Sample finish(int64_t rows) && {
    std::vector<Tensor> tensors;
    for (RowBuffer& buffer : buffers_) tensors.push_back(std::move(buffer).finish(rows));
    return with_tensors(std::move(*like_), std::span<const Tensor>(tensors));
  }

 private:
  void begin(const Sample& sample) {
    for_each_tensor(sample,
                    [&](const Tensor& leaf) { buffers_.emplace_back(leaf.array(), rows_); });
    arrays_.resize(buffers_.size());
    key_ = key_of(sample);
    like_ = without_tensors(sample);
  }

  int64_t rows_;
  std::optional<Sample> like_;
  TreeKey key_;
  std::vector<RowBuffer> buffers_;
  std::vector<const Array*> arrays_;
};

// The samples along a new first axis. ShapeError if their sizes differ, ValueError if there are
// none, or if they differ in anything that is not a tensor.
template <class Sample>
Sample stacked(std::span<const Sample> samples) {
  if (samples.empty()) refuse_no_samples();
  BatchBuilder<Sample> builder(static_cast<int64_t>(samples.size()));
  for (size_t i = 0; i < samples.size(); ++i) builder.put(static_cast<int64_t>(i), samples[i]);
  return std::move(builder).finish();
}
template <class Sample>
Sample stacked(const std::vector<Sample>& samples) {
  return stacked(std::span<const Sample>(samples));
}

enum class PaddingSide : uint8_t { right, left };
struct PadSequenceOptions {
  bool batch_first = false;  // [batch, time, …] instead of [time, batch, …]
  double padding_value = 0;
  PaddingSide padding_side = PaddingSide::right;
};
// Sequences of different lengths, which are their first sizes, in one tensor.
Tensor pad_sequence(std::span<const Tensor> sequences, const PadSequenceOptions& options = {});

}  // namespace plait::data
