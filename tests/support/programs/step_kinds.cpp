#include "tests/support/programs/step_kinds.h"

#include <algorithm>
#include <atomic>

#include "plait/ir/structure.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/elementwise/special.h"
#include "plait/ops/neural/activation.h"
#include "plait/ops/register_all.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/derivation.h"

namespace plait {
namespace {

// 1 + x², for functions that are defined for positive numbers only.
Tensor above_one(const Tensor& x) { return x * x + 1.; }
// In (−0.9, 0.9).
Tensor inside(const Tensor& x) { return tanh(x) * 0.9; }

struct UnaryKind {
  std::string_view name;
  OfOne f;
};
// Functions that are not primitives, and primitives that are tried in other places than the middle
// of their domain.
const UnaryKind kUnary[] = {
    {"negative", [](const Tensor& x) { return -x; }},
    {"absolute", [](const Tensor& x) { return absolute(x); }},
    {"square", [](const Tensor& x) { return square(x) * 0.5; }},
    {"reciprocal", [](const Tensor& x) { return reciprocal(above_one(x)); }},
    {"sqrt", [](const Tensor& x) { return sqrt(above_one(x)); }},
    {"rsqrt", [](const Tensor& x) { return rsqrt(above_one(x)); }},
    {"log", [](const Tensor& x) { return log(above_one(x)); }},
    {"log2", [](const Tensor& x) { return log2(above_one(x)); }},
    {"log10", [](const Tensor& x) { return log10(above_one(x)); }},
    {"log1p", [](const Tensor& x) { return log1p(x * x); }},
    {"sin", [](const Tensor& x) { return sin(x); }},
    {"cos", [](const Tensor& x) { return cos(x); }},
    {"atan", [](const Tensor& x) { return atan(x); }},
    {"tanh", [](const Tensor& x) { return tanh(x); }},
    {"asinh", [](const Tensor& x) { return asinh(x); }},
    {"acosh", [](const Tensor& x) { return acosh(above_one(x) + 0.5); }},
    {"sigmoid", [](const Tensor& x) { return sigmoid(x); }},
    {"erf", [](const Tensor& x) { return erf(x); }},
    {"erfc", [](const Tensor& x) { return erfc(x); }},
    {"lgamma", [](const Tensor& x) { return lgamma(above_one(x) + 0.5); }},
    {"digamma", [](const Tensor& x) { return digamma(above_one(x)); }},
    {"polygamma", [](const Tensor& x) { return polygamma(1., above_one(x)); }},
    {"erfcx", [](const Tensor& x) { return erfcx(x); }},
    {"ndtr", [](const Tensor& x) { return ndtr(x); }},
    {"log_ndtr", [](const Tensor& x) { return log_ndtr(x); }},
    {"ndtri", [](const Tensor& x) { return ndtri(0.5 * inside(x) + 0.5); }},
    {"i0e", [](const Tensor& x) { return i0e(above_one(x)); }},
    {"zeta", [](const Tensor& x) { return zeta(2.5, above_one(x)); }},
    {"gammainc", [](const Tensor& x) { return gammainc(1.5, above_one(x)); }},
    {"betainc", [](const Tensor& x) { return betainc(2.5, 1.5, 0.5 * inside(x) + 0.5); }},
    {"entr", [](const Tensor& x) { return entr(above_one(x)); }},
    {"logit", [](const Tensor& x) { return logit(0.5 * inside(x) + 0.5); }},
    {"sinc", [](const Tensor& x) { return sinc(x); }},
    {"mantissa", [](const Tensor& x) { return frexp(above_one(x)).mantissa; }},
    {"sign", [](const Tensor& x) { return x * sign(x); }},
    {"floor", [](const Tensor& x) { return x * floor(3 * x); }},
    {"ceil", [](const Tensor& x) { return x * ceil(3 * x); }},
    {"round", [](const Tensor& x) { return x * round(3 * x); }},
    {"trunc", [](const Tensor& x) { return x * trunc(3 * x); }},
    {"frac", [](const Tensor& x) { return frac(3 * x); }},
    {"relu", [](const Tensor& x) { return relu(x); }},
    {"leaky_relu", [](const Tensor& x) { return leaky_relu(x, 0.1); }},
    {"elu", [](const Tensor& x) { return elu(x); }},
    {"gelu", [](const Tensor& x) { return gelu(x); }},
    {"gelu_by_tanh", [](const Tensor& x) { return gelu(x, Gelu::tanh); }},
    {"silu", [](const Tensor& x) { return silu(x); }},
    {"mish", [](const Tensor& x) { return mish(x); }},
    {"softplus", [](const Tensor& x) { return softplus(x); }},
    {"softsign", [](const Tensor& x) { return softsign(x); }},
    {"logsigmoid", [](const Tensor& x) { return logsigmoid(x); }},
    {"hardtanh", [](const Tensor& x) { return hardtanh(x); }},
    {"hardswish", [](const Tensor& x) { return hardswish(x); }},
    {"softshrink", [](const Tensor& x) { return softshrink(x); }},
    {"clip", [](const Tensor& x) { return clip(x, -0.8, 1.2); }},
    {"nan_to_num", [](const Tensor& x) { return nan_to_num(x); }},
    {kNarrow, [](const Tensor& x) { return astype(astype(x, DType::f32), DType::f64); }},
};

struct BinaryKind {
  const char* name;
  OfTwo f;
};
const BinaryKind kBinary[] = {
    {"add", [](const Tensor& a, const Tensor& b) { return a + b; }},
    {"subtract", [](const Tensor& a, const Tensor& b) { return a - b; }},
    {"multiply", [](const Tensor& a, const Tensor& b) { return a * b; }},
    {"divide", [](const Tensor& a, const Tensor& b) { return a / above_one(b); }},
    {"maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); }},
    {"minimum", [](const Tensor& a, const Tensor& b) { return minimum(a, b); }},
    {"power", [](const Tensor& a, const Tensor& b) { return power(above_one(a), tanh(b)); }},
    {"atan2", [](const Tensor& a, const Tensor& b) { return atan2(a, above_one(b)); }},
    {"hypot", [](const Tensor& a, const Tensor& b) { return hypot(a, above_one(b)); }},
    {"copysign", [](const Tensor& a, const Tensor& b) { return copysign(a, b); }},
    {"remainder", [](const Tensor& a, const Tensor& b) { return remainder(a, above_one(b)); }},
    {"fmod", [](const Tensor& a, const Tensor& b) { return fmod(a, above_one(b)); }},
    {"floor_divide",
     [](const Tensor& a, const Tensor& b) { return a * floor_divide(a, above_one(b)); }},
    {"logaddexp", [](const Tensor& a, const Tensor& b) { return logaddexp(a, b); }},
    {"xlogy", [](const Tensor& a, const Tensor& b) { return xlogy(a, above_one(b)); }},
    {"logaddexp2", [](const Tensor& a, const Tensor& b) { return logaddexp2(a, b); }},
    {"betaln", [](const Tensor& a, const Tensor& b) { return betaln(above_one(a), above_one(b)); }},
    {"rel_entr",
     [](const Tensor& a, const Tensor& b) { return rel_entr(above_one(a), above_one(b)); }},
    {"lerp", [](const Tensor& a, const Tensor& b) { return lerp(a, b, 0.3); }},
    {"addcdiv", [](const Tensor& a, const Tensor& b) { return addcdiv(a, b, above_one(a), 0.5); }},
    {"clip_by", [](const Tensor& a, const Tensor& b) { return clip(a, b - 0.5, b + 1.); }},
};

ChosenStep weighted_mean(Chooser& choose) {
  const size_t a = choose.real(), b = choose.stretching(a, DType::f64);
  const size_t share = choose.real();
  Chooser::need(choose.shape(share).rank() == 0 || choose.shape(share) == choose.shape(a));
  return {{a, b, share},
          [](std::span<const Tensor> x) { return Tensors{lerp(x[0], x[1], sigmoid(x[2]))}; }};
}

// In a trace, records the block as a function and calls it; otherwise runs it in place.
Tensors call(const Block& block, std::span<const Tensor> operands) {
  if (Trace::current() == nullptr || is_followed(operands)) return block(operands);
  RecordedFunction recorded;
  {
    // Each function of a program needs a unique name.
    static std::atomic<int> calls{0};
    Trace inner(fmt::format("inner_{}", ++calls));
    Tensors parameters;
    for (const Tensor& operand : operands) parameters.push_back(inner.parameter(operand.type()));
    recorded = inner.finish(block(parameters));
  }
  Tensors given(operands.begin(), operands.end());
  given.insert(given.end(), recorded.captures.begin(), recorded.captures.end());
  const ir::Callee callee{recorded.function->name(),
                          recorded.function->signature().size_parameters};
  return Trace::current()->record({.primitive = ir::primitive(ir::Structure::call),
                                   .operands = given,
                                   .callees = {&callee, 1}});
}

ChosenStep calling(Chooser& choose) {
  std::vector<size_t> operands{choose.real()};
  for (uint32_t more = choose.below(3); more > 0; --more) {
    operands.push_back(choose.value([](const ir::Type&) { return true; }));
  }
  const std::shared_ptr<const Block> block = choose.block(operands);
  return {operands, [block](std::span<const Tensor> x) { return call(*block, x); }, block};
}

}  // namespace

ChosenStep step_of(size_t x, OfOne f) {
  return {{x}, [f](std::span<const Tensor> given) { return Tensors{f(given[0])}; }};
}
ChosenStep step_of(size_t a, size_t b, OfTwo f) {
  return {{a, b}, [f](std::span<const Tensor> given) { return Tensors{f(given[0], given[1])}; }};
}
ChosenStep step_along(size_t x, int64_t axis, OfAxis f) {
  return {{x}, [f, axis](std::span<const Tensor> given) { return Tensors{f(given[0], axis)}; }};
}
ChosenStep step_along(size_t a, size_t b, int64_t axis,
                      Tensor (*f)(const Tensor& a, const Tensor& b, int64_t axis)) {
  return {{a, b}, [f, axis](std::span<const Tensor> given) {
            return Tensors{f(given[0], given[1], axis)};
          }};
}

namespace {

// Near the middle of the primitive's domain, for a function of the table.
Tensor inside_domain(const ir::Primitive& primitive, const Tensor& x) {
  const ir::Range range = primitive.numerics.domain.of_operand(0);
  const double middle = (range.low + range.high) / 2;
  const Tensor moved = tanh(x) * (0.9 * std::min((range.high - range.low) / 2, 1.));
  return middle == 0 ? moved : moved + middle;
}

bool has_slope(const ir::Primitive& primitive) {
  const Rules* const rules = find_rules(primitive);
  return rules != nullptr && !rules->partials.empty() &&
         rules->partials[0].kind != Partial::Kind::zero;
}

// The differentiable functions of the table that have no kind yet.
void add_table_kinds(std::vector<StepKind>& kinds) {
  for (const ir::Primitive* primitive : ir::primitives()) {
    const PublicFunction function = function_of(*primitive);
    const auto* const f = std::get_if<UnaryFunction>(&function);
    if (f == nullptr || !primitive->takes.contains(DType::f64) || !has_slope(*primitive) ||
        std::ranges::find(kinds, primitive->name, &StepKind::name) != kinds.end()) {
      continue;
    }
    kinds.push_back({primitive->name, [primitive, f = *f](Chooser& choose) -> ChosenStep {
                       return {{choose.real()}, [primitive, f](std::span<const Tensor> x) {
                                 return Tensors{f(inside_domain(*primitive, x[0]))};
                               }};
                     }});
  }
}

}  // namespace

void add_elementwise_kinds(std::vector<StepKind>& kinds) {
  for (const BinaryKind& kind : kBinary) {
    kinds.push_back({kind.name, [f = kind.f](Chooser& choose) {
                       const size_t a = choose.real(), b = choose.stretching(a, DType::f64);
                       return step_of(a, b, f);
                     }});
  }
  for (const UnaryKind& kind : kUnary) {
    kinds.push_back({std::string(kind.name),
                     [f = kind.f](Chooser& choose) { return step_of(choose.real(), f); }});
  }
  kinds.push_back({"weighted_mean", weighted_mean});
  add_table_kinds(kinds);
}

void add_calling_kinds(std::vector<StepKind>& kinds) {
  // Repeated, so that it is drawn more often.
  for (int repeat = 0; repeat < 6; ++repeat) kinds.push_back({"call", calling, true});
}

const std::vector<StepKind>& step_kinds() {
  static const std::vector<StepKind> all = [] {
    register_all();
    std::vector<StepKind> kinds;
    add_elementwise_kinds(kinds);
    add_along_kinds(kinds);
    add_arranging_kinds(kinds);
    add_index_kinds(kinds);
    add_product_kinds(kinds);
    add_calling_kinds(kinds);
    add_control_kinds(kinds);
    return kinds;
  }();
  return all;
}

}  // namespace plait
