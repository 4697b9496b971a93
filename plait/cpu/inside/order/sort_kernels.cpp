// Highway's quicksort, from its headers only. Its entry point needs a random seed from Highway's
// library, so the sort is started here, with a constant seed. Depends on internals of version 1.0.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "plait/cpu/inside/order/sort_kernels.cpp"
#include "plait/cpu/inside/order/sort_kernels.h"

#include "plait/cpu/inside/elementwise/lanes.inl"
#if defined(PLAIT_HAVE_HIGHWAY) && HWY_MAJOR == 1 && HWY_MINOR == 0
#include <hwy/contrib/sort/traits-inl.h>
#include <hwy/contrib/sort/vqsort-inl.h>
#define PLAIT_SORTS_IN_LANES 1
#else
#define PLAIT_SORTS_IN_LANES 0
#endif

HWY_BEFORE_NAMESPACE();
namespace plait::cpu {
namespace HWY_NAMESPACE {

// Below AVX-512, and for 64 bits, radix sort is faster.
#if PLAIT_SORTS_IN_LANES && HWY_TARGET == HWY_AVX3

void sort_words(uint32_t* words, int64_t count) {
  namespace inside = hwy::HWY_NAMESPACE::detail;
  if (count < 2) return;
  const auto number = static_cast<size_t>(count);
  const inside::SharedTraits<inside::TraitsLane<inside::OrderAscending<uint32_t>>> traits;
  const hwy::HWY_NAMESPACE::SortTag<uint32_t> d;
  HWY_ALIGN uint32_t buffer[hwy::SortConstants::BufNum<uint32_t>(HWY_LANES(uint32_t))] = {};
  inside::Generator random(uint64_t{0x9e3779b97f4a7c15});
  const size_t levels = 2 * hwy::CeilLog2(number) + 4;  // then it falls back to heap sort
  inside::Recurse(d, traits, words, words + number, number, buffer, random, levels);
}

void add_word_sort(WordSort& sort) { sort = sort_words; }

#else

void add_word_sort(WordSort& sort) { sort = nullptr; }

#endif

}  // namespace HWY_NAMESPACE
}  // namespace plait::cpu
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace plait::cpu {

constinit const EachLevel<WordSort> kWordSorts = {PLAIT_EACH_LEVEL(add_word_sort)};

WordSort word_sort() {
  WordSort sort = nullptr;
  kWordSorts[static_cast<size_t>(cpu_level()) - 1](sort);
  return sort;
}

}  // namespace plait::cpu
#endif
