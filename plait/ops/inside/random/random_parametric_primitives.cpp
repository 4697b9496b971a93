#include <cmath>

#include "plait/core/error.h"
#include "plait/core/inside/mathematics/gamma_functions.h"
#include "plait/ir/inference.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/random/random_primitives.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

// Returns the shape of the parameter, which must begin with that of the keys.
Shape parameter_shape(const ir::Inference& in, size_t operand, DTypeSet dtypes) {
  in.expect_array(0, DTypeSet(DType::key));
  in.expect_array(operand, dtypes);
  const Shape keys = in.operands[0].shape(), shape = in.operands[operand].shape();
  if (shape.rank() < keys.rank() || !same(Shape(shape.dims().first(keys.rank())), keys)) {
    throw ShapeError("{}: the sizes of {} do not begin with those of {}", in.primitive.name,
                     in.operands[operand].text(), in.operands[0].text())
        .at(in.location);
  }
  return shape;
}

void infer_gamma(ir::Inference& in) {
  parameter_shape(in, 1, kFloatings);
  in.give(in.operands[1].without_sharding());
}

void infer_poisson(ir::Inference& in) {
  parameter_shape(in, 1, kFloatings);
  in.give(in.operands[1].without_sharding().with_dtype(DType::i64));
}

void infer_binomial(ir::Inference& in) {
  parameter_shape(in, 1, DTypeSet(DType::i64));
  parameter_shape(in, 2, kFloatings);
  const ir::Type result = in.operands[2].without_sharding().with_dtype(DType::i64);
  in.expect_alike(in.operands[1], result);
  in.give(result);
}

void infer_multinomial(ir::Inference& in) {
  Shape shape = parameter_shape(in, 1, DTypeSet(DType::i64));
  const Shape weights = parameter_shape(in, 2, kFloatings);
  if (weights.rank() == 0) {
    throw ShapeError("{}: expected a weight for each category, not {}", in.primitive.name,
                     in.operands[2].text())
        .at(in.location);
  }
  shape.append(weights.at(-1));
  const ir::Type result = in.operands[1].without_sharding().with_shape(shape);
  in.expect_alike(in.operands[2].with_dtype(DType::i64), result);
  in.give(result);
}

using Operands = std::span<const Tensor>;
using Lanes = std::vector<bool>;

// Implicit reparameterisation: the sample is a quantile, whose derivative by the parameter is that
// at a constant probability (Figurnov, Mohamed and Mnih, "Implicit reparameterization gradients",
// 2018).
std::vector<Tensor> gamma_tangents(const RuleContext& c, std::span<const Tensor> tangents) {
  if (!tangents[1]) return {Tensor()};
  const Tensor& x = c.result();
  const DType dtype = x.dtype(), wide = computed(dtype);
  const bool is_log = c.attributes.as<RandomGammaAttributes>().log;
  const Tensor a = astype(c.operand(1), wide), drawn = astype(x, wide);
  const Tensor log_x = is_log ? drawn : log(drawn);
  const Tensor slope = apply(parametric_primitives().gamma_slope, {a, log_x});
  if (is_log) return {astype(slope, dtype) * tangents[1]};
  // A sample that underflowed to 0 stays 0.
  return {astype(where(drawn == 0, 0, drawn * slope), dtype) * tangents[1]};
}

// Without a rule it would count as a constant.
std::vector<Tensor> refuse_second_derivative(const RuleContext& c, std::span<const Tensor>) {
  throw ValueError(
      "random_gamma_slope: the derivative of a sample, at {}, has no derivative itself",
      c.operand_types[0].text())
      .hint("if none is needed, use stop_gradient() of the parameter");
}

struct Parametric {
  const char* name;
  const char* summary;
  const char* oracle;
  uint32_t operands;
  DTypeSet takes;
  void (*infer)(ir::Inference&);
  void (*evaluator)(KernelCall&, const void*);
  Rules rules;
  const ir::AttributeSchema* attributes = nullptr;
};

const ir::Primitive& parametric(Parametric declared) {
  return declare({.primitive = {.name = declared.name,
                                .summary = declared.summary,
                                .oracle = declared.oracle,
                                .attributes = declared.attributes,
                                .operands = ir::exactly(declared.operands),
                                .takes = declared.takes | DTypeSet(DType::key),
                                .infer = declared.infer},
                  .rules = std::move(declared.rules),
                  .evaluator = declared.evaluator});
}

Rules counts(decltype(Batching::of) batching) {
  return {.not_differentiable = "returns integers", .batching = {batching}};
}

}  // namespace

const ParametricPrimitives& parametric_primitives() {
  static const ParametricPrimitives table{
      .gamma = parametric(
          {"random_gamma", "A sample of the gamma distribution for each parameter.",
           "scipy.stats.kstest of many samples", 2, kFloatings, infer_gamma, random_gamma_now,
           Rules{.tangents = {kSecond | kResult, gamma_tangents},
                 .batching = {[](const ir::Attributes& a, Operands operands, const Lanes& lanes) {
                   return apply_all(parametric_primitives().gamma, all_batched(operands, lanes), a);
                 }}},
           &ir::schema_of<RandomGammaAttributes>()}),
      .gamma_slope = declare(
          {.primitive =
               {.name = "random_gamma_slope",
                .summary =
                    "The derivative of the logarithm of a quantile of the gamma distribution with "
                    "respect to the parameter; operands the parameter and the logarithm.",
                .oracle = "differences of scipy.special.gammainc",
                .operands = ir::exactly(2),
                .takes = kFloatings,
                .elementwise = ir::Elementwise::same,
                .body = {.real =
                             [](std::span<const double> x) {
                               return special::log_gamma_quantile_da(x[0], x[1]);
                             }}},
           .rules = {.tangents = {Reads::nothing(), refuse_second_derivative}}}),
      .poisson = parametric(
          {"random_poisson", "The number of events for each rate.",
           "scipy.stats.chisquare of many samples", 2, kFloatings, infer_poisson,
           random_poisson_now,
           counts([](const ir::Attributes&, Operands operands, const Lanes& lanes) {
             return apply_all(parametric_primitives().poisson, all_batched(operands, lanes));
           })}),
      .binomial = parametric(
          {"random_binomial", "The number of successes for each number of trials and probability.",
           "scipy.stats.chisquare of many samples", 3, kFloatings | DTypeSet(DType::i64),
           infer_binomial, random_binomial_now,
           counts([](const ir::Attributes&, Operands operands, const Lanes& lanes) {
             return apply_all(parametric_primitives().binomial, all_batched(operands, lanes));
           })}),
      .multinomial = parametric(
          {"random_multinomial",
           "The number of trials in each category for each number of trials, by weights along the "
           "last dimension.",
           "scipy.stats.chisquare of many samples", 3, kFloatings | DTypeSet(DType::i64),
           infer_multinomial, random_multinomial_now,
           counts([](const ir::Attributes&, Operands operands, const Lanes& lanes) {
             return apply_all(parametric_primitives().multinomial, all_batched(operands, lanes));
           })}),
  };
  return table;
}

}  // namespace plait
