// Conversions between narrow floats and f32, branch-free, so that the compiler vectorises the
// loops.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/cpu/inside/elementwise/narrow_floats.cpp"
#include <bit>

#include "plait/cpu/inside/elementwise/dense_loops.inl"
#include "plait/cpu/inside/elementwise/half_precision.h"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {
namespace {

constexpr uint32_t kSign32 = 0x80000000, kInfinity32 = 0x7f800000;

// The bits of 2^exponent as an f32.
constexpr uint32_t power_of_two(int exponent) {
  return static_cast<uint32_t>(exponent + 127) << 23;
}

template <FloatFormat format>
struct Codes {
  static constexpr int kDropped = 23 - format.mantissa_bits;
  static constexpr int kBits = 1 + format.exponent_bits + format.mantissa_bits;
  static constexpr uint32_t kMagnitudes = (1u << (kBits - 1)) - 1;
  static constexpr uint32_t kMantissas = (1u << format.mantissa_bits) - 1;
  // The code after the largest finite number: infinity, or NaN if the format has no infinity.
  static constexpr uint32_t kPastMax =
      format.has_infinity ? kMagnitudes & ~kMantissas : kMagnitudes;
};

template <FloatFormat format>
struct Widen {
  using C = Codes<format>;
  static float of(uint32_t code) {
    const uint32_t magnitude = code & C::kMagnitudes;
    const uint32_t sign = (code & ~C::kMagnitudes) << (32 - C::kBits);
    uint32_t bits = magnitude << C::kDropped;
    // Read as an f32, the exponent bias is wrong; a multiplication corrects it, also for subnormal
    // numbers.
    const auto scale = std::bit_cast<float>(power_of_two(127 - format.bias()));
    bits = std::bit_cast<uint32_t>(std::bit_cast<float>(bits) * scale);
    bits |= magnitude >= C::kPastMax ? kInfinity32 : 0;
    return std::bit_cast<float>(bits | sign);
  }
};

template <FloatFormat format>
struct Narrow {
  using C = Codes<format>;
  static uint32_t of(float value) {
    const auto word = std::bit_cast<uint32_t>(value);
    const uint32_t magnitude = word & ~kSign32;
    constexpr uint32_t kHalf = 1u << (C::kDropped - 1);
    // To nearest, ties to even; a carry goes into the exponent.
    const uint32_t odd = (magnitude >> C::kDropped) & 1;
    const uint32_t rounded = (magnitude + (kHalf - 1) + odd) >> C::kDropped;
    uint32_t code = rounded - (static_cast<uint32_t>(127 - format.bias()) << format.mantissa_bits);
    // Adding a number whose last bit is the smallest subnormal makes f32 round at that bit.
    constexpr uint32_t kUnit = power_of_two(24 - format.bias() - format.mantissa_bits);
    const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(kUnit);
    const bool subnormal = magnitude < power_of_two(1 - format.bias());
    code = subnormal ? std::bit_cast<uint32_t>(sum) - kUnit : code;
    const bool beyond = (magnitude >= power_of_two(format.bias() + 2)) | (code > C::kPastMax);
    code = beyond ? C::kPastMax : code;
    constexpr uint32_t kQuiet = 1u << (format.mantissa_bits - 1);
    const uint32_t nan = C::kPastMax | kQuiet | ((magnitude >> C::kDropped) & C::kMantissas);
    code = magnitude > kInfinity32 ? nan : code;
    return code | ((word >> (32 - C::kBits)) & ~C::kMagnitudes);
  }
};

// bf16 is the upper half of an f32.
struct WidenUpper {
  static float of(uint16_t code) { return widened(BFloat16::from_bits(code)); }
};
struct NarrowUpper {
  static uint16_t of(float value) { return narrowed_to_bf16(value).bits(); }
};

template <class T, class Wider = Widen<T::kFormat>, class Narrower = Narrow<T::kFormat>>
void add(NarrowFloats& table) {
  table.push_back({kDTypeOf<T>, unary_loop<Wider, float, typename T::Bits>,
                   unary_loop<Narrower, typename T::Bits, float>});
}

}  // namespace

void add_narrow_floats(NarrowFloats& table) {
  add<Float16>(table);
  add<BFloat16, WidenUpper, NarrowUpper>(table);
  add<Float8E4M3>(table);
  add<Float8E5M2>(table);
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::cpu {

constinit const EachLevel<NarrowFloats> kNarrowFloats = {PLAIT_EACH_LEVEL(add_narrow_floats)};

}  // namespace plait::cpu
#endif
