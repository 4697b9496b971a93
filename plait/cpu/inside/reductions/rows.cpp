#include "plait/cpu/inside/reductions/rows.h"

#include <algorithm>
#include <type_traits>

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/reductions/row_kernels.h"

namespace plait {
namespace {

constexpr int64_t kWork = 1 << 13;  // elements worth a thread

template <class T>
const cpu::RowKernels<T>& kernels() {
  // Entries of levels that the machine does not support stay empty.
  static const auto table = [] {
    std::array<cpu::AllRowKernels, kCpuLevelCount> levels;
    for (size_t i = 0; i <= static_cast<size_t>(best_cpu_level()) - 1; ++i) {
      cpu::kRowKernels[i](levels[i]);
    }
    return levels;
  }();
  const cpu::AllRowKernels& all = table[static_cast<size_t>(cpu_level()) - 1];
  if constexpr (std::is_same_v<T, float>)
    return all.f32;
  else
    return all.f64;
}

// Calls body(std::type_identity<T>, row) for each row.
template <class Body>
void each_row(const Array& x, const Body& body) {
  const int64_t count = x.sizes().back();
  int64_t rows = 1;  // defined also for empty rows
  for (size_t i = 0; i + 1 < x.sizes().size(); ++i) rows *= x.sizes()[i];
  const int64_t grain = std::max<int64_t>(kWork / std::max<int64_t>(count, 1), 1);
  const auto run = [&](auto type) {
    parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) body(type, row);
    });
  };
  if (x.dtype() == DType::f32) return run(std::type_identity<float>());
  if (x.dtype() == DType::f64) return run(std::type_identity<double>());
  throw TypeError("rows of {}, expected f32 or f64", name_of(x.dtype()));
}

template <class T>
const T* row_of(const Array& array, int64_t row, int64_t count) {
  return reinterpret_cast<const T*>(array.data()) + row * count;
}
template <class T>
T* row_of(Array& array, int64_t row, int64_t count) {
  return reinterpret_cast<T*>(array.writable_data()) + row * count;
}

}  // namespace

void softmax_rows(const Array& x, bool masked_is_zero, Array& out) {
  if (x.element_count() == 0) return;
  const Array dense = x.contiguous();
  const int64_t count = x.sizes().back();
  each_row(dense, [&]<class T>(std::type_identity<T>, int64_t row) {
    kernels<T>().softmax(row_of<T>(dense, row, count), row_of<T>(out, row, count), count,
                         masked_is_zero);
  });
}

void log_softmax_rows(const Array& x, Array& out) {
  if (x.element_count() == 0) return;
  const Array dense = x.contiguous();
  const int64_t count = x.sizes().back();
  each_row(dense, [&]<class T>(std::type_identity<T>, int64_t row) {
    kernels<T>().log_softmax(row_of<T>(dense, row, count), row_of<T>(out, row, count), count);
  });
}

void standardize_rows(const Array& x, bool is_centred, double epsilon, Array& out, Array& scale) {
  const Array dense = x.contiguous();
  const int64_t count = x.sizes().back();
  each_row(dense, [&]<class T>(std::type_identity<T>, int64_t row) {
    *row_of<T>(scale, row, 1) = kernels<T>().standardize(
        row_of<T>(dense, row, count), row_of<T>(out, row, count), count, is_centred, epsilon);
  });
}

}  // namespace plait
