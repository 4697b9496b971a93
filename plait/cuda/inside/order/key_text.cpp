#include "plait/cuda/inside/order/key_text.h"

#include <fmt/format.h>

namespace plait::cuda {
namespace {

constexpr std::string_view kKeys = R"(
constexpr Key kSign = (Key)((Key)1 << (8 * sizeof(Key) - 1)), kNaN = (Key)~(Key)0;
INLINE Key key_of(Key bits) {
  if (kIsFloat) {
    const Key magnitude = bits & (Key)~kSign;
    if (magnitude > kGreatest) return kNaN;
    if (magnitude == 0) return kSign;
    return (Key)((bits & kSign) != 0 ? ~bits : bits | kSign);
  }
  return kIsSigned ? (Key)(bits ^ kSign) : bits;
}
)";

// The magnitude of ∞, or of the greatest number if the format has none.
uint64_t greatest_magnitude(FloatFormat format) {
  const uint64_t exponent = ((uint64_t{1} << format.exponent_bits) - 1) << format.mantissa_bits;
  const uint64_t mantissa = (uint64_t{1} << format.mantissa_bits) - 1;
  return format.has_infinity ? exponent : (exponent | mantissa) - 1;
}

}  // namespace

bool has_order(DType dtype) { return !is_complex(dtype) && dtype != DType::key; }

const char* unsigned_name(int64_t bytes) {
  return bytes == 1 ? "u8" : bytes == 2 ? "u16" : bytes == 4 ? "u32" : "u64";
}

std::string key_text(DType dtype) {
  const bool is_float = is_floating(dtype);
  return fmt::format(
      "typedef {} Key;\nconstexpr bool kIsFloat = {}, kIsSigned = {};\n"
      "constexpr Key kGreatest = (Key){:#x}ull;\n{}",
      unsigned_name(size_of(dtype)), is_float, is_integer(dtype) && is_signed(dtype),
      is_float ? greatest_magnitude(info_of(dtype).format) : 0, kKeys);
}

}  // namespace plait::cuda
