#include "plait/tensor/inside/kernel_anomaly.h"

#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/core/inside/numbers/element_text.h"
#include "plait/core/location.h"
#include "plait/tensor/inside/non_finite.h"

namespace plait {
namespace {

std::string type_text(const Array& array) {
  return fmt::format("{}[{}]", name_of(array.dtype()), fmt::join(array.sizes(), ", "));
}

std::string element_text(const Array& array, const Sizes& place) {
  int64_t offset = 0;
  for (size_t i = 0; i < place.size(); ++i) offset += place[i] * array.layout().strides[i];
  std::string text;
  append_element_text(text, array.dtype(), array.data() + offset * array.element_size());
  return text;
}

// The operands at the place of the anomaly for an elementwise operation; otherwise the types of the
// operands.
std::string operands_text(const ir::Primitive& primitive, std::span<const Array> operands,
                          const NonFinite& found) {
  std::vector<std::string> texts;
  for (const Array& operand : operands) {
    const bool is_at_place =
        primitive.elementwise != ir::Elementwise::no && operand.rank() == found.first.size();
    texts.push_back(is_at_place ? element_text(operand, found.first) : type_text(operand));
  }
  return fmt::format("{}", fmt::join(texts, " and "));
}

// The line is that of the operation; in a backward pass, that of the forward operation.
std::string backward_text(Location line) {
  if (!line.is_in_backward_pass()) return {};
  const ir::Primitive* const of = BackwardPassOf::current();
  const std::string caller = Location::of_outermost_caller().text();
  return fmt::format(", in the backward pass{}{}",
                     of == nullptr ? "" : fmt::format(" of {}", of->name),
                     caller.empty() ? "" : fmt::format(" run at {}", caller));
}

[[noreturn]] void refuse(const KernelCall& call, std::span<const Array> operands,
                         const NonFinite& found) {
  const Location line = Location::of_caller();
  throw CheckError("{}: returned {}, for {}{}", call.primitive.name, found.text(),
                   operands_text(call.primitive, operands, found), backward_text(line))
      .at(line)
      .hint(
          "print and check_finite show its operands; detect_anomaly raised this error, and can be "
          "set to accept infinities");
}

bool is_anomaly(const NonFinite& found, std::span<const Array> operands) {
  const bool takes_inf = detected_anomaly() != Anomaly::nan;
  if (found.nan == 0 && (found.inf == 0 || !takes_inf)) return false;
  bool had_nan = false, had_inf = false;
  for (const Array& operand : operands) {
    const NonFinite given = non_finite_in(operand);
    had_nan = had_nan || given.nan > 0;
    had_inf = had_inf || given.inf > 0;
  }
  return (found.nan > 0 && !had_nan) || (found.inf > 0 && takes_inf && !had_nan && !had_inf);
}

}  // namespace

// Operations without operands are not checked: their values were written by the user.
void run_detecting(const Kernel& kernel, KernelCall& call) {
  // Kept alive, so that the kernel cannot overwrite them.
  std::vector<Array> operands(call.operands.begin(), call.operands.end());
  kernel.run(call, kernel.data);
  if (operands.empty()) return;
  for (const Array& result : call.results) {
    const NonFinite found = non_finite_in(result.on_host());
    if (!found) continue;
    for (Array& operand : operands) operand = operand ? operand.on_host() : operand;
    if (is_anomaly(found, operands)) refuse(call, operands, found);
  }
}

}  // namespace plait
