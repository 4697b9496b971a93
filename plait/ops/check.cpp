#include "plait/ops/check.h"

#include <algorithm>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/ir/inference.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/samples.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

// Where the n-th element in row-major order lies.
std::vector<int64_t> place_of(int64_t n, const Sizes& sizes) {
  std::vector<int64_t> place(sizes.size());
  for (size_t axis = sizes.size(); axis-- > 0; n /= sizes[axis]) place[axis] = n % sizes[axis];
  return place;
}

void look_at(const Array& condition, const CheckAttributes& attributes,
             std::span<const int64_t> sample) {
  const Array packed = condition.contiguous();
  const auto truths = packed.elements<bool>();
  const auto failing = std::ranges::count(truths, false);
  if (failing == 0) return;
  std::string text = attributes.message.empty() ? "does not hold" : attributes.message;
  if (!sample.empty()) text += fmt::format(" (sample {})", fmt::join(sample, ", "));
  if (packed.rank() > 0) {
    const auto first = std::ranges::find(truths, false) - truths.begin();
    text += fmt::format(": {} of {} are false, the first at [{}]", failing, truths.size(),
                        fmt::join(place_of(first, packed.sizes()), ", "));
  }
  throw CheckError("{}", text);
}

struct CheckTable;
const CheckTable& check_ops();

struct CheckTable {
  const ir::Primitive& check =
      declare({.primitive = {.name = "check",
                             .summary = "An error with the message where one of these is false.",
                             .oracle = "the errors that tests/ops/check_test.cpp expects",
                             .attributes = &ir::schema_of<CheckAttributes>(),
                             .operands = ir::exactly(1),
                             .takes = kBoolean,
                             .infer =
                                 [](ir::Inference& in) {
                                   in.expect_array(0, kBoolean);
                                   expect_samples(in, in.attributes_as<CheckAttributes>().samples);
                                 },
                             .effects = [](const ir::Instruction&) -> ir::Effects {
                               return {.observable = true, .may_fail = true};
                             }},
               .rules = {.not_differentiable = "has no results",
                         .batching = {[](const auto& a, auto operands, const auto& batched) {
                           return with_more_samples<CheckAttributes>(check_ops().check, a, operands,
                                                                     batched);
                         }}},
               .evaluator = [](KernelCall& call, const void*) {
                 const auto& attributes = call.attributes.as<CheckAttributes>();
                 for_each_sample(call.operands, attributes.samples, [&](auto operands, auto place) {
                   look_at(operands[0], attributes, place);
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
    throw TypeError("expected truth values, not {}", condition.type().text())
        .hint("compare: x > 0, isfinite(x)");
  }
  apply_all(check_ops().check, {&condition, 1},
            ir::Attributes::of(CheckAttributes{.message = std::string(message)}));
}

void register_check() { check_ops(); }

}  // namespace plait
