#include "plait/cpu/inside/convolutions/patches.h"

#include <algorithm>
#include <type_traits>

#include "plait/core/numbers/element.h"

namespace plait {
namespace {

using Dimension = ConvolutionShape::Dimension;

// The input position at which element `tap` of the kernel is applied for output position `out`; -1
// if none.
int64_t input_place(const Dimension& d, int64_t tap, int64_t out) {
  const int64_t place = out * d.stride + tap * d.dilation - d.low;
  if (place < 0 || place % d.input_dilation != 0) return -1;
  return place / d.input_dilation < d.in ? place / d.input_dilation : -1;
}

// Calls visit(in, first, at, count) for each run of positions along the last dimension. `at` is the
// beginning of the run in the matrix, and `in` the corresponding row of the input, or null if there
// is none. Element i of the run corresponds to first + i · stride in the dilated input.
template <class T, class Visit>
void visit_runs(const ConvolutionShape& shape, const PatchBlock& block, T* channels,
                const Visit& visit) {
  const auto& [deep, high, wide] = shape.spatial;
  const int64_t taps = shape.taps(), in_places = shape.in_places();
  for (int64_t row = 0; row < block.rows; ++row) {
    const int64_t channel = (block.first_row + row) / taps;
    const int64_t tap = (block.first_row + row) % taps, wide_tap = tap % wide.kernel;
    const int64_t high_tap = tap / wide.kernel % high.kernel;
    const int64_t deep_tap = tap / wide.kernel / high.kernel;
    T* of_channel = channels + channel * in_places;
    for (int64_t at = 0, count = 0; at < block.places; at += count) {
      const int64_t place = block.first_place + at, x = place % wide.out;
      const int64_t y = place / wide.out % high.out, z = place / wide.out / high.out;
      count = std::min(wide.out - x, block.places - at);
      const int64_t in_y = input_place(high, high_tap, y), in_z = input_place(deep, deep_tap, z);
      T* in = in_y < 0 || in_z < 0 ? nullptr : of_channel + (in_z * high.in + in_y) * wide.in;
      const int64_t first = x * wide.stride + wide_tap * wide.dilation - wide.low;
      visit(in, first, row * block.places + at, count);
    }
  }
}

// The elements i of a run of `count` with 0 ≤ first + i · step < size.
struct Span {
  int64_t begin, end;
};
Span inside(int64_t first, int64_t step, int64_t size, int64_t count) {
  const int64_t begin = first >= 0 ? 0 : (-first + step - 1) / step;
  const int64_t end = first >= size ? 0 : (size - first + step - 1) / step;
  return {std::min(begin, count), std::max(std::min(end, count), std::min(begin, count))};
}

template <class Word>
void gather(const ConvolutionShape& shape, const PatchBlock& block, const Word* channels,
            Word* patches) {
  const Dimension wide = shape.spatial[2];
  visit_runs(shape, block, channels, [&](const Word* in, int64_t first, int64_t at, int64_t count) {
    Word* to = patches + at;
    if (in == nullptr) {
      std::fill_n(to, count, Word{});
    } else if (wide.input_dilation != 1) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t place = first + i * wide.stride;
        const bool meets =
            place >= 0 && place % wide.input_dilation == 0 && place / wide.input_dilation < wide.in;
        to[i] = meets ? in[place / wide.input_dilation] : Word{};
      }
    } else {
      const auto [begin, end] = inside(first, wide.stride, wide.in, count);
      std::fill(to, to + begin, Word{});
      if (wide.stride == 1) {
        if (begin < end) std::copy(in + first + begin, in + first + end, to + begin);
      } else {
        for (int64_t i = begin; i < end; ++i) to[i] = in[first + i * wide.stride];
      }
      std::fill(to + end, to + count, Word{});
    }
  });
}

template <class T>
void scatter(const ConvolutionShape& shape, const PatchBlock& block, const T* patches,
             T* channels) {
  const Dimension wide = shape.spatial[2];
  const auto add = [](T& to, const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      to = to || value;
    } else {
      to = static_cast<T>(to + value);
    }
  };
  visit_runs(shape, block, channels, [&](T* in, int64_t first, int64_t at, int64_t count) {
    if (in == nullptr) return;
    const T* from = patches + at;
    const int64_t spread = wide.input_dilation;
    const auto [begin, end] =
        inside(first, wide.stride, wide.in == 0 ? 0 : (wide.in - 1) * spread + 1, count);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t place = first + i * wide.stride;
      if (spread == 1) {
        add(in[place], from[i]);
      } else if (place % spread == 0) {
        add(in[place / spread], from[i]);
      }
    }
  });
}

// Signed integers are added as unsigned ones, which wrap.
template <class T>
auto summed_as() {
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    return std::type_identity<std::make_unsigned_t<T>>{};
  } else {
    return std::type_identity<T>{};
  }
}

}  // namespace

void gather_patches(const ConvolutionShape& shape, const PatchBlock& block,
                    const std::byte* channels, std::byte* patches) {
  const auto as = [&]<class Word>(std::type_identity<Word>) {
    gather(shape, block, reinterpret_cast<const Word*>(channels), reinterpret_cast<Word*>(patches));
  };
  switch (size_of(shape.dtype)) {
    case 1: return as(std::type_identity<uint8_t>{});
    case 2: return as(std::type_identity<uint16_t>{});
    case 4: return as(std::type_identity<uint32_t>{});
    case 8: return as(std::type_identity<uint64_t>{});
    default: return as(std::type_identity<std::complex<double>>{});
  }
}

void scatter_patches(const ConvolutionShape& shape, const PatchBlock& block,
                     const std::byte* patches, std::byte* channels) {
  with_element_type(shape.dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (!kIsPackedFloat<T> && !std::is_same_v<T, KeyBits>) {
      using Summed = typename decltype(summed_as<T>())::type;
      scatter(shape, block, reinterpret_cast<const Summed*>(patches),
              reinterpret_cast<Summed*>(channels));
    }
  });
}

}  // namespace plait
