#include "plait/transform/inside/forms/remat/staged_remat.h"

#include "plait/transform/derivatives/follow.h"
#include "plait/transform/derivatives/vjp.h"
#include "plait/transform/inside/derivatives/derived_functions.h"
#include "plait/transform/inside/derivatives/rule_levels.h"
#include "plait/transform/inside/derivatives/tangents.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"

namespace plait {
namespace {

// `remat` in a trace. If it is followed, it also returns what its policy stores, and its
// derivatives take that as operands. Each of them is a `remat` instruction too.
class StagedRemat {
 public:
  StagedRemat(StagedFunction function, RematPolicy policy)
      : function_(std::move(function)), policy_(std::move(policy)), keeps_(keeps_of(policy_)) {}

  std::vector<Tensor> run(std::span<const Tensor> operands) const {
    const size_t count = function_.function->results().size();
    const bool derives = is_followed(operands);
    if (derives && customs::are_several_levels(operands) && customs::has_rules(function_)) {
      return run_by_levels(operands);
    }
    const NewCallee callee{function_.function->name(), ir_types_of(operands),
                           derives ? keeping() : TensorFunction(function_)};
    std::vector<Tensor> results = record_with_callees(ir::primitive(ir::Structure::remat), operands,
                                                      ir::Attributes::of(policy_), {&callee, 1});
    if (!derives) return results;
    std::vector<bool> wanted;
    for (const Tensor& operand : operands) {
      wanted.push_back(has_tangent(operand) && is_followed(operand));
    }
    const std::vector<Tensor> taken(operands.begin(), operands.end());
    const std::vector<Shape> shapes = control::shapes_of(results);
    results = follow_custom(
        {.inputs = taken,
         .residuals = taken,
         .results = std::move(results),
         .backward =
             [self = *this, wanted, count](auto cotangents, const Node::Kept& kept) {
               return self.pull(kept.residuals, kept.results.subspan(count), cotangents, wanted);
             },
         .forward =
             [self = *this, shapes, count](auto tangents, const Node::Kept& kept, uint64_t) {
               return control::refined(
                   self.push(kept.residuals, kept.results.subspan(count), tangents), shapes);
             },
         .first_kept = count});
    results.resize(count);
    return results;
  }

 private:
  // The innermost level uses the rules in the function. It computes everything again, whatever the
  // policy, since what is stored belongs to the function without rules.
  std::vector<Tensor> run_by_levels(std::span<const Tensor> operands) const {
    const customs::RuleLevels levels(operands);
    const std::vector<Tensor> outer = levels.outer(operands), inner = levels.inner(operands);
    const StagedFunction computing = stage(function_.function->name(), ir_types_of(outer),
                                           customs::without_rules(function_), {.beside = outer});
    const std::vector<Tensor> found = StagedRemat(computing, policy_).run(outer);
    const std::vector<bool> wanted = control::which_are_followed(inner),
                            inexact = control::which_are_inexact(found);
    return customs::follow_with(
        {.inputs = inner,
         .residuals = outer,
         .results = found,
         .backward =
             [self = *this, wanted](auto cotangents, const Node::Kept& kept) {
               return spread(self.pull_all(kept.residuals, cotangents, wanted), wanted);
             },
         .forward =
             [self = *this, inexact](auto tangents, const Node::Kept& kept, uint64_t) {
               return spread(self.push_all(kept.residuals, tangents), inexact);
             }},
        customs::seen_results(found));
  }

  std::vector<Tensor> pull_all(std::span<const Tensor> operands, std::span<const Tensor> cotangents,
                               const std::vector<bool>& wanted) const {
    const std::vector<bool> arrived = which_are_present(cotangents);
    const auto pulled = [&](std::span<const Tensor> given) {
      return control::pulled(function_, given.first(operands.size()), wanted,
                             spread(given.subspan(operands.size()), arrived));
    };
    return derived("pull", joined({operands, present_of(cotangents)}), pulled);
  }

  std::vector<Tensor> push_all(std::span<const Tensor> operands,
                               std::span<const Tensor> tangents) const {
    const std::vector<bool> moving = which_are_present(tangents);
    const auto pushed = [&](std::span<const Tensor> given) {
      return control::pushed(function_, given.first(operands.size()),
                             spread(given.subspan(operands.size()), moving))
          .second;
    };
    return derived("push", joined({operands, present_of(tangents)}), pushed);
  }

  bool keeps(const ir::Instruction& instruction) const {
    const ir::Primitive& primitive = instruction.primitive();
    return keeps_(primitive, instruction.attributes()) ||
           (primitive.effects && primitive.effects(instruction).observable);
  }

  // Returns the results, followed by the stored values in order of computation.
  TensorFunction keeping() const {
    const bool stores = ir::any_instruction(
        function_.program, [&](const ir::Instruction& each) { return keeps(each); });
    if (!stores)
      return customs::has_rules(function_) ? customs::without_rules(function_) : function_;
    return [self = *this](std::span<const Tensor> operands) {
      std::vector<Tensor> kept;
      const RunOptions options{.in_place_of = [&](const ApplyInstruction& apply) {
        std::vector<Tensor> results = apply.run();
        if (self.keeps(apply.instruction)) {
          kept.insert(kept.end(), results.begin(), results.end());
        }
        return results;
      }};
      return joined({self.function_(operands, options), kept});
    };
  }

  // The same function, with given stored values.
  std::vector<Tensor> again(std::span<const Tensor> operands, std::span<const Tensor> kept) const {
    std::span<const Tensor> left = kept;
    std::vector<Tensor> followed;
    const RunOptions options{.in_place_of = [&](const ApplyInstruction& apply) {
      if (!keeps(apply.instruction)) return apply.run();
      const auto known = left.first(apply.instruction.result_count());
      left = left.subspan(known.size());
      const std::vector<Tensor> results =
          follow_results(apply.instruction.primitive(), apply.operands, apply.attributes,
                         {known.begin(), known.end()});
      followed.insert(followed.end(), results.begin(), results.end());
      return results;
    }};
    const std::vector<Tensor> results = function_(operands, options);
    return joined({results, followed});
  }

  std::vector<Tensor> pull(std::span<const Tensor> operands, std::span<const Tensor> kept,
                           std::span<const Tensor> cotangents,
                           const std::vector<bool>& wanted) const {
    const std::vector<bool> arrived = which_are_present(cotangents);
    const auto pulled = [&](std::span<const Tensor> given) {
      const auto [inner, inner_kept, inner_cotangents] = parts(given, operands.size(), kept.size());
      Pullback pullback;
      std::vector<Tensor> arguments(inner.begin(), inner.end());
      for (size_t i = 0; i < arguments.size(); ++i) {
        if (wanted[i]) arguments[i] = pullback.begin(arguments[i]);
      }
      const std::vector<Tensor> cotangents = spread(inner_cotangents, arrived);
      const std::vector<Tensor> results = again(arguments, inner_kept);
      for (size_t i = 0; i < results.size(); ++i) {
        const Shape shape = cotangents[i] ? cotangents[i].shape() : results[i].shape();
        pullback.finish(control::refined(results[i], shape));
      }
      pullback.close();
      return pullback(cotangents, false);
    };
    return spread(derived("pull", joined({operands, kept, present_of(cotangents)}), pulled),
                  wanted);
  }

  std::vector<Tensor> push(std::span<const Tensor> operands, std::span<const Tensor> kept,
                           std::span<const Tensor> tangents) const {
    const std::vector<bool> moving = which_are_present(tangents);
    std::vector<bool> moved;
    const auto pushed = [&](std::span<const Tensor> given) {
      const auto [inner, inner_kept, inner_tangents] = parts(given, operands.size(), kept.size());
      Pushforward pushforward;
      const std::vector<Tensor> along = spread(inner_tangents, moving);
      std::vector<Tensor> arguments, found;
      for (size_t i = 0; i < along.size(); ++i) {
        arguments.push_back(pushforward.begin(inner[i], along[i]));
      }
      for (const Tensor& result : again(arguments, inner_kept)) {
        moved.push_back(has_tangent(result));
        if (moved.back()) found.push_back(pushforward.finish(result).second);
      }
      return found;
    };
    const std::vector<Tensor> found =
        derived("push", joined({operands, kept, present_of(tangents)}), pushed);
    return spread(found, moved);
  }

  struct Parts {
    std::span<const Tensor> operands, kept, rest;
  };
  static Parts parts(std::span<const Tensor> all, size_t operands, size_t kept) {
    return {all.first(operands), all.subspan(operands, kept), all.subspan(operands + kept)};
  }

  std::vector<Tensor> derived(std::string_view what, const std::vector<Tensor>& operands,
                              const TensorFunction& function) const {
    const std::string name = fmt::format("{}.{}", function_.function->name(), what);
    return StagedRemat(stage(name, ir_types_of(operands), function), save_nothing()).run(operands);
  }

  const StagedFunction function_;
  const RematPolicy policy_;
  const Sketch::Keeps keeps_;
};

}  // namespace

std::vector<Tensor> run_staged_remat(StagedFunction function, std::span<const Tensor> operands,
                                     const RematPolicy& policy) {
  return StagedRemat(std::move(function), policy).run(operands);
}

}  // namespace plait
