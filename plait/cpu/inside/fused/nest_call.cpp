#include "plait/cpu/inside/fused/nest_call.h"

#include <utility>

#include "plait/core/inside/sizes/integer_arithmetic.h"

namespace plait::cpu {
namespace {

constexpr int64_t kScratchAlign = 64;

}  // namespace

NestCall::NestCall(const FusedNest& fused, const compile::KernelSizes& numbers,
                   std::vector<const void*> addresses, std::span<Array> given)
    : nest(fused), sizes(numbers), operands(std::move(addresses)), arrays(given) {
  results.reserve(given.size());
  for (Array& result : given) results.push_back(result.writable_data());
  for (size_t i = 0; i < sizes.outer.size(); ++i) {
    (i < nest.grouped ? groups : rows_in_group) *= sizes.outer[i];
  }
}

std::vector<const void*> addresses_of(std::span<const uint32_t> parameters,
                                      std::span<const Array> operands) {
  std::vector<const void*> addresses;
  addresses.reserve(parameters.size());
  for (const uint32_t parameter : parameters) {
    addresses.push_back(parameter < operands.size() ? operands[parameter].data() : nullptr);
  }
  return addresses;
}

NestRunner::NestRunner(const NestCall& call) : call_(call), limit_(thread_count()) {
  const int64_t bytes = call.nest.code.scratch_for(call.columns());
  scratch_bytes_ = quotient_up(bytes, kScratchAlign) * kScratchAlign;
  if (bytes > 0) scratch_ = Buffer::allocate_work(scratch_bytes_ * thread_count());
}

void NestRunner::run(std::span<const void* const> operands, std::span<void* const> results,
                     const NestRange& range) const {
  std::byte* scratch = scratch_ ? scratch_.data() + scratch_bytes_ * thread_index() : nullptr;
  const NestArguments arguments{.parameters = operands.data(),
                                .results = results.data(),
                                .sizes = call_.sizes.values.data(),
                                .first_row = range.first_row,
                                .end_row = range.end_row,
                                .first_column = range.first_column,
                                .end_column = range.end_column,
                                .scratch = scratch};
  call_.nest.code.run(&arguments);
}

}  // namespace plait::cpu
