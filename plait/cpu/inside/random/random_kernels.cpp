// Philox (ops/inside/random/philox.h), and the distributions of ops/inside/random/random_values.cpp
// for f32, computed in lanes of f64 and rounded at the end.
#include "plait/cpu/inside/random/random_kernels.h"

#include "plait/ops/inside/random/philox.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/cpu/inside/random/random_kernels.cpp"
#include "plait/cpu/inside/elementwise/double_functions.inl"

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {
namespace {

using VBits = hn::Vec<DBits>;
constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(D()));

// One block per lane: the four words of its counter are in the low halves of four vectors. The
// upper halves hold garbage.
struct Blocks {
  VBits x0, x1, x2, x3;
};

HWY_INLINE VBits product_of_low_halves(VBits a, VBits b) {
  const hn::Repartition<uint32_t, DBits> halves;
  return hn::MulEven(hn::BitCast(halves, a), hn::BitCast(halves, b));
}

HWY_INLINE Blocks permuted(Blocks x, uint64_t key) {
  auto first = static_cast<uint32_t>(key), second = static_cast<uint32_t>(key >> 32);
  const VBits first_factor = bit_constant(kPhiloxFirstFactor);
  const VBits second_factor = bit_constant(kPhiloxSecondFactor);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const VBits p = product_of_low_halves(x.x0, first_factor);
    const VBits q = product_of_low_halves(x.x2, second_factor);
    x = {hn::ShiftRight<32>(q) ^ x.x1 ^ bit_constant(first), q,
         hn::ShiftRight<32>(p) ^ x.x3 ^ bit_constant(second), p};
    first += kPhiloxFirstStep;
    second += kPhiloxSecondStep;
  }
  return x;
}

HWY_INLINE VBits joined(VBits low, VBits high) {
  return (low & bit_constant(0xffffffff)) | hn::ShiftLeft<32>(high);
}

void words(const KeyBits& key, uint64_t first, int64_t blocks, uint32_t* out) {
  const DBits d;
  auto* to = reinterpret_cast<uint64_t*>(out);
  for (int64_t i = 0; i < blocks; i += kLanes) {
    const VBits number = hn::Iota(d, first + static_cast<uint64_t>(i));
    const Blocks x = permuted({number, hn::ShiftRight<32>(number), bit_constant(key.words[1]),
                               bit_constant(key.words[1] >> 32)},
                              key.words[0]);
    hn::StoreInterleaved2(joined(x.x0, x.x1), joined(x.x2, x.x3), d, to + 2 * i);
  }
}

void uniform(const uint32_t* words, float* out, int64_t count) {
  PLAIT_VECTORISE
  for (int64_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(static_cast<int32_t>(words[i] >> 8)) * 0x1p-24F;
  }
}

// Converts integers of up to 52 bits, which become the mantissas of numbers from 2^52 on.
HWY_INLINE V whole(VBits bits) {
  return hn::BitCast(D(), bits | bit_constant(0x4330000000000000)) - constant(0x1p52);
}
HWY_INLINE V minus_log(VBits bits, double step) {
  return constant(0) - exact_log_of_normal((whole(bits) + constant(0.5)) * constant(step));
}
HWY_INLINE V minus_log(VBits bits) { return minus_log(bits, 0x1p-32); }

// of(bits) computes a vector of numbers from a vector of words.
template <class Of>
HWY_INLINE void each_word(const uint32_t* words, float* out, int64_t count, Of of) {
  const hn::Rebind<uint32_t, D> from;
  const hn::Rebind<float, D> single;
  for (int64_t i = 0; i < count; i += kLanes) {
    const VBits bits = hn::PromoteTo(DBits(), hn::LoadU(from, words + i));
    hn::StoreU(hn::DemoteTo(single, of(bits)), single, out + i);
  }
}

struct Exponential {
  HWY_INLINE V operator()(VBits bits) const { return minus_log(bits); }
};
struct Laplace {
  HWY_INLINE V operator()(VBits bits) const {
    const V size = minus_log(hn::ShiftRight<1>(bits), 0x1p-31);
    return hn::BitCast(D(), bits_of(size) ^ hn::ShiftLeft<63>(bits));
  }
};
struct Gumbel {
  HWY_INLINE V operator()(VBits bits) const {
    return constant(0) - exact_log_of_normal(minus_log(bits));
  }
};

void exponential(const uint32_t* words, float* out, int64_t count) {
  each_word(words, out, count, Exponential());
}
void laplace(const uint32_t* words, float* out, int64_t count) {
  each_word(words, out, count, Laplace());
}
void gumbel(const uint32_t* words, float* out, int64_t count) {
  each_word(words, out, count, Gumbel());
}

// sin and cos of 2 pi t for t = bits / 2^32, after reduction by multiples of a quarter turn.
HWY_INLINE Turned turned_by(VBits bits) {
  constexpr std::array<double, 5> kSine = {-1.0 / 6, 1.0 / 120, -1.0 / 5040, 1.0 / 362880,
                                           -1.0 / 39916800};
  constexpr std::array<double, 6> kCosine = {-1.0 / 2,    1.0 / 24,       -1.0 / 720,
                                             1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600};
  constexpr double kHalfPi = 0x1.921fb54442d18p0;
  const V quarters = whole(bits) * constant(0x1p-30);
  const V sum = quarters + constant(kRounder);
  const V r = (quarters - (sum - constant(kRounder))) * constant(kHalfPi);
  const V r2 = r * r;
  return {hn::MulAdd(r2 * r, polynomial(r2, kSine), r),
          hn::MulAdd(r2, polynomial(r2, kCosine), constant(1)), bits_of(sum)};
}

// Each lane converts two words to two numbers.
void normal(const uint32_t* words, float* out, int64_t count) {
  const hn::Rebind<float, D> single;
  const auto* pairs = reinterpret_cast<const uint64_t*>(words);
  for (int64_t i = 0; i < count / 2; i += kLanes) {
    const VBits both = hn::LoadU(DBits(), pairs + i);
    const V half_square = minus_log(both & bit_constant(0xffffffff));
    const V radius = hn::Sqrt(half_square + half_square);
    const Turned t = turned_by(hn::ShiftRight<32>(both));
    hn::StoreInterleaved2(hn::DemoteTo(single, radius * sine_after(t, 1)),
                          hn::DemoteTo(single, radius * sine_after(t, 0)), single, out + 2 * i);
  }
}

}  // namespace

void add_random_kernels(RandomKernels& kernels) {
  kernels = {words, {uniform, normal, exponential, laplace, gumbel}};
}

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::cpu {

constinit const EachLevel<RandomKernels> kRandomKernels = {PLAIT_EACH_LEVEL(add_random_kernels)};

}  // namespace plait::cpu
#endif
