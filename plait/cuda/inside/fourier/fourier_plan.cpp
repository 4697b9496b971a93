#include "plait/cuda/inside/fourier/fourier_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <span>

#include "plait/core/hash.h"
#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/inside/system/recent_cache.h"
#include "plait/cuda/inside/elementwise/pointwise.h"
#include "plait/cuda/inside/fourier/fourier_run.h"
#include "plait/cuda/inside/fourier/fourier_text.h"
#include "plait/ops/inside/primitives.h"

namespace plait::cuda {
namespace {

using Numbers = std::vector<std::complex<double>>;

constexpr size_t kMostPlans = 64, kMostChirps = 16;

struct FourierKey {
  int device;
  DType dtype;
  int64_t length;
  friend bool operator==(const FourierKey&, const FourierKey&) = default;
};
struct HashOfFourierKey {
  size_t operator()(const FourierKey& key) const {
    const auto kind = static_cast<uint64_t>(key.device) << 8 | static_cast<uint64_t>(key.dtype);
    return hash_combine(kind, static_cast<uint64_t>(key.length));
  }
};

// The driver copies from memory of the host before it returns.
template <class T>
Array uploaded(const Numbers& numbers, const CudaDevice& device) {
  const std::vector<std::complex<T>> rounded(numbers.begin(), numbers.end());
  const auto count = static_cast<int64_t>(rounded.size());
  const DType dtype = dtype_of<std::complex<T>>();
  const Array here = Array::borrow(dtype, Layout::contiguous({count}), rounded.data(),
                                   count * size_of(dtype), {});
  Array there = numbers_on(device, dtype, count);
  copy_elements(here, there);
  return there;
}
Array on_device(const Numbers& numbers, DType dtype, const CudaDevice& device) {
  return dtype == DType::c64 ? uploaded<float>(numbers, device)
                             : uploaded<double>(numbers, device);
}

// The turns k · step of n, for k < count.
Numbers turns(int64_t count, int64_t step, int64_t n) {
  Numbers numbers(static_cast<size_t>(count));
  for (int64_t k = 0; k < count; ++k) numbers[static_cast<size_t>(k)] = turn_of(k * step, n);
  return numbers;
}

// Prime factors, largest first; what is left has larger ones than kMostRadix.
std::vector<int32_t> prime_factors(int64_t n, int64_t& left) {
  std::vector<int32_t> factors;
  for (int32_t prime = 2; prime <= kMostRadix; ++prime) {
    for (; n % prime == 0; n /= prime) factors.push_back(prime);
  }
  std::ranges::reverse(factors);
  left = n;
  return factors;
}

// The factors in `count` groups of nearly equal products.
std::vector<std::vector<int32_t>> groups_of(const std::vector<int32_t>& factors, size_t count) {
  std::vector<std::vector<int32_t>> groups(count);
  std::vector<int64_t> products(count, 1);
  for (const int32_t factor : factors) {
    const auto least = static_cast<size_t>(std::ranges::min_element(products) - products.begin());
    groups[least].push_back(factor);
    products[least] *= factor;
  }
  return groups;
}

int64_t product_of(std::span<const int32_t> factors) {
  int64_t product = 1;
  for (const int32_t factor : factors) product *= factor;
  return product;
}

// A transform that fits into a block needs one pass. The passes of others are shorter, so that
// several neighbouring columns fit.
std::vector<std::vector<int32_t>> split(const CudaDevice& device, DType dtype,
                                        const std::vector<int32_t>& factors) {
  const int64_t bytes = size_of(dtype), held = device.most_shared_bytes() / (2 * bytes);
  const int64_t whole = std::min<int64_t>((32 << 10) / bytes, held - 256);
  if (product_of(factors) <= whole) return {factors};
  const int64_t most = std::min<int64_t>((8 << 10) / bytes, whole);
  for (size_t count = 2;; ++count) {
    std::vector<std::vector<int32_t>> groups = groups_of(factors, count);
    const bool fits =
        std::ranges::all_of(groups, [&](const auto& group) { return product_of(group) <= most; });
    if (fits) return groups;
  }
}

// Twos become eights and fours.
std::vector<int32_t> radices_of(const std::vector<int32_t>& factors) {
  std::vector<int32_t> radices;
  auto twos = std::ranges::count(factors, 2);
  for (; twos >= 3 && twos != 4; twos -= 3) radices.push_back(8);
  for (; twos >= 2; twos -= 2) radices.push_back(4);
  if (twos == 1) radices.push_back(2);
  for (const int32_t factor : factors) {
    if (factor != 2) radices.push_back(factor);
  }
  return radices;
}

std::shared_ptr<const FourierPlan> make_plan(const CudaDevice& device, DType dtype,
                                             int64_t length) {
  auto plan = std::make_shared<FourierPlan>();
  plan->length = length;
  int64_t left = 1;
  for (const std::vector<int32_t>& factors : split(device, dtype, prime_factors(length, left))) {
    const int64_t size = product_of(factors);
    plan->stages.push_back({static_cast<int32_t>(size), radices_of(factors),
                            on_device(turns(size, 1, size), dtype, device)});
  }
  if (plan->stages.size() == 1) return plan;
  plan->shift = static_cast<int32_t>(std::bit_width(static_cast<uint64_t>(length)) / 2);
  const int64_t fine = int64_t{1} << plan->shift;
  plan->fine = on_device(turns(fine, 1, length), dtype, device);
  plan->coarse = on_device(turns(quotient_up(length, fine), fine, length), dtype, device);
  return plan;
}

// The least length from `least` on that is a power of 2 times 1, 3, 5, 7, 9 or 15.
int64_t convenient_length(int64_t least) {
  int64_t best = 0;
  for (const int64_t odd : {1, 3, 5, 7, 9, 15}) {
    const auto twos = std::bit_ceil(static_cast<uint64_t>(quotient_up(least, odd)));
    const int64_t length = odd * static_cast<int64_t>(twos);
    if (best == 0 || length < best) best = length;
  }
  return best;
}

std::shared_ptr<const Chirp> make_chirp(CudaDevice& device, DType dtype, int64_t length) {
  auto chirp = std::make_shared<Chirp>();
  chirp->padded = convenient_length(2 * length - 1);
  Numbers turns(static_cast<size_t>(length)), around(static_cast<size_t>(chirp->padded));
  int64_t square = 0;  // k² mod 2 n
  for (size_t k = 0; k < turns.size(); ++k) {
    turns[k] = turn_of(square, 2 * length);
    around[k] = std::conj(turns[k]);
    if (k > 0) around[around.size() - k] = around[k];
    square = (square + 2 * static_cast<int64_t>(k) + 1) % (2 * length);
  }
  chirp->turns = on_device(turns, dtype, device);
  const Array exact = on_device(around, DType::c128, device);
  Array filter = Array::empty_on(exact.device(), DType::c128, exact.sizes());
  const FourierRows rows{.in_length = chirp->padded, .out_length = chirp->padded,
                         .factor = 1 / static_cast<double>(chirp->padded)};
  transform_rows(device, DType::c128, chirp->padded, rows, address_of(exact), address_of(filter));
  chirp->filter = filter;
  if (dtype == DType::c64) {
    chirp->filter = Array::empty_on(exact.device(), dtype, exact.sizes());
    run_pointwise(convert_primitive(), {&filter, 1}, chirp->filter);
  }
  return chirp;
}

}  // namespace

// The angle is reduced to an eighth of a circle in integers, so that zeros and ones are exact.
std::complex<double> turn_of(int64_t k, int64_t n) {
  const int64_t quarter = 4 * k / n, rest = 4 * k - quarter * n;  // of a quarter circle: rest / n
  const bool is_reflected = 2 * rest > n;
  const int64_t part = is_reflected ? n - rest : rest;
  const double angle =
      std::numbers::pi / 2 * (static_cast<double>(part) / static_cast<double>(n));
  double real = std::cos(angle), imag = std::sin(angle);
  if (is_reflected) std::swap(real, imag);
  switch (quarter) {
    case 0: return {real, -imag};
    case 1: return {-imag, -real};
    case 2: return {-real, imag};
    default: return {imag, real};
  }
}

Array numbers_on(const CudaDevice& device, DType dtype, int64_t count) {
  return Array::empty_on(Device(Device::Kind::cuda, static_cast<uint8_t>(device.index())), dtype,
                         {count});
}

bool has_plan(int64_t length) {
  int64_t left = 1;
  (void)prime_factors(length, left);
  return left == 1;
}

std::shared_ptr<const FourierPlan> fourier_plan(const CudaDevice& device, DType dtype,
                                                int64_t length) {
  static Immortal<RecentCache<FourierKey, const FourierPlan, HashOfFourierKey>> plans(kMostPlans);
  return plans->find_or_make({device.index(), dtype, length}, [&](const FourierKey&) {
    return make_plan(device, dtype, length);
  });
}

std::shared_ptr<const Chirp> fourier_chirp(CudaDevice& device, DType dtype, int64_t length) {
  static Immortal<RecentCache<FourierKey, const Chirp, HashOfFourierKey>> chirps(kMostChirps);
  return chirps->find_or_make({device.index(), dtype, length}, [&](const FourierKey&) {
    return make_chirp(device, dtype, length);
  });
}

}  // namespace plait::cuda
