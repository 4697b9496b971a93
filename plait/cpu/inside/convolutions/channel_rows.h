// Rows of images as places of kWinogradChannels numbers of f32, one of each channel.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plait/cpu/inside/convolutions/winograd_kernels.h"
#include "plait/tensor/memory/array.h"
#include "plait/tensor/memory/buffer.h"

namespace plait {

// Images of one array, [images][channels][high][wide] of f32 or bf16, and blocks of its channels.
// Steps are in elements.
struct Images {
  std::byte* data;
  DType dtype;
  int64_t count, channels, high, wide;
  int64_t image_step, channel_step, row_step, place_step;

  static Images of(Array array);
  int64_t blocks() const;
  int64_t channels_of(int64_t block) const;
  std::byte* at(int64_t image, int64_t channel, int64_t row) const;
};

const ChannelKernels& channel_kernels(DType dtype);

// Memory for so many numbers.
Buffer numbers(int64_t count);
inline float* data_of(const Buffer& numbers) { return reinterpret_cast<float*>(numbers.data()); }

// Rows of one block of channels: copied to a room, or in the array if the channels of a place are
// contiguous there.
class ChannelRows {
 public:
  ChannelRows(const Images& images, int64_t most_rows);

  // Rows begin to end, in place if possible.
  void read(int64_t image, int64_t block, int64_t begin, int64_t end);
  // Row i of those that were read; null if it is not one of them. Its places have distance step().
  const float* row(int64_t i) const {
    return i < begin_ || i >= end_ ? nullptr : from_ + (i - begin_) * row_step_;
  }
  int64_t step() const { return step_; }

  // Rows begin to end, to the first rows of the room, and back.
  void copy(int64_t image, int64_t block, int64_t begin, int64_t end);
  void write(int64_t image, int64_t block, int64_t begin, int64_t end);
  float* room_of(int64_t row) { return data_of(room_) + row * images_.wide * kWinogradChannels; }

 private:
  template <class Body>
  void each_run(int64_t image, int64_t block, int64_t begin, int64_t end, Body body);

  const Images& images_;
  const ChannelKernels& kernels_;
  const Buffer room_;
  int64_t begin_ = 0, end_ = 0, row_step_ = 0, step_ = 0;
  const float* from_ = nullptr;
};

}  // namespace plait
