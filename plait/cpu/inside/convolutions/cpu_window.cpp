#include "plait/cpu/inside/convolutions/cpu_window.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <type_traits>

#include "plait/core/error.h"
#include "plait/core/numbers/dtype_set.h"
#include "plait/core/numbers/element.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/elementwise/half_precision.h"

namespace plait {
namespace {

constexpr int64_t kWork = 1 << 14;  // elements worth a thread

// The type of the computation. Integers wrap.
template <class T>
struct ComputedAs {
  using Type = T;
};
template <class T>
  requires std::is_integral_v<T>
struct ComputedAs<T> {
  using Type = std::make_unsigned_t<T>;
};
template <>
struct ComputedAs<bool> {
  using Type = uint8_t;
};
template <>
struct ComputedAs<Float16> {
  using Type = float;
};
template <>
struct ComputedAs<BFloat16> {
  using Type = float;
};
template <>
struct ComputedAs<Float8E4M3> {
  using Type = float;
};
template <>
struct ComputedAs<Float8E5M2> {
  using Type = float;
};
template <class T>
using Computed = typename ComputedAs<T>::Type;

// Three dimensions; missing leading ones have size 1.
using Space = std::array<WindowDimension, 3>;

Space space_of(std::span<const WindowDimension> dimensions) {
  Space space;
  std::ranges::copy(dimensions, space.end() - static_cast<ptrdiff_t>(dimensions.size()));
  return space;
}

int64_t size_of(const Space& space) { return space[0].size * space[1].size * space[2].size; }
int64_t count_of(const Space& space) { return space[0].count * space[1].count * space[2].count; }

// The part of a window that is inside: first, first + step, … before end.
struct Inside {
  int64_t first, end, step;
};

Inside window_at(const WindowDimension& d, int64_t i) {
  if (d.is_even) {
    return {i * d.size / d.count, ((i + 1) * d.size + d.count - 1) / d.count, 1};
  }
  const int64_t begin = i * d.stride - d.padding;
  const int64_t skipped = begin < 0 ? (-begin + d.dilation - 1) / d.dilation : 0;
  return {begin + skipped * d.dilation, std::min(begin + (d.window - 1) * d.dilation + 1, d.size),
          d.dilation};
}

// Calls visit(window, element) for the windows of a row: the elements of each window in ascending
// order and, where possible, the same element of neighbouring windows consecutively.
template <class Visit>
void each_in_row(const WindowDimension& d, const Visit& visit) {
  if (d.is_even) {
    for (int64_t i = 0; i < d.count; ++i) {
      const Inside inside = window_at(d, i);
      for (int64_t at = inside.first; at < inside.end; ++at) visit(i, at);
    }
    return;
  }
  // Skips window elements that are outside for all windows.
  const int64_t before = d.padding - (d.count - 1) * d.stride, behind = d.size - 1 + d.padding;
  const int64_t least = before > 0 ? (before + d.dilation - 1) / d.dilation : 0;
  const int64_t end_inside = behind < 0 ? 0 : behind / d.dilation + 1;
  for (int64_t k = least; k < std::min(d.window, end_inside); ++k) {
    const int64_t shift = k * d.dilation - d.padding;
    const int64_t first = shift < 0 ? (-shift + d.stride - 1) / d.stride : 0;
    const int64_t last = d.size - 1 - shift;
    const int64_t end = last < 0 ? 0 : std::min(d.count, last / d.stride + 1);
    if (d.stride == 1) {
      for (int64_t i = first; i < end; ++i) visit(i, i + shift);
    } else {
      for (int64_t i = first; i < end; ++i) visit(i, i * d.stride + shift);
    }
  }
}

// Calls visit(row of windows, row of elements) for all pairs that overlap, with indices in a plane,
// one row of windows after another.
template <class Begin, class Visit, class End>
void each_pair_of_rows(const Space& space, const Begin& begin, const Visit& visit, const End& end) {
  if (std::ranges::any_of(space, [](const WindowDimension& d) { return d.count == 0; })) return;
  for (int64_t i = 0; i < space[0].count; ++i) {
    for (int64_t j = 0; j < space[1].count; ++j) {
      const Inside outer = window_at(space[0], i), inner = window_at(space[1], j);
      const int64_t windows = i * space[1].count + j;
      begin(windows);
      for (int64_t a = outer.first; a < outer.end; a += outer.step) {
        for (int64_t b = inner.first; b < inner.end; b += inner.step) {
          visit(windows, a * space[1].size + b);
        }
      }
      end(windows);
    }
  }
}

template <class Body>
void each_plane(int64_t planes, int64_t work, const Body& body) {
  const int64_t grain = std::max<int64_t>(kWork / std::max<int64_t>(work, 1), 1);
  parallel_for(planes, grain, [&](int64_t begin, int64_t end) { body(begin, end); });
}

int64_t work_of(const Space& space) {
  int64_t work = count_of(space);
  for (const WindowDimension& d : space) {
    work *= d.is_even ? (d.size + d.count - 1) / std::max<int64_t>(d.count, 1)
                      : std::min(d.window, d.size);
  }
  return work;
}

template <class T>
void sum_planes(const Space& space, int64_t planes, const T* x, T* out) {
  using A = Computed<T>;
  const int64_t width = space[2].count;
  each_plane(planes, work_of(space), [&](int64_t first, int64_t last) {
    const auto sums = std::make_unique<A[]>(static_cast<size_t>(width));
    for (int64_t plane = first; plane < last; ++plane) {
      const T* from = x + plane * size_of(space);
      T* to = out + plane * count_of(space);
      A* sum = sums.get();
      each_pair_of_rows(
          space, [&](int64_t) { std::fill_n(sum, width, A()); },
          [&](int64_t, int64_t row) {
            const T* elements = from + row * space[2].size;
            each_in_row(space[2],
                        [=](int64_t i, int64_t at) { sum[i] += widened_to<A>(elements[at]); });
          },
          [&](int64_t row) {
            for (int64_t i = 0; i < width; ++i) to[row * width + i] = narrowed_to<T>(sum[i]);
          });
    }
  });
}

template <class T>
void spread_planes(const Space& space, int64_t planes, const T* x, T* out) {
  using A = Computed<T>;
  const int64_t width = space[2].count, size = size_of(space);
  each_plane(planes, work_of(space) + size, [&](int64_t first, int64_t last) {
    const auto sums = std::make_unique<A[]>(static_cast<size_t>(size));
    for (int64_t plane = first; plane < last; ++plane) {
      const T* from = x + plane * count_of(space);
      A* sum = sums.get();
      std::fill_n(sum, size, A());
      each_pair_of_rows(
          space, [](int64_t) {},
          [&](int64_t windows, int64_t row) {
            const T* elements = from + windows * width;
            A* sums_of_row = sum + row * space[2].size;
            each_in_row(space[2], [=](int64_t i, int64_t at) {
              sums_of_row[at] += widened_to<A>(elements[i]);
            });
          },
          [](int64_t) {});
      for (int64_t i = 0; i < size; ++i) out[plane * size + i] = narrowed_to<T>(sum[i]);
    }
  });
}

template <class T>
bool is_nan(T value) {
  return value != value;  // NOLINT(misc-redundant-expression)
}

template <class T>
void maximum_planes(const Space& space, int64_t planes, const T* x, int64_t* out) {
  // Comparisons need no conversion, except for narrow floats.
  using A = std::conditional_t<std::is_integral_v<T>, T, Computed<T>>;
  const int64_t width = space[2].count;
  each_plane(planes, work_of(space), [&](int64_t first, int64_t last) {
    const auto greatest = std::make_unique<A[]>(static_cast<size_t>(width));
    for (int64_t plane = first; plane < last; ++plane) {
      const T* from = x + plane * size_of(space);
      int64_t* to = out + plane * count_of(space);
      A* best = greatest.get();
      each_pair_of_rows(
          space, [&](int64_t row) { std::fill_n(to + row * width, width, -1); },
          [&](int64_t windows, int64_t row) {
            const int64_t start = row * space[2].size;
            const T* elements = from + start;
            int64_t* places = to + windows * width;
            each_in_row(space[2], [=](int64_t i, int64_t at) {
              const auto value = widened_to<A>(elements[at]);
              const bool is_first_nan = is_nan(value) && !is_nan(best[i]);
              const bool is_better = places[i] < 0 || value > best[i] || is_first_nan;
              best[i] = is_better ? value : best[i];
              places[i] = is_better ? start + at : places[i];
            });
          },
          [](int64_t) {});
    }
  });
}

// The maximum, or NaN if either is NaN.
template <class A>
A greater_of(A a, A b) {
  return b > a || is_nan(b) ? b : a;
}

// For each row of windows, first the maxima along the columns, then along the row.
template <class T>
void greatest_of_planes(const Space& space, int64_t planes, const T* x, T* out) {
  using A = std::conditional_t<std::is_integral_v<T>, T, Computed<T>>;
  using Limits = std::numeric_limits<A>;
  const A least = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  const int64_t width = space[2].count, length = space[2].size;
  each_plane(planes, work_of(space), [&](int64_t first, int64_t last) {
    const auto columns = std::make_unique<A[]>(static_cast<size_t>(length));
    const auto greatest = std::make_unique<A[]>(static_cast<size_t>(width));
    for (int64_t plane = first; plane < last; ++plane) {
      const T* from = x + plane * size_of(space);
      T* to = out + plane * count_of(space);
      A* above = columns.get();
      A* best = greatest.get();
      each_pair_of_rows(
          space, [&](int64_t) { std::fill_n(above, length, least); },
          [&](int64_t, int64_t row) {
            const T* elements = from + row * length;
            for (int64_t i = 0; i < length; ++i) {
              above[i] = greater_of(above[i], widened_to<A>(elements[i]));
            }
          },
          [&](int64_t row) {
            std::fill_n(best, width, least);
            each_in_row(space[2],
                        [=](int64_t i, int64_t at) { best[i] = greater_of(best[i], above[at]); });
            for (int64_t i = 0; i < width; ++i) to[row * width + i] = narrowed_to<T>(best[i]);
          });
    }
  });
}

// ---- Planes with contiguous elements; the leading dimensions may have any layout.
class Planes {
 public:
  Planes(const Array& array, size_t dimensions) : array_(array) {
    if (!lies_in_rows(dimensions)) array_ = array.contiguous();
    const size_t outer = array_.rank() - dimensions;
    for (size_t i = 0; i < array_.rank(); ++i) {
      if (i < outer)
        count_ *= array_.sizes()[i];
      else
        size_ *= array_.sizes()[i];
    }
    outer_ = outer;
  }

  int64_t count() const { return count_; }
  int64_t size() const { return size_; }
  template <class T>
  const T* at(int64_t plane) const {
    int64_t offset = 0;
    for (size_t i = outer_; i-- > 0;) {
      offset += plane % array_.sizes()[i] * array_.layout().strides[i];
      plane /= array_.sizes()[i];
    }
    return reinterpret_cast<const T*>(array_.data()) + offset;
  }

 private:
  bool lies_in_rows(size_t dimensions) const {
    int64_t stride = 1;
    for (size_t i = array_.rank(); i-- > array_.rank() - dimensions;) {
      if (array_.sizes()[i] != 1 && array_.layout().strides[i] != stride) return false;
      stride *= array_.sizes()[i];
    }
    return true;
  }

  Array array_;
  size_t outer_ = 0;
  int64_t count_ = 1, size_ = 1;
};

int64_t checked(int64_t place, int64_t size) {
  if (place >= -1 && place < size) return place;
  throw IndexError("index {} is out of range for a plane of {} elements", place, size);
}

int64_t plane_count(const Array& array, size_t dimensions) {
  int64_t count = 1;
  for (size_t i = 0; i + dimensions < array.rank(); ++i) count *= array.sizes()[i];
  return count;
}

}  // namespace

void window_sum(const Array& x, std::span<const WindowDimension> dimensions, Array& out) {
  const Array dense = x.contiguous();
  const int64_t planes = plane_count(out, dimensions.size());
  with_element_type(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, KeyBits>) {
      sum_planes(space_of(dimensions), planes, reinterpret_cast<const T*>(dense.data()),
                 reinterpret_cast<T*>(out.writable_data()));
    }
  });
}

void window_spread(const Array& x, std::span<const WindowDimension> dimensions, Array& out) {
  const Array dense = x.contiguous();
  const int64_t planes = plane_count(out, dimensions.size());
  with_element_type(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, KeyBits>) {
      spread_planes(space_of(dimensions), planes, reinterpret_cast<const T*>(dense.data()),
                    reinterpret_cast<T*>(out.writable_data()));
    }
  });
}

void window_maximum(const Array& x, std::span<const WindowDimension> dimensions, Array& out) {
  const Array dense = x.contiguous();
  const int64_t planes = plane_count(out, dimensions.size());
  with_element_type(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (kOrdered.contains(kDTypeOf<T>)) {
      greatest_of_planes(space_of(dimensions), planes, reinterpret_cast<const T*>(dense.data()),
                         reinterpret_cast<T*>(out.writable_data()));
    }
  });
}

void window_maximum_index(const Array& x, std::span<const WindowDimension> dimensions, Array& out) {
  const Array dense = x.contiguous();
  const int64_t planes = plane_count(out, dimensions.size());
  with_element_type(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (kOrdered.contains(kDTypeOf<T>)) {
      maximum_planes(space_of(dimensions), planes, reinterpret_cast<const T*>(dense.data()),
                     out.writable_elements<int64_t>().data());
    }
  });
}

void plane_take(const Array& x, const Array& index, size_t dimensions, Array& out) {
  const Planes from(x, dimensions), places(index, dimensions);
  const int64_t size = places.size();
  with_element_type(x.dtype(), [&]<class T>(std::type_identity<T>) {
    T* to = reinterpret_cast<T*>(out.writable_data());
    each_plane(places.count(), size, [&](int64_t first, int64_t last) {
      for (int64_t plane = first; plane < last; ++plane) {
        const T* elements = from.at<T>(plane);
        const auto* place = places.at<int64_t>(plane);
        for (int64_t i = 0; i < size; ++i) {
          const int64_t at = checked(place[i], from.size());
          to[plane * size + i] = at < 0 ? T() : elements[at];
        }
      }
    });
  });
}

void plane_put(const Array& x, const Array& index, size_t dimensions, Array& out) {
  const Planes from(x, dimensions), places(index, dimensions);
  const int64_t size = places.size();
  const int64_t planes = plane_count(out, dimensions);
  const int64_t whole = planes == 0 ? 0 : out.element_count() / planes;
  with_element_type(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (!std::is_same_v<T, KeyBits>) {
      using A = Computed<T>;
      T* to = reinterpret_cast<T*>(out.writable_data());
      each_plane(planes, size + whole, [&](int64_t first, int64_t last) {
        const auto sums = std::make_unique<A[]>(static_cast<size_t>(whole));
        for (int64_t plane = first; plane < last; ++plane) {
          std::fill_n(sums.get(), whole, A());
          const T* elements = from.at<T>(plane);
          const auto* place = places.at<int64_t>(plane);
          for (int64_t i = 0; i < size; ++i) {
            const int64_t at = checked(place[i], whole);
            if (at >= 0) sums[static_cast<size_t>(at)] += widened_to<A>(elements[i]);
          }
          for (int64_t i = 0; i < whole; ++i) {
            to[plane * whole + i] = narrowed_to<T>(sums[static_cast<size_t>(i)]);
          }
        }
      });
    }
  });
}

}  // namespace plait
