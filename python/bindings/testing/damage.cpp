// Damages one primitive at a time, to check that the conformance suite notices: `make sabotage`.
// The damaged version replaces the original by the same registration that a backend or an operation
// uses.
#include <optional>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/kernels.h"
#include "plait/tensor/rules.h"

#include "python/bindings/bindings.h"

namespace plait::python {
namespace {

using Signature = std::function<ir::IndexSignature(const ir::Inference&)>;
constexpr double kFactor = 1.01;

// The original functions of the damaged primitive.
struct Original {
  const ir::Primitive& primitive;
  Kernel kernel;
  Rules rules;
  Signature signature;
  size_t number;  // the damaged result or operand
};
std::optional<Original>& original() {
  static std::optional<Original> original;
  return original;
}

// ---- Results.

Element damaged(DType dtype, const Element& element) {
  if (is_integer(dtype)) {
    return element.is_signed ? Element::of_signed(static_cast<int64_t>(element.integer + 1))
                             : Element::of_unsigned(element.integer + 1);
  }
  if (is_complex(dtype)) return Element::of(element.number * kFactor);
  return Element::of(element.number.real() * kFactor);
}

// Numbers are scaled or increased by one; of booleans and keys one element is changed.
void damage_values(Array& result) {
  result = result.copy();
  const int64_t count = result.element_count(), size = result.element_size();
  std::byte* place = result.writable_data();
  if (is_boolean(result.dtype()) || is_key(result.dtype())) {
    if (count > 0) place[(count / 2) * size] ^= std::byte{1};
    return;
  }
  for (int64_t i = 0; i < count; ++i, place += size) {
    store_element(result.dtype(), damaged(result.dtype(), load_element(result.dtype(), place)),
                  place);
  }
}

// Shifts the elements by one along the last axis longer than one.
void shift_axis(Array& result) {
  for (size_t axis = result.rank(); axis-- > 0;) {
    const int64_t count = result.sizes()[axis];
    if (count < 2 || result.element_count() == 0) continue;
    Array shifted = Array::empty(result.dtype(), result.sizes());
    const auto move = [&](Slice from, Slice to) {
      const auto at = static_cast<int64_t>(axis);
      Array target = shifted.view(shifted.layout().sliced(at, to));
      copy_elements(result.view(result.layout().sliced(at, from)), target);
    };
    move({.start = 0, .stop = count - 1}, {.start = 1});
    move({.start = count - 1}, {.start = 0, .stop = 1});
    result = shifted;
    return;
  }
}

template <void (*damage)(Array&)>
void run_damaged(KernelCall& call, const void*) {
  const Original& before = *original();
  before.kernel.run(call, before.kernel.data);
  if (before.number < call.results.size()) damage(call.results[before.number]);
}

// ---- Rules that are plain functions: one for each operand.

template <size_t i>
Tensor damaged_partial(const RuleContext& context) {
  const Partial& partial = original()->rules.partials[i];
  const DType dtype = context.operand_types[i].dtype();
  switch (partial.kind) {
    case Partial::Kind::zero: return scalar_tensor(kFactor - 1, dtype);
    case Partial::Kind::one: return scalar_tensor(kFactor, dtype);
    case Partial::Kind::minus_one: return scalar_tensor(-kFactor, dtype);
    case Partial::Kind::given: break;
  }
  return partial.value(context) * kFactor;
}

Tensor damaged_transpose(const RuleContext& context, const Tensor& cotangent, size_t operand) {
  const auto& rules = original()->rules.transposes;
  const Tensor right = rules[std::min(operand, rules.size() - 1)].of(context, cotangent, operand);
  return right ? right * kFactor : right;
}

// The tangent of one result.
std::vector<Tensor> damaged_tangents(const RuleContext& context, std::span<const Tensor> given) {
  std::vector<Tensor> tangents = original()->rules.tangents.of(context, given);
  const size_t result = original()->number;
  if (result < tangents.size() && tangents[result]) tangents[result] = tangents[result] * kFactor;
  return tangents;
}

// The contribution of one operand.
std::vector<Tensor> damaged_share(const RuleContext& context, std::span<const Tensor> given) {
  std::vector<Tensor> scaled(given.begin(), given.end());
  const size_t operand = original()->number;
  if (operand < scaled.size() && scaled[operand]) scaled[operand] = scaled[operand] * kFactor;
  return original()->rules.tangents.of(context, scaled);
}

std::vector<Tensor> damaged_batching(const ir::Attributes& attributes,
                                     std::span<const Tensor> operands,
                                     const std::vector<bool>& batched) {
  std::vector<Tensor> results = original()->rules.batching.of(attributes, operands, batched);
  for (Tensor& result : results) {
    Array array = result.array().contiguous();
    const Array batches = array.reshaped(
        {array.sizes()[0], array.element_count() / std::max<int64_t>(array.sizes()[0], 1)});
    const Tensor whole{batches};
    const Tensor turned[] = {slice(whole, 0, {.start = -1}), slice(whole, 0, {.stop = -1})};
    result = Tensor(concat(turned).array().reshaped(array.sizes()));
  }
  return results;
}

// Correct in eager code, wrong if its operands are traced: inside of an outer vmap.
std::vector<Tensor> damaged_batching_again(const ir::Attributes& attributes,
                                           std::span<const Tensor> operands,
                                           const std::vector<bool>& batched) {
  std::vector<Tensor> results = original()->rules.batching.of(attributes, operands, batched);
  if (std::ranges::none_of(operands, &Tensor::is_traced)) return results;
  for (Tensor& result : results) {
    const Tensor turned[] = {slice(result, 0, {.start = -1}), slice(result, 0, {.stop = -1})};
    result = concat(turned);
  }
  return results;
}

template <size_t... i>
constexpr std::array<Tensor (*)(const RuleContext&), sizeof...(i)> damaged_partials(
    std::index_sequence<i...>) {
  return {damaged_partial<i>...};
}

// False if there is no such rule.
bool damage_rule(Rules& rules, const std::string& kind, size_t operand) {
  static constexpr auto kPartials = damaged_partials(std::make_index_sequence<8>());
  if (kind == "partials") {
    if (operand >= rules.partials.size() || operand >= kPartials.size()) return false;
    Partial& partial = rules.partials[operand];
    partial = Partial::of(partial.reads, kPartials[operand]);
  } else if (kind == "transposes") {
    if (operand >= rules.transposes.size() || !rules.transposes[operand].of) return false;
    rules.transposes[operand].of = damaged_transpose;
  } else if (kind == "tangents" || kind == "tangents_by") {
    if (!rules.tangents.of) return false;
    rules.tangents.of = kind == "tangents" ? damaged_tangents : damaged_share;
  } else if (kind == "batching") {
    if (!rules.batching.of) return false;
    rules.batching.of = damaged_batching;
  } else if (kind == "batching_again") {
    if (!rules.batching.of) return false;
    rules.batching.of = damaged_batching_again;
  } else {
    throw ValueError("unknown kind of damage: {}", kind);
  }
  return true;
}

// ---- The index signature: permutes the dimensions of the result, or replaces the reduction.

ir::Reduction another(ir::Reduction reduction) {
  switch (reduction) {
    case ir::Reduction::none: return ir::Reduction::none;
    case ir::Reduction::all: return ir::Reduction::any;
    case ir::Reduction::any: return ir::Reduction::all;
    case ir::Reduction::minimum: return ir::Reduction::maximum;
    default: return ir::Reduction::minimum;
  }
}

ir::IndexSignature damaged_signature(const ir::Inference& inference) {
  ir::IndexSignature signature = original()->signature(inference);
  auto& dimensions = signature.results[0].dimensions;
  if (signature.reduction == ir::Reduction::none && dimensions.size() > 1) {
    std::rotate(dimensions.begin(), dimensions.begin() + 1, dimensions.end());
  }
  signature.reduction = another(signature.reduction);
  return signature;
}

ir::Primitive& writable(const ir::Primitive& primitive) {
  return const_cast<ir::Primitive&>(primitive);  // the table's own object is not const
}

void repair() {
  if (!original()) return;
  const ir::Primitive& primitive = original()->primitive;
  register_kernel(primitive, original()->kernel);
  register_rules(primitive, original()->rules);
  writable(primitive).signature = original()->signature;
  original().reset();
}

// False if there is nothing of that kind to damage.
bool damage(const std::string& name, const std::string& kind, size_t number) {
  repair();
  const ir::Primitive& primitive = ir::primitive(name);
  const Rules* rules = find_rules(primitive);
  original().emplace(Original{primitive, kernel_of(primitive), rules ? *rules : Rules{},
                              primitive.signature, number});
  const bool finds_types = original()->kernel.finds_types;
  if (kind == "values") {
    register_kernel(primitive, {.run = run_damaged<damage_values>, .finds_types = finds_types});
  } else if (kind == "axis") {
    register_kernel(primitive, {.run = run_damaged<shift_axis>, .finds_types = finds_types});
  } else if (kind == "signature") {
    if (!primitive.signature) return false;
    writable(primitive).signature = damaged_signature;
  } else {
    Rules damaged = original()->rules;
    if (!damage_rule(damaged, kind, number)) return false;
    register_rules(primitive, std::move(damaged));
  }
  return true;
}

}  // namespace

void bind_damage(nb::module_& module) {
  module.def("damage", damage, nb::arg("name"), nb::arg("kind"), nb::arg("number") = 0,
             "Makes one result, rule or signature of a primitive wrong, until repair().");
  module.def("repair", repair);
}

}  // namespace plait::python
