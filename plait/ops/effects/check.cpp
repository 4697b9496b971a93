#include "plait/ops/effects/check.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/inside/samples.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/non_finite.h"

namespace plait {
namespace {

std::string sample_text(std::span<const int64_t> sample) {
  return sample.empty() ? "" : fmt::format(" (sample {})", fmt::join(sample, ", "));
}

void evaluate_check(const Array& condition, const CheckAttributes& attributes,
                    std::span<const int64_t> sample) {
  const Array packed = condition.contiguous();
  const auto truths = packed.elements<bool>();
  const auto failing = std::ranges::count(truths, false);
  if (failing == 0) return;
  std::string text = attributes.message.empty() ? "does not hold" : attributes.message;
  text += sample_text(sample);
  if (packed.rank() > 0) {
    const auto first = std::ranges::find(truths, false) - truths.begin();
    text += fmt::format(": {} of {} are false, the first at [{}]", failing, truths.size(),
                        fmt::join(place_of(first, packed.sizes()), ", "));
  }
  throw CheckError("{}", text);
}

void check_non_finite(const Array& x, const CheckFiniteAttributes& attributes,
                      std::span<const int64_t> sample) {
  const NonFinite found = non_finite_in(x);
  if (!found) return;
  throw CheckError("{}{} has {}", attributes.label.empty() ? "x" : attributes.label,
                   sample_text(sample), found.text())
      .hint("while a DetectAnomaly exists, the operation that produced the first one is an error");
}

// The common part of both primitives.
template <class Attributes>
ir::Primitive check_primitive(std::string_view name, std::string_view summary, DTypeSet takes) {
  return {.name = std::string(name),
          .summary = std::string(summary),
          .oracle = "the errors that tests/ops/effects/check_test.cpp expects",
          .attributes = &ir::schema_of<Attributes>(),
          .operands = ir::exactly(1),
          .takes = takes,
          .infer =
              [](ir::Inference& in) {
                in.expect_array(0, in.primitive.takes);
                expect_samples(in, in.attributes_as<Attributes>().samples);
              },
          .effects = [](const ir::Instruction&) -> ir::Effects {
            return {.observable = true, .may_fail = true};
          }};
}

struct CheckTable;
const CheckTable& check_ops();

struct CheckTable {
  const ir::Primitive& check =
      declare({.primitive = check_primitive<CheckAttributes>(
                   "check", "An error with the message if any element is false.", kBoolean),
               .rules = {.not_differentiable = "has no results",
                         .batching = {[](const auto& a, auto operands, const auto& batched) {
                           return batch_over_samples<CheckAttributes>(check_ops().check, a,
                                                                      operands, batched);
                         }}},
               .evaluator = [](KernelCall& call, const void*) {
                 if (call.operands[0].element_count() == 0) return;  // however many samples
                 const auto& attributes = call.attributes.as<CheckAttributes>();
                 for_each_sample(call.operands, attributes.samples, [&](auto operands, auto place) {
                   evaluate_check(operands[0], attributes, place);
                 });
               }});
  const ir::Primitive& check_finite = declare(
      {.primitive = check_primitive<CheckFiniteAttributes>(
           "check_finite", "An error with the name if any element is NaN or infinite.", kInexacts),
       .rules = {.not_differentiable = "has no results",
                 .batching = {[](const auto& a, auto operands, const auto& batched) {
                   return batch_over_samples<CheckFiniteAttributes>(check_ops().check_finite, a,
                                                                    operands, batched);
                 }}},
       .evaluator = [](KernelCall& call, const void*) {
         if (call.operands[0].element_count() == 0) return;  // however many samples
         const auto& attributes = call.attributes.as<CheckFiniteAttributes>();
         for_each_sample(call.operands, attributes.samples, [&](auto operands, auto place) {
           check_non_finite(operands[0], attributes, place);
         });
       }});
};
const CheckTable& check_ops() {
  static const CheckTable table;
  return table;
}

}  // namespace

void check(const Tensor& condition, std::string_view message) {
  const Call call("check", condition);
  if (!is_boolean(condition.dtype())) {
    throw TypeError("expected bool, not {}", condition.type().text())
        .hint("compare: x > 0, isfinite(x)");
  }
  apply_all(check_ops().check, {&condition, 1},
            ir::Attributes::of(CheckAttributes{.message = std::string(message)}));
}

Tensor check_finite(const Tensor& x, std::string_view name) {
  const Call call("check_finite", x);
  if (is_inexact(x.dtype())) {
    apply_all(check_ops().check_finite, {&x, 1},
              ir::Attributes::of(CheckFiniteAttributes{.label = std::string(name)}));
  }
  return x;
}

void register_check() { check_ops(); }

}  // namespace plait
