#include "plait/cpu/inside/convolutions/channel_rows.h"

#include <algorithm>

#include "plait/core/inside/sizes/integer_arithmetic.h"

namespace plait {
namespace {

constexpr int64_t kLanes = kWinogradChannels;

}  // namespace

Images Images::of(Array array) {
  const Sizes &sizes = array.sizes(), &steps = array.layout().strides;
  return {.data = array.writable_data(),
          .dtype = array.dtype(),
          .count = sizes[0],
          .channels = sizes[1],
          .high = sizes[2],
          .wide = sizes[3],
          .image_step = steps[0],
          .channel_step = steps[1],
          .row_step = steps[2],
          .place_step = steps[3]};
}

int64_t Images::blocks() const { return quotient_up(channels, kLanes); }

int64_t Images::channels_of(int64_t block) const {
  return std::min(kLanes, channels - block * kLanes);
}

std::byte* Images::at(int64_t image, int64_t channel, int64_t row) const {
  return data + (image * image_step + channel * channel_step + row * row_step) * size_of(dtype);
}

const ChannelKernels& channel_kernels(DType dtype) {
  const WinogradLevel& level = winograd_level();
  return dtype == DType::bf16 ? level.of_bf16 : level.of_f32;
}

Buffer numbers(int64_t count) { return Buffer::allocate_work(count * int64_t{sizeof(float)}); }

ChannelRows::ChannelRows(const Images& images, int64_t most_rows)
    : images_(images),
      kernels_(channel_kernels(images.dtype)),
      room_(numbers(most_rows * images.wide * kLanes)) {}

// Calls body(array, places of the run, room) for runs of places beside each other: all rows, a
// row, or a place.
template <class Body>
void ChannelRows::each_run(int64_t image, int64_t block, int64_t begin, int64_t end, Body body) {
  const bool is_row = images_.place_step == 1, is_all = is_row && images_.row_step == images_.wide;
  if (is_all && begin < end)
    return body(images_.at(image, block * kLanes, begin), (end - begin) * images_.wide, room_of(0));
  for (int64_t row = begin; row < end; ++row) {
    std::byte* array = images_.at(image, block * kLanes, row);
    float* places = room_of(row - begin);
    if (is_row) {
      body(array, images_.wide, places);
    } else {
      for (int64_t i = 0; i < images_.wide; ++i) {
        body(array + i * images_.place_step * size_of(images_.dtype), 1, places + i * kLanes);
      }
    }
  }
}

void ChannelRows::read(int64_t image, int64_t block, int64_t begin, int64_t end) {
  begin_ = begin;
  end_ = end;
  if (images_.channel_step == 1 && images_.channels_of(block) == kLanes &&
      images_.dtype == DType::f32) {
    from_ = reinterpret_cast<const float*>(images_.at(image, block * kLanes, begin));
    row_step_ = images_.row_step;
    step_ = images_.place_step;
  } else {
    copy(image, block, begin, end);
    from_ = room_of(0);
    row_step_ = images_.wide * kLanes;
    step_ = kLanes;
  }
}

void ChannelRows::copy(int64_t image, int64_t block, int64_t begin, int64_t end) {
  const int64_t channels = images_.channels_of(block);
  each_run(image, block, begin, end, [&](const std::byte* array, int64_t count, float* places) {
    kernels_.gather(array, images_.channel_step, channels, count, places);
  });
}

void ChannelRows::write(int64_t image, int64_t block, int64_t begin, int64_t end) {
  const int64_t channels = images_.channels_of(block);
  each_run(image, block, begin, end, [&](std::byte* array, int64_t count, const float* places) {
    kernels_.scatter(places, count, array, images_.channel_step, channels);
  });
}

}  // namespace plait
