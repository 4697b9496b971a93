// The number of lanes in which a nest is computed.
#include <algorithm>
#include <array>
#include <bit>

#include "plait/cpu/inside/codegen/llvm_nest.h"

namespace plait::cpu::code {
namespace {

using compile::Nest;
using compile::NestPlan;
using compile::NestValue;

constexpr int64_t kFewOperations = 12;  // kernels of at most so many are bound by memory or latency
constexpr unsigned kMostLanes = 64;

struct NestWork {
  int64_t size = 8;  // the element size in which most of the work is done
  int64_t operations = 0;
};

NestWork work_of(const Nest& nest, const NestPlan& plan) {
  NestWork result;
  std::array<int64_t, 9> work = {};
  for (uint32_t v = 0; v < nest.values.size(); ++v) {
    const NestValue& value = nest.values[v];
    if (!plan.is_needed[v] || !value.has_columns || value.kind == NestValue::Kind::number) continue;
    const bool is_computed = value.kind == NestValue::Kind::compute;
    const bool is_test = is_boolean(value.dtype) && is_computed;
    const DType counted = is_test ? nest.values[value.operands.back()].dtype : value.dtype;
    const bool is_load = value.kind == NestValue::Kind::load;
    const int64_t weight = plan.is_costly[v] ? 16 : is_load ? 1 : 2;
    if (is_computed) result.operations += plan.is_costly[v] ? 16 : 1;
    work[static_cast<size_t>(size_of(computed_dtype(counted)))] += weight;
  }
  for (const int64_t other : {4, 2, 1}) {
    if (work[static_cast<size_t>(other)] > work[static_cast<size_t>(result.size)]) {
      result.size = other;
    }
  }
  return result;
}

}  // namespace

// Two registers, or four for cheap kernels, so that steps overlap.
unsigned lanes_of(const Nest& nest, const NestPlan& plan, CpuLevel level) {
  const NestWork work = work_of(nest, plan);
  const int64_t bytes = level == CpuLevel::avx512 ? 64 : level == CpuLevel::avx2 ? 32 : 16;
  const int64_t registers = work.operations <= kFewOperations ? 4 : 2;
  auto lanes = static_cast<unsigned>(registers * bytes / work.size);
  lanes = std::min(lanes, kMostLanes);
  if (nest.columns.is_number() && nest.columns.number() < lanes) {
    const auto columns = static_cast<unsigned>(std::max<int64_t>(nest.columns.number(), 1));
    lanes = std::min(lanes, std::bit_ceil(columns));
  }
  return lanes;
}

}  // namespace plait::cpu::code
