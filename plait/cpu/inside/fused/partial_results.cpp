#include "plait/cpu/inside/fused/partial_results.h"

#include <cmath>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/numbers/element.h"
#include "plait/ops/inside/primitives.h"
#include "plait/tensor/kernels.h"

namespace plait::cpu {
namespace {

constexpr int64_t kPartAlign = 64;

// The identity of the reduction.
Element identity_of(ir::Reduction reduction, DType dtype) {
  const bool is_greatest = reduction == ir::Reduction::maximum;
  switch (reduction) {
    case ir::Reduction::product: return Element::of(1.0);
    case ir::Reduction::all: return Element::of(true);
    case ir::Reduction::maximum:
    case ir::Reduction::minimum: {
      if (is_floating(dtype)) return Element::of(is_greatest ? -INFINITY : INFINITY);
      if (is_boolean(dtype)) return Element::of(!is_greatest);
      const int64_t bits = 8 * size_of(dtype);
      if (!is_signed(dtype)) return Element::of_unsigned(is_greatest ? 0 : ~uint64_t{0});
      const auto least = static_cast<int64_t>(uint64_t{1} << (bits - 1));
      return Element::of_signed(is_greatest ? (bits == 64 ? least : -least) : least - 1);
    }
    default: return Element::of(0.0);
  }
}

const ir::Primitive& joining(ir::Reduction reduction) {
  switch (reduction) {
    case ir::Reduction::product: return multiply_primitive();
    case ir::Reduction::maximum: return maximum_primitive();
    case ir::Reduction::minimum: return minimum_primitive();
    case ir::Reduction::all: return bitwise_and_primitive();
    case ir::Reduction::any: return bitwise_or_primitive();
    default: return add_primitive();
  }
}

void join_elements(ir::Reduction reduction, DType dtype, std::byte* into, const std::byte* more,
                   int64_t count) {
  const Kernel& kernel = kernel_of(joining(reduction));
  const std::byte* const operands[] = {into, more};
  const int64_t step = size_of(dtype), steps[] = {step, step};
  kernel.run_row({.dtype = dtype,
                  .result = dtype,
                  .out = into,
                  .out_step = step,
                  .operands = operands,
                  .steps = steps,
                  .count = count},
                 kernel.data);
}

}  // namespace

void fill_with_identities(const NestCall& call) {
  for (size_t i = 0; i < call.arrays.size(); ++i) {
    if (!call.nest.is_accumulated(i)) continue;
    const DType dtype = call.arrays[i].dtype();
    const Element identity = identity_of(call.nest.results[i].reduction, dtype);
    auto* out = static_cast<std::byte*>(call.results[i]);
    for (int64_t k = 0; k < call.arrays[i].element_count(); ++k) {
      store_element(dtype, identity, out + k * size_of(dtype));
    }
  }
}

WideResults::WideResults(const NestCall& call) : call_(call), places_(call.results) {
  for (size_t i = 0; i < places_.size(); ++i) {
    const Array& array = call.arrays[i];
    if (!call.nest.is_accumulated(i) || call.nest.results[i].dtype == array.dtype()) continue;
    memory_.push_back(
        Buffer::allocate_work(array.element_count() * size_of(call.nest.results[i].dtype)));
    places_[i] = memory_.back().data();
  }
}

void WideResults::round() const {
  for (size_t i = 0; i < places_.size(); ++i) {
    if (places_[i] == call_.results[i]) continue;
    const Array& array = call_.arrays[i];
    convert(call_.nest.results[i].dtype, static_cast<const std::byte*>(places_[i]), array.dtype(),
            static_cast<std::byte*>(call_.results[i]), array.element_count());
  }
}

PartialResults::PartialResults(const NestCall& call, std::span<void* const> results, int64_t parts)
    : call_(call), results_(results), parts_(parts), memory_(results.size()) {
  for (size_t i = 0; i < memory_.size(); ++i) {
    if (!call.nest.is_accumulated(i) || parts == 1) continue;
    memory_[i] = Buffer::allocate_work((parts - 1) * bytes_of(i));
  }
}

std::vector<void*> PartialResults::places(int64_t part) const {
  std::vector<void*> own(results_.begin(), results_.end());
  for (size_t i = 0; i < own.size(); ++i) {
    if (call_.nest.is_accumulated(i) && part > 0) own[i] = place(i, part);
  }
  return own;
}

void PartialResults::join() const {
  for (size_t i = 0; i < results_.size(); ++i) {
    if (!call_.nest.is_accumulated(i)) continue;
    const auto [reduction, dtype] = call_.nest.results[i];
    for (int64_t part = 1; part < parts_; ++part) {
      join_elements(reduction, dtype, static_cast<std::byte*>(results_[i]), place(i, part),
                    call_.arrays[i].element_count());
    }
  }
}

int64_t PartialResults::bytes_of(size_t result) const {
  const int64_t bytes =
      call_.arrays[result].element_count() * size_of(call_.nest.results[result].dtype);
  return quotient_up(bytes, kPartAlign) * kPartAlign;
}

}  // namespace plait::cpu
