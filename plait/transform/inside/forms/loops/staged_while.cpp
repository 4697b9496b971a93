#include "plait/transform/inside/forms/loops/staged_while.h"

#include "plait/ir/structure.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/derivatives/follow.h"
#include "plait/transform/inside/batching/varying.h"
#include "plait/transform/inside/derivatives/derivative.h"
#include "plait/transform/inside/derivatives/derived_functions.h"
#include "plait/transform/inside/derivatives/rule_levels.h"
#include "plait/transform/inside/derivatives/tangents.h"
#include "plait/transform/inside/derivatives/taped.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/forms/loops/changing_while.h"
#include "plait/transform/inside/forms/loops/staged_scan.h"
#include "plait/transform/inside/running/sizes_between.h"

namespace plait::control {
namespace {

// A loop whose carries keep their sizes.
class While {
 public:
  explicit While(const StagedLoop& loop) : loop_(loop) {}

  Tensors run(std::span<const Tensor> operands) const { return run_counted(operands).results; }

 private:
  struct Counted {
    Tensors results;
    Tensor steps;
  };

  // Counts the steps for the backward pass.
  Counted run_counted(std::span<const Tensor> operands) const {
    const bool has_rules = customs::has_rules(loop_.body);
    if (has_rules && customs::are_several_levels(operands)) return run_by_levels(operands);
    Tensors all = record_counted(
        has_rules ? customs::without_rules(loop_.body) : TensorFunction(loop_.body), operands);
    const Tensor steps = all.back();
    all.pop_back();
    const Tensors taken(operands.begin(), operands.end());
    return {follow_custom(custom(taken, taken, steps, std::move(all))), steps};
  }

  // The innermost level uses the rules in the body.
  Counted run_by_levels(std::span<const Tensor> operands) const {
    const customs::RuleLevels levels(operands);
    const Tensors outer = levels.outer(operands);
    StagedLoop computing = loop_;
    computing.body = stage(loop_.body.function->name(), ir_types_of(outer),
                           customs::without_rules(loop_.body), {.beside = outer});
    const Counted found = While(computing).run_counted(outer);
    return {customs::follow_with(custom(levels.inner(operands), outer, found.steps, found.results),
                                 customs::seen_results(found.results)),
            found.steps};
  }

  Tensors record_counted(const TensorFunction& body, std::span<const Tensor> operands) const {
    const Tensor none = vary_along(scalar(0), axes_of_results(loop_.test)[0]);
    const auto test = [&](std::span<const Tensor> given) {
      return loop_.test(given.first(given.size() - 1));
    };
    const auto counting = [&](std::span<const Tensor> given) {
      Tensors next = body(given.first(given.size() - 1));
      next.push_back(given.back() + 1);
      return next;
    };
    return record_while(loop_, test, counting, joined({operands, {&none, 1}}));
  }

  Custom custom(const Tensors& inputs, const Tensors& operands, const Tensor& steps,
                Tensors results) const {
    const std::vector<bool> wanted = which_are_followed(inputs);
    const std::vector<bool> inexact = which_are_inexact(results);
    return {.inputs = inputs,
            .residuals = joined({operands, {&steps, 1}}),
            .results = std::move(results),
            .backward =
                [self = *this, wanted](auto cotangents, const Node::Kept& kept) {
                  return spread(self.pull(kept.residuals, wanted, cotangents), wanted);
                },
            .forward =
                [self = *this, inexact](auto tangents, const Node::Kept& kept, uint64_t) {
                  const auto operands = kept.residuals.first(kept.residuals.size() - 1);
                  return spread(self.push(operands, tangents), inexact);
                }};
  }

  static Tensor scalar(int64_t value) { return full({}, value, DType::i64); }

  // VJP through a scan of at least that many steps: surplus steps change nothing.
  Tensors pull(std::span<const Tensor> residuals, const std::vector<bool>& wanted,
               std::span<const Tensor> cotangents) const {
    const auto operands = residuals.first(residuals.size() - 1);
    const Tensor& steps = residuals.back();
    const size_t constants = loop_.constants, carries = loop_.carries();
    const Tensor start = scalar(0);
    // Constants and the number of steps; carries and the index of the step.
    const auto all = [&](std::span<const Tensor> given) {
      return joined({given.first(constants), {&steps, 1}, given.subspan(constants), {&start, 1}});
    };
    const auto step = [&](std::span<const Tensor> given) {
      const Tensor& i = given.back();
      const auto state = joined({given.first(constants), given.subspan(constants + 1, carries)});
      const auto same = [&](std::span<const Tensor> now) {
        const auto kept = now.subspan(constants);
        return Tensors(kept.begin(), kept.end());
      };
      Tensors next = cond(i < given[constants], loop_.body, same, state);
      next.push_back(i + 1);
      return next;
    };
    const StagedFunction body = stage(loop_.body.function->name(), ir_types_of(all(operands)), step,
                                      {.beside = all(operands)});
    const Dim length = Trace::current()->as_size(steps, true);
    const ScanShape shape{constants + 1, carries + 1, length, false};
    const auto loop = [&](std::span<const Tensor> given) {
      Tensors results = stage_scan(body, shape, all(given));
      results.pop_back();
      return results;
    };
    return pulled(loop, operands, wanted, cotangents);
  }

  Tensors push(std::span<const Tensor> operands, std::span<const Tensor> tangents) const {
    const LoopWithTangents moving = with_tangents(loop_, operands, tangents);
    const Tensors found = stage_while(moving.loop, moving.operands);
    return {found.begin() + ptr(loop_.carries()), found.end()};
  }

  StagedLoop loop_;
};

// New symbols for the sizes that change.
std::vector<Dim> own_sizes(const StagedLoop& loop) {
  if (loop.sizes.empty()) return {};
  Trace scratch("sizes", Trace::apart);
  std::vector<Dim> names;
  for (const Dim size : loop.sizes) names.push_back(scratch.function().fresh_size(stem_of(size)));
  return names;
}

// The parameter types of the callees, with further carries at the end.
std::vector<ir::Type> types_of(const StagedLoop& loop, std::span<const Dim> own_sizes,
                               std::span<const Tensor> operands) {
  if (loop.sizes.empty()) return ir_types_of(operands);
  SymbolMap<Dim> names;
  for (size_t i = 0; i < own_sizes.size(); ++i) names.set(loop.sizes[i], own_sizes[i]);
  std::vector<ir::Type> types;
  for (const ir::Type& type : loop.types()) types.push_back(type.substitute(names));
  for (const Tensor& more : operands.subspan(types.size())) types.push_back(more.type());
  return types;
}

}  // namespace

Tensors record_while(const StagedLoop& loop, const TensorFunction& test, const TensorFunction& body,
                     std::span<const Tensor> operands) {
  const std::vector<Dim> own = own_sizes(loop);
  const std::vector<ir::Type> types = types_of(loop, own, operands);
  std::vector<NewCallee> callees{{loop.test.function->name(), types, test},
                                 {loop.body.function->name(), types, body}};
  if (!loop.sizes.empty()) {
    for (NewCallee& callee : callees) {
      callee.own_sizes = own;
      callee.begin_as = sizes_shown(loop.sizes, loop.types(), operands);
      callee.other_sizes = sizes_besides(types, own);
    }
    callees[1].gives_sizes = true;
  }
  const ir::WhileAttributes attributes{static_cast<int64_t>(loop.constants)};
  return record_with_callees(ir::primitive(ir::Structure::while_), operands,
                             ir::Attributes::of(attributes), callees);
}

Tensors record_while(const StagedLoop& loop, std::span<const Tensor> operands) {
  return record_while(loop, loop.test, loop.body, operands);
}

LoopWithTangents with_tangents(const StagedLoop& loop, std::span<const Tensor> operands,
                               std::span<const Tensor> tangents) {
  const size_t constants = loop.constants, carries = loop.carries();
  const std::vector<ir::Type> types = loop.sizes.empty() ? ir_types_of(operands) : loop.types();
  std::vector<bool> moving = which_are_present(tangents);
  Tensors starts;
  std::vector<ir::Type> start_types;
  for (size_t i = constants; i < operands.size(); ++i) {
    moving[i] = has_tangent(operands[i]);
    if (!moving[i]) continue;
    starts.push_back(as_varying_as(or_zeros(tangents[i], operands[i]), operands[i].type()));
    start_types.push_back(types[i].is_array() ? types[i] : starts.back().type());
  }
  const auto split = moving.begin() + ptr(constants);
  const std::vector<bool> of_constants(moving.begin(), split), of_carries(split, moving.end());
  const Tensors more = chosen(tangents.first(constants), of_constants);
  std::vector<ir::Type> all_types(types.begin(), types.begin() + ptr(constants));
  const auto append = [&](std::span<const ir::Type> some) {
    all_types.insert(all_types.end(), some.begin(), some.end());
  };
  append(ir_types_of(more));
  append(std::span(types).subspan(constants));
  append(start_types);
  const auto plain = [=](std::span<const Tensor> given) {
    return joined({given.first(constants), given.subspan(constants + more.size(), carries)});
  };
  StagedFunction test =
      stage("test", all_types, [&](auto given) { return loop.test(plain(given)); });
  StagedFunction body = stage("body", all_types, [&](auto given) {
    const auto dc = given.subspan(constants, more.size());
    const auto dx = given.subspan(constants + more.size() + carries);
    const auto [values, moved] =
        pushed(loop.body, plain(given), joined({spread(dc, of_constants), spread(dx, of_carries)}));
    return joined({values, moved});
  });
  return {{std::move(test), std::move(body), constants + more.size(), loop.sizes},
          joined({operands.first(constants), more, operands.subspan(constants), starts})};
}

namespace {

Tensors stage_agreed(const StagedLoop& loop, std::span<const Tensor> operands) {
  if (!is_followed(operands)) return record_while(loop, operands);
  return loop.sizes.empty() ? While(loop).run(operands) : follow_changing(loop, operands);
}

// Each carry varies along all axes that it varies along after any step. Everything varies along the
// axes that determine the number of steps.
StagedLoop agreed(const StagedLoop& loop, Tensors& operands) {
  StagedLoop all = loop;
  vary_until_settled(operands, [&](std::span<const ir::Type> given) {
    std::vector<ir::Type> types = loop.types();
    for (size_t i = 0; i < types.size(); ++i) {
      types[i] = types[i].with_varying(given[i].all_varying());
    }
    all.test = of_types(loop.test, types);
    all.body = of_types(loop.body, types);
    std::vector<ir::AxisSet> axes(operands.size(), axes_of_results(all.test)[0]);
    const std::vector<ir::AxisSet> after = axes_of_results(all.body);
    for (size_t i = 0; i < after.size(); ++i) axes[loop.constants + i].insert(after[i]);
    return axes;
  });
  std::vector<ir::AxisSet> carried;
  for (const Tensor& carry : std::span(operands).subspan(loop.constants)) {
    carried.push_back(axes_of(carry));
  }
  all.body = with_results_along(all.body, carried);
  return all;
}

}  // namespace

Tensors stage_while(const StagedLoop& loop, std::span<const Tensor> given) {
  if (!has_open_axes()) return stage_agreed(loop, given);
  Tensors operands(given.begin(), given.end());
  const StagedLoop varying = agreed(loop, operands);
  return stage_agreed(varying, operands);
}

}  // namespace plait::control
