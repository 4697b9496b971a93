#include "plait/cpu/pick.h"

#include <algorithm>
#include <complex>

#include "plait/core/error.h"
#include "plait/core/thread_team.h"
#include "plait/cpu/row_view.h"

namespace plait {
namespace {

constexpr int64_t kWork = 1 << 14;  // elements worth a thread

void expect_within(int64_t index, int64_t size, int64_t axis) {
  if (index >= 0 && index < size) return;
  throw IndexError("index {} along axis {}, which has the size {}", index, axis, size);
}

struct Word16 {
  uint64_t halves[2];
};

template <class Word>
void pick(const Array& x, const Array& indices, int64_t axis, Array& out) {
  const auto* from = reinterpret_cast<const Word*>(x.data());
  auto* to = reinterpret_cast<Word*>(out.writable_data());
  const int64_t* at = indices.elements<int64_t>().data();
  const int64_t size = x.sizes()[static_cast<size_t>(axis)];
  const RowView view(out.sizes(), axis);
  parallel_for(out.element_count(), kWork, [&](int64_t begin, int64_t end) {
    const int64_t block = view.length * view.inner;
    for (int64_t i = begin; i < end;) {
      const int64_t base = i / block * size * view.inner, column = i % view.inner;
      const int64_t count = std::min(end - i, view.inner - column);
      for (int64_t c = 0; c < count; ++c, ++i) {
        expect_within(at[i], size, axis);
        to[i] = from[base + at[i] * view.inner + column + c];
      }
    }
  });
}

// Unsigned integers wrap as signed ones do; narrow floats are added in f32.
template <class T>
T sum_of(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else if constexpr (kIsPackedFloat<T>) {
    return T(static_cast<float>(a) + static_cast<float>(b));
  } else {
    return a + b;
  }
}

template <class T>
void add(const Array& values, const Array& indices, int64_t axis, Array& out) {
  const auto* from = reinterpret_cast<const T*>(values.data());
  auto* to = reinterpret_cast<T*>(out.writable_data());
  const int64_t* at = indices.elements<int64_t>().data();
  const int64_t size = out.sizes()[static_cast<size_t>(axis)];
  const RowView view(values.sizes(), axis);
  const int64_t grain = std::max<int64_t>(kWork / std::max<int64_t>(view.length, 1), 1);
  parallel_for(view.count(), grain, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t base = row / view.inner * size * view.inner + row % view.inner;
      int64_t i = view.offset(row);
      for (int64_t k = 0; k < view.length; ++k, i += view.inner) {
        expect_within(at[i], size, axis);
        T& place = to[base + at[i] * view.inner];
        place = sum_of(place, from[i]);
      }
    }
  });
}

}  // namespace

void pick_along(const Array& x, const Array& indices, int64_t axis, Array& out) {
  if (out.element_count() == 0) return;
  const Array dense = x.contiguous(), places = indices.contiguous();
  switch (x.element_size()) {
    case 1: return pick<uint8_t>(dense, places, axis, out);
    case 2: return pick<uint16_t>(dense, places, axis, out);
    case 4: return pick<uint32_t>(dense, places, axis, out);
    case 8: return pick<uint64_t>(dense, places, axis, out);
    default: return pick<Word16>(dense, places, axis, out);
  }
}

void add_along(const Array& values, const Array& indices, int64_t axis, Array& out) {
  if (values.element_count() == 0) return;
  const Array dense = values.contiguous(), places = indices.contiguous();
  with_element_type(values.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, KeyBits> || std::is_same_v<T, bool>) {
      throw TypeError("add_along: {} cannot be added", name_of(values.dtype()));
    } else {
      add<T>(dense, places, axis, out);
    }
  });
}

}  // namespace plait
