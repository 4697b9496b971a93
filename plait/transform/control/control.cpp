#include "plait/transform/control/control.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/random/random.h"
#include "plait/tensor/tracing/trace.h"
#include "plait/transform/inside/control/carried_sizes.h"
#include "plait/transform/inside/control/checkpointed.h"
#include "plait/transform/inside/control/open_recursion.h"
#include "plait/transform/inside/control/staged_branch.h"
#include "plait/transform/inside/control/staged_scan.h"
#include "plait/transform/inside/control/staged_while.h"
#include "plait/transform/inside/control/unrolled_scan.h"
#include "plait/transform/inside/derivatives/lifted_draws.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"

namespace plait {

Tensor holds(const SizeFact& fact) {
  const Tensor left = full({}, fact.left, DType::i64), right = full({}, fact.right, DType::i64);
  switch (fact.relation) {
    case SizeFact::equal: return equal(left, right);
    case SizeFact::not_equal: return not_equal(left, right);
    case SizeFact::less_equal: return less_equal(left, right);
    case SizeFact::less: break;
  }
  return less(left, right);
}

}  // namespace plait

namespace plait::control {
namespace {

void expect_scalar(std::string_view what, const Tensor& tensor, bool is_wanted_dtype,
                   std::string_view wanted) {
  if (tensor.rank() == 0 && is_wanted_dtype) return;
  throw TypeError("{} is {}, expected {}", what, tensor.type().text(), wanted)
      .at(Location::of_caller());
}

// True if the test is true for any carries.
bool is_always_true(const StagedFunction& test) {
  const ir::Function& function = *test.function;
  const ir::ValueId result = function.results()[0];
  const size_t own = function.parameter_count() - test.captures.size();
  if (result < function.parameter_count()) {
    return result >= own && !test.captures[result - own].is_traced() &&
           test.captures[result - own].item<bool>();
  }
  const ir::Instruction made = *function.definition(result);
  return made.primitive().structure == ir::Structure::literal &&
         Tensor(Array::of(made.attributes_as<ir::LiteralAttributes>().value)).item<bool>();
}

Tensors scan_now(const TensorFunction& body, std::span<const Tensor> initial,
                 std::span<const Tensor> stacked, int64_t length, bool reverse) {
  Tensors carries(initial.begin(), initial.end());
  std::vector<Tensors> given;
  for (int64_t step = 0; step < length; ++step) {
    const int64_t i = reverse ? length - 1 - step : step;
    Tensors arguments = carries;
    for (const Tensor& each : stacked) arguments.push_back(each[i]);
    Tensors results = body(arguments);
    if (results.size() < carries.size()) {
      throw ValueError("scan: the body returns {} tensors, fewer than the {} that are carried",
                       results.size(), carries.size())
          .at(Location::of_caller());
    }
    if (!given.empty() && results.size() - carries.size() != given[0].size()) {
      throw ValueError("scan: the body returns {} tensors, but returned {} at the first step",
                       results.size(), carries.size() + given[0].size())
          .at(Location::of_caller());
    }
    const auto next = std::span(results).first(carries.size());
    expect_carried("scan", ir_types_of(carries), ir_types_of(next), Location::of_caller(),
                   Carried::keeps_its_type);
    carries.assign(next.begin(), next.end());
    given.emplace_back(results.begin() + static_cast<std::ptrdiff_t>(carries.size()),
                       results.end());
  }
  if (reverse) std::ranges::reverse(given);
  Tensors all = carries;
  for (size_t k = 0; k < given[0].size(); ++k) {
    Tensors slices;
    for (const Tensors& each : given) slices.push_back(each[k]);
    all.push_back(stack(slices));
  }
  return all;
}

}  // namespace

Tensors cond(const Tensor& predicate, const TensorFunction& then, const TensorFunction& otherwise,
             std::span<const Tensor> operands) {
  expect_scalar("cond: the predicate", predicate, is_boolean(predicate.dtype()), "bool[]");
  if (Trace::current() == nullptr) {
    return predicate.item<bool>() ? then(operands) : otherwise(operands);
  }
  return stage_branches(ir::Structure::cond, predicate, {then, otherwise}, operands);
}

Tensors switch_(const Tensor& index, const std::vector<TensorFunction>& branches,
                std::span<const Tensor> operands) {
  expect_scalar("switch: the index", index, is_integer(index.dtype()), "an integer");
  if (branches.empty())
    throw ValueError("switch: expected at least one branch").at(Location::of_caller());
  if (Trace::current() != nullptr) {
    return stage_branches(ir::Structure::switch_, index, branches, operands);
  }
  const auto number = index.item<int64_t>();
  if (number >= 0 && static_cast<size_t>(number) < branches.size()) {
    return branches[static_cast<size_t>(number)](operands);
  }
  throw IndexError("switch: the index {} is out of range for {} branches", number, branches.size())
      .at(Location::of_caller());
}

Tensors while_loop(const TensorFunction& test, const TensorFunction& body,
                   std::span<const Tensor> initial, const LoopOptions& options) {
  if (options.checkpoints) return checkpointed_while(test, body, initial, *options.checkpoints);
  const std::vector<ir::Type> types = ir_types_of(initial);
  const auto expect_truth = [](const Tensor& truth) {
    expect_scalar("while: the test", truth, is_boolean(truth.dtype()), "bool[]");
  };
  if (Trace::current() == nullptr) {
    Tensors carries(initial.begin(), initial.end());
    while (true) {
      const Tensor truth = test(carries).at(0);
      expect_truth(truth);
      if (!truth.item<bool>()) return carries;
      Tensors next = body(carries);
      expect_carried("while", types, ir_types_of(next), Location::of_caller(),
                     Carried::may_change_sizes);
      carries = std::move(next);
    }
  }
  const auto checked = [&](std::span<const Tensor> given) {
    Tensors truth = test(given);
    expect_truth(truth.at(0));
    return truth;
  };
  std::optional<StagedBody> found;
  try {
    found = stage_body(types, body);
  } catch (const UnknownResults&) {  // zero steps are possible: use the initial types
    return placeholder_results(types);
  }
  const StagedFunction tests = stage("test", found->types, checked), &steps = found->body;
  if (is_always_true(tests)) {
    throw ValueError("while: the test is always true, whatever is carried ({})",
                     tests.function->location().text())
        .at(Location::of_caller())
        .hint("<, <=, > and >= compare sizes at run time");
  }
  if (draws_keys(tests.program) || draws_keys(steps.program)) {
    return while_with_keys(with_key(tests), with_key(steps), initial, random::draw_key());
  }
  Captures captures({});
  const std::vector<size_t> for_test = captures.add(tests), for_body = captures.add(steps);
  const size_t constants = captures.operands().size();
  std::vector<ir::Type> all = ir_types_of(captures.operands());
  all.insert(all.end(), found->types.begin(), found->types.end());
  const auto whole = [&](const StagedFunction& function, const std::vector<size_t>& places) {
    return stage(function.function->name(), all, [&](auto given) {
      return function(joined({given.subspan(constants), picked(given, places)}));
    });
  };
  return stage_while({whole(tests, for_test), whole(steps, for_body), constants, found->sizes},
                     joined({captures.operands(), initial}));
}

Tensors scan(const TensorFunction& body, std::span<const Tensor> initial,
             std::span<const Tensor> stacked, const ScanOptions& options) {
  std::optional<Dim> length = options.length;
  for (size_t i = 0; i < stacked.size(); ++i) {
    if (stacked[i].rank() == 0) {
      throw ShapeError("scan: {} is stacked, but has no axes", stacked[i].type().text())
          .at(Location::of_caller());
    }
    const Dim here = stacked[i].shape(0);
    if (!length) length = here;
    if (same(*length, here)) continue;
    throw ShapeError("scan: {} is stacked {} times, expected {}", stacked[i].type().text(),
                     here.text(), length->text())
        .at(Location::of_caller());
  }
  if (!length) {
    throw ValueError("scan: the number of steps is unknown")
        .at(Location::of_caller())
        .hint("pass it in the options: length");
  }
  if (length->is_number() && length->number() < 0) {
    throw ValueError("scan: a length of {}, expected 0 or more", length->number())
        .at(Location::of_caller());
  }
  if (options.unroll < 1 || (options.unroll > 1 && options.checkpoints)) {
    throw ValueError("scan: unroll is {}, expected 1 or more{}", options.unroll,
                     options.checkpoints ? ", and 1 with checkpoints" : "")
        .at(Location::of_caller());
  }
  if (options.checkpoints) {
    return checkpointed_scan(body, initial, stacked, *length, options.reverse,
                             *options.checkpoints);
  }
  const bool runs_now = Trace::current() == nullptr;
  if (runs_now && !same(*length, Dim(0))) {
    return scan_now(body, initial, stacked, length->number(), options.reverse);
  }
  if (options.unroll > 1) return unrolled_scan(body, initial, stacked, *length, options);
  std::vector<ir::Type> types = ir_types_of(initial);
  for (const Tensor& each : stacked) {
    const ir::Type type = each.type();
    types.push_back(type.without_sharding().with_shape(Shape(type.shape().dims().subspan(1))));
  }
  const StagedFunction step = stage("body", types, body);
  const auto& results = step.function->signature().results;
  expect_carried("scan", std::span(types).first(initial.size()),
                 std::span(results).first(std::min(initial.size(), results.size())),
                 step.function->location(), Carried::keeps_its_type);
  if (runs_now) {
    Tensors nothing(initial.begin(), initial.end());
    for (size_t i = initial.size(); i < results.size(); ++i) {
      Shape shape{0};
      for (const Dim dim : results[i].shape()) shape.append(dim);
      nothing.push_back(zeros(shape, results[i].dtype()));
    }
    return nothing;
  }
  if (draws_keys(step.program)) {
    return scan_with_keys(with_key(step), initial, stacked, {*length, options.reverse},
                          random::draw_key());
  }
  const size_t constants = step.captures.size();
  const Tensors operands = joined({step.captures, initial, stacked});
  std::vector<ir::Type> all = ir_types_of(step.captures);
  all.insert(all.end(), types.begin(), types.end());
  const StagedFunction whole = stage("body", all, [&](auto given) {
    return step(joined({given.subspan(constants), given.first(constants)}));
  });
  return stage_scan(whole, {constants, initial.size(), *length, options.reverse}, operands);
}

Tensor numbers(Dim first, Dim end) { return iota(end - first) + first; }

}  // namespace plait::control
