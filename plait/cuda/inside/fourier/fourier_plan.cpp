#include "plait/cuda/inside/fourier/fourier_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>
#include <span>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/inside/system/recent_cache.h"
#include "plait/cuda/inside/fourier/fourier_text.h"

namespace plait::cuda {
namespace {

using Numbers = std::vector<std::complex<double>>;

constexpr size_t kMostPlans = 64;

// The driver copies from memory of the host before it returns.
template <class T>
Array rounded_to(std::span<const std::complex<double>> numbers, const CudaDevice& device) {
  const std::vector<std::complex<T>> rounded(numbers.begin(), numbers.end());
  const auto count = static_cast<int64_t>(rounded.size());
  const DType dtype = dtype_of<std::complex<T>>();
  const Array here =
      Array::borrow(dtype, Layout::contiguous({count}), rounded.data(), count * size_of(dtype), {});
  Array there = numbers_on(device, dtype, count);
  copy_elements(here, there);
  return there;
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
                            uploaded(turns(size, 1, size), dtype, device)});
  }
  if (plan->stages.size() == 1) return plan;
  plan->shift = static_cast<int32_t>(std::bit_width(static_cast<uint64_t>(length)) / 2);
  const int64_t fine = int64_t{1} << plan->shift;
  plan->fine = uploaded(turns(fine, 1, length), dtype, device);
  plan->coarse = uploaded(turns(quotient_up(length, fine), fine, length), dtype, device);
  return plan;
}

}  // namespace

// The angle is reduced to an eighth of a circle in integers, so that zeros and ones are exact.
std::complex<double> turn_of(int64_t k, int64_t n) {
  const int64_t quarter = 4 * k / n, rest = 4 * k - quarter * n;  // angle: rest / n quarters
  const bool is_reflected = 2 * rest > n;
  const int64_t part = is_reflected ? n - rest : rest;
  const double angle = std::numbers::pi / 2 * (static_cast<double>(part) / static_cast<double>(n));
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

Array uploaded(std::span<const std::complex<double>> numbers, DType dtype,
               const CudaDevice& device) {
  return dtype == DType::c64 ? rounded_to<float>(numbers, device)
                             : rounded_to<double>(numbers, device);
}

bool has_plan(int64_t length) {
  int64_t left = 1;
  (void)prime_factors(length, left);
  return left == 1;
}

std::shared_ptr<const FourierPlan> fourier_plan(const CudaDevice& device, DType dtype,
                                                int64_t length) {
  static Immortal<RecentCache<FourierKey, const FourierPlan, HashOfFourierKey>> plans(kMostPlans);
  return plans->find_or_make({device.index(), dtype, length},
                             [&](const FourierKey&) { return make_plan(device, dtype, length); });
}

}  // namespace plait::cuda
