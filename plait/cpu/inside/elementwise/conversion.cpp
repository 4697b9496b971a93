// Conversions from and to narrow floats go through f32, in blocks that stay in the nearest cache.
#include "plait/cpu/inside/elementwise/conversion.h"

#include <algorithm>
#include <array>

#include "plait/core/inside/system/immortal.h"
#include "plait/core/numbers/element.h"
#include "plait/core/system/thread_team.h"

namespace plait {
namespace {

using cpu::DenseLoop;

constexpr int64_t kBlock = 1024;    // elements
constexpr int64_t kWork = 1 << 17;  // bytes worth a thread

class Table {
 public:
  Table() {
    for (size_t level = 0; level < static_cast<size_t>(best_cpu_level()); ++level) {
      fill(levels_[level], level);
    }
  }

  // A single loop, or null if there is none.
  DenseLoop direct(DType from, DType to) const { return now().direct[number(from)][number(to)]; }
  DenseLoop sticky(DType from) const { return now().sticky[number(from)]; }

 private:
  struct Loops {
    std::array<std::array<DenseLoop, kDTypeCount>, kDTypeCount> direct = {};
    std::array<DenseLoop, kDTypeCount> sticky = {};
  };

  static size_t number(DType dtype) { return static_cast<size_t>(dtype); }
  const Loops& now() const { return levels_[static_cast<size_t>(cpu_level()) - 1]; }

  static void fill(Loops& loops, size_t level) {
    cpu::Conversions direct, sticky;
    cpu::kConversions[level](direct);
    for (const cpu::Conversion& c : direct) loops.direct[number(c.from)][number(c.to)] = c.run;
    cpu::kStickyConversions[level](sticky);
    for (const cpu::Conversion& c : sticky) loops.sticky[number(c.from)] = c.run;
    cpu::NarrowFloats narrow;
    cpu::kNarrowFloats[level](narrow);
    for (const cpu::NarrowFloat& each : narrow) {
      loops.direct[number(each.dtype)][number(DType::f32)] = each.widen;
      loops.direct[number(DType::f32)][number(each.dtype)] = each.narrow;
      loops.sticky[number(each.dtype)] = each.widen;
    }
  }

  std::array<Loops, kCpuLevelCount> levels_;
};

bool is_narrow(DType dtype) { return is_floating(dtype) && size_of(dtype) < size_of(DType::f32); }

// One loop, or two loops with f32 in between.
struct ConversionLoops {
  DenseLoop first = nullptr, second = nullptr;
};

ConversionLoops loops_between(DType from, DType to) {
  static Immortal<Table> table;
  if (const DenseLoop direct = table->direct(from, to)) return {direct};
  if (!is_narrow(from) && !is_narrow(to)) return {};
  const ConversionLoops loops{table->sticky(from), table->direct(DType::f32, to)};
  return loops.first != nullptr && loops.second != nullptr ? loops : ConversionLoops{};
}

void run(const ConversionLoops& loops, const std::byte* in, int64_t in_size, std::byte* out,
         int64_t out_size, int64_t count) {
  if (loops.second == nullptr) return loops.first(out, &in, count);
  alignas(64) float wide[kBlock];
  auto* between = reinterpret_cast<std::byte*>(wide);
  for (int64_t i = 0; i < count; i += kBlock) {
    const int64_t some = std::min(kBlock, count - i);
    const std::byte* from = in + i * in_size;
    loops.first(between, &from, some);
    const std::byte* then = between;
    loops.second(out + i * out_size, &then, some);
  }
}

}  // namespace

Array converted(const Array& array, DType dtype) {
  if (dtype == array.dtype()) return array;
  const ConversionLoops loops = loops_between(array.dtype(), dtype);
  if (loops.first == nullptr) return array.converted(dtype);
  const Array source = array.contiguous();
  Array result = Array::empty(dtype, array.sizes());
  const int64_t in_size = array.element_size(), out_size = result.element_size();
  const std::byte* in = source.data();
  std::byte* out = result.writable_data();
  parallel_for(
      array.element_count(), kWork / (in_size + out_size), [&](int64_t begin, int64_t end) {
        run(loops, in + begin * in_size, in_size, out + begin * out_size, out_size, end - begin);
      });
  return result;
}

bool convert_row(const RowCall& row) {
  const ConversionLoops loops = loops_between(row.dtype, row.result);
  if (loops.first == nullptr || row.steps[0] != size_of(row.dtype)) return false;
  run(loops, row.operands[0], row.steps[0], row.out, row.out_step, row.count);
  return true;
}

}  // namespace plait
