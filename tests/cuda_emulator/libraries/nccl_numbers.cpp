// The results of collectives.
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

#include "tests/cuda_emulator/libraries/matmul.h"
#include "tests/cuda_emulator/libraries/nccl_launch.h"

namespace emulator {
namespace {

// Reads and writes elements of a type; floats of 16 bits are computed as float.
template <class T>
struct Elements {
  using Number = T;
  static T load(const char* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
  }
  static void store(char* at, T value) { std::memcpy(at, &value, sizeof value); }
};

template <uint32_t type>
struct NarrowElements {
  using Number = float;
  static float load(const char* at) { return static_cast<float>(loaded_number(at, type)); }
  static void store(char* at, float value) { store_number(at, type, value); }
};

// NCCL's minimum and maximum leave NaN out.
template <class T>
T combined(int op, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = uint64_t;  // integers wrap
    switch (op) {
      case ncclProd: return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
      case ncclMax: return a > b ? a : b;
      case ncclMin: return a < b ? a : b;
      default: return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
    }
  } else {
    switch (op) {
      case ncclProd: return a * b;
      case ncclMax: return std::fmax(a, b);
      case ncclMin: return std::fmin(a, b);
      default: return a + b;
    }
  }
}

// The last rank comes first, and each step is rounded: NCCL promises no order, and adds numbers of
// 16 bits as such.
template <class E>
void reduce(const NcclRecord& record, size_t first, size_t width,
            const std::vector<const char*>& operands, std::vector<char>& result) {
  using T = typename E::Number;
  const auto size = static_cast<T>(operands.size());
  const bool is_average = record.op == ncclAvg, is_float = std::is_floating_point_v<T>;
  for (size_t i = 0; i < record.count; ++i) {
    char* const out = result.data() + i * width;
    for (size_t k = operands.size(); k-- > 0;) {
      T value = E::load(operands[k] + (first + i) * width);
      if (is_average && is_float) value *= 1 / size;
      if (k + 1 < operands.size()) value = combined(record.op, E::load(out), value);
      E::store(out, value);
    }
    if (is_average && !is_float) E::store(out, static_cast<T>(E::load(out) / size));
  }
}

using Reduce = void (*)(const NcclRecord&, size_t, size_t, const std::vector<const char*>&,
                        std::vector<char>&);

Reduce reduction_of(int type) {
  switch (type) {
    case ncclInt8: return reduce<Elements<int8_t>>;
    case ncclUint8: return reduce<Elements<uint8_t>>;
    case ncclInt32: return reduce<Elements<int32_t>>;
    case ncclUint32: return reduce<Elements<uint32_t>>;
    case ncclInt64: return reduce<Elements<int64_t>>;
    case ncclUint64: return reduce<Elements<uint64_t>>;
    case ncclFloat16: return reduce<NarrowElements<CUDA_R_16F>>;
    case ncclFloat32: return reduce<Elements<float>>;
    case ncclFloat64: return reduce<Elements<double>>;
    default: return reduce<NarrowElements<CUDA_R_16BF>>;
  }
}

}  // namespace

size_t bytes_of_nccl_type(int type) {
  constexpr size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return type < 0 || type > ncclBfloat16 ? 0 : kBytes[type];
}

std::vector<char> nccl_result(const NcclOperation& operation, const NcclMember& member,
                              const std::vector<const char*>& operands) {
  const NcclRecord& record = operation.record;
  const size_t width = bytes_of_nccl_type(record.type), bytes = record.count * width;
  std::vector<char> result(out_count(operation, member) * width);
  switch (record.kind) {
    case NcclKind::broadcast:
      std::memcpy(result.data(), operands[static_cast<size_t>(record.root)], bytes);
      break;
    case NcclKind::all_gather:
      for (size_t rank = 0; rank < operands.size(); ++rank) {
        std::memcpy(result.data() + rank * bytes, operands[rank], bytes);
      }
      break;
    default: {
      const bool has_parts = record.kind == NcclKind::reduce_scatter;
      const size_t first = has_parts ? static_cast<size_t>(member.rank) * record.count : 0;
      reduction_of(record.type)(record, first, width, operands, result);
    }
  }
  return result;
}

}  // namespace emulator
