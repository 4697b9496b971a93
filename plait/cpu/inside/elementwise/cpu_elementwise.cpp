#include "plait/cpu/inside/elementwise/cpu_elementwise.h"

#include <array>
#include <utility>

#include "plait/cpu/inside/elementwise/cpu_loops.h"

namespace plait {
namespace {

// A function pointer cannot hold data, so there is one function per number.
template <size_t number>
void numbered_loop(std::byte* out, int64_t out_stride, const std::byte* const* in,
                   const int64_t* in_strides, int64_t count) {
  cpu::run_loop(cpu::loop_at(number), out, out_stride, in, in_strides, count);
}

template <size_t... numbers>
constexpr std::array<ElementwiseLoop, sizeof...(numbers)> numbered_loops(
    std::index_sequence<numbers...>) {
  return {numbered_loop<numbers>...};
}

}  // namespace

ElementwiseLoop find_elementwise_loop(std::string_view op, DType operand_dtype) {
  static constexpr auto kLoops = numbered_loops(std::make_index_sequence<cpu::kMostLoops>());
  const auto number = cpu::find_loop(op, operand_dtype);
  return number ? kLoops[*number] : nullptr;
}

}  // namespace plait
