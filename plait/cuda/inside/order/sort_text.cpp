#include "plait/cuda/inside/order/sort_text.h"

#include <fmt/format.h>

#include "plait/cuda/inside/order/key_text.h"

namespace plait::cuda {
namespace {

// Bitonic sort of pairs of a key and a place, which are all distinct, so that it is stable. Rows
// are padded to a power of 2, behind all elements.
constexpr std::string_view kBlockSort = R"(
extern "C" __global__ void __launch_bounds__(1024)
sort_rows(const Key* __restrict__ x, Key* __restrict__ values, i64* __restrict__ indices, i64 rows, int length, int padded,
          int kept, int descending) {
  __shared__ Key keys[2048];
  __shared__ u16 places[2048];
  for (i64 row = blockIdx.x; row < rows; row += gridDim.x) {
    const Key* const elements = x + row * length;
    for (int i = threadIdx.x; i < padded; i += blockDim.x) {
      const Key key = i < length ? key_of(elements[i]) : (Key)0;
      keys[i] = i >= length ? (Key)~(Key)0 : descending ? (Key)~key : key;
      places[i] = (u16)i;
    }
    __syncthreads();
    for (int size = 2; size <= padded; size *= 2) {
      for (int apart = size / 2; apart > 0; apart /= 2) {
        for (int i = threadIdx.x; i < padded / 2; i += blockDim.x) {
          const int low = 2 * i - (i & (apart - 1)), high = low + apart;
          const Key a = keys[low], b = keys[high];
          const u16 place = places[low], other = places[high];
          const bool is_behind = a > b || (a == b && place > other);
          if (is_behind == ((low & size) == 0)) {
            keys[low] = b;
            keys[high] = a;
            places[low] = other;
            places[high] = place;
          }
        }
        __syncthreads();
      }
    }
    for (int i = threadIdx.x; i < kept; i += blockDim.x) {
      if (values) values[row * kept + i] = elements[places[i]];
      if (indices) indices[row * kept + i] = places[i];
    }
    __syncthreads();
  }
}
)";

constexpr std::string_view kSortedValues = R"(
extern "C" __global__ void __launch_bounds__(256)
make_keys(const Key* __restrict__ x, Key* __restrict__ keys, i64 total, int descending) {
  for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < total; i += gridDim.x * 256ll) {
    const Key key = key_of(x[i]);
    keys[i] = descending ? (Key)~key : key;
  }
}

extern "C" __global__ void __launch_bounds__(256)
take_sorted(const Key* __restrict__ x, const Index* __restrict__ order, Key* __restrict__ values, i64* __restrict__ indices,
            i64 rows, i64 length, i64 kept) {
  for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < rows * kept; i += gridDim.x * 256ll) {
    const i64 row = i / kept, place = (i64)order[row * length + i - row * kept];
    values[i] = x[row * length + place];
    if (indices) indices[i] = place;
  }
}
)";

constexpr std::string_view kSearch = R"(
extern "C" __global__ void __launch_bounds__(256)
search_sorted(const Key* __restrict__ sorted, const Key* __restrict__ values, i64* __restrict__ places, i64 total, i64 length,
              i64 each, int behind) {
  for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < total; i += gridDim.x * 256ll) {
    const Key* const row = sorted + i / each * length;
    const Key key = key_of(values[i]);
    i64 begin = 0, end = length;
    while (begin < end) {
      const i64 middle = begin + (end - begin) / 2;
      const Key other = key_of(row[middle]);
      if (other < key || (behind && other == key)) {
        begin = middle + 1;
      } else {
        end = middle;
      }
    }
    places[i] = begin;
  }
}
)";

}  // namespace

std::string block_sort_text(DType dtype) {
  return fmt::format("{}{}", key_text(dtype), kBlockSort);
}

std::string sorted_values_text(DType dtype, int64_t index_bytes) {
  return fmt::format("{}typedef {} Index;\n{}", key_text(dtype), unsigned_name(index_bytes),
                     kSortedValues);
}

std::string search_text(DType dtype) { return fmt::format("{}{}", key_text(dtype), kSearch); }

}  // namespace plait::cuda
