#include "plait/transform/inside/forms/loops/staged_scan.h"

#include "plait/ir/structure.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/transform/derivatives/follow.h"
#include "plait/transform/inside/batching/varying.h"
#include "plait/transform/inside/derivatives/derived_functions.h"
#include "plait/transform/inside/derivatives/rule_levels.h"
#include "plait/transform/inside/derivatives/tangents.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"

namespace plait::control {
namespace {

class Scan {
 public:
  Scan(StagedFunction body, const ScanShape& shape) : body_(std::move(body)), shape_(shape) {}

  Tensors run(std::span<const Tensor> given) const {
    if (!has_open_axes()) return run_agreed(given);
    Tensors operands(given.begin(), given.end());
    return agreed(operands).run_agreed(operands);
  }

 private:
  // Each carry varies along all axes that it varies along after any step.
  Scan agreed(Tensors& operands) const {
    Scan all = *this;
    vary_until_settled(operands, [&](const std::vector<ir::Type>&) {
      all.body_ = of_types(body_, parameters_of(operands));
      std::vector<ir::AxisSet> axes(operands.size());
      const std::vector<ir::AxisSet> after = axes_of_results(all.body_);
      for (size_t i = 0; i < shape_.carries; ++i) axes[shape_.constants + i] = after[i];
      return axes;
    });
    std::vector<ir::AxisSet> carried;
    for (const Tensor& carry : carries_of(operands)) carried.push_back(axes_of(carry));
    all.body_ = with_results_along(all.body_, carried);
    return all;
  }

  Tensors run_agreed(std::span<const Tensor> operands) const {
    if (!is_followed(operands)) return record(body_, operands);
    const bool has_rules = customs::has_rules(body_);
    if (has_rules && customs::are_several_levels(operands)) return run_by_levels(operands);
    const size_t results = body_.function->results().size();
    const std::vector<bool> wanted = which_are_followed(operands);
    const TensorFunction keeping = this->keeping(body_);
    Tensors all =
        record(has_rules ? this->keeping(customs::without_rules(body_)) : keeping, operands);
    const std::vector<bool> inexact = which_are_inexact(all);
    const Tensors taken(operands.begin(), operands.end());
    all = follow_custom(
        {.inputs = taken,
         .residuals = taken,
         .results = std::move(all),
         .backward =
             [self = *this, wanted, results](auto cotangents, const Node::Kept& kept) {
               return self.pull(kept.residuals, kept.results.subspan(results), wanted, cotangents);
             },
         .forward =
             [self = *this, keeping, inexact](auto tangents, const Node::Kept& kept, uint64_t) {
               return spread(self.push(keeping, kept.residuals, tangents), inexact);
             },
         .first_kept = results});
    all.resize(results);
    return all;
  }

  // Returns the body with the carries at the start of each step as further results.
  TensorFunction keeping(TensorFunction body) const {
    return [self = *this, body = std::move(body)](std::span<const Tensor> given) {
      return joined({body(given), self.carries_of(given)});
    };
  }

  // The innermost level uses the rules in the body.
  Tensors run_by_levels(std::span<const Tensor> operands) const {
    const customs::RuleLevels levels(operands);
    const Tensors outer = levels.outer(operands), inner = levels.inner(operands);
    const TensorFunction computes = keeping(customs::without_rules(body_));
    const StagedFunction body =
        stage(body_.function->name(), parameters_of(outer), computes, {.beside = outer});
    const Tensors all = Scan(body, shape_).run_agreed(outer);
    const size_t count = operands.size(), results = body_.function->results().size();
    const Tensors found(all.begin(), all.begin() + ptr(results));
    const std::vector<bool> wanted = which_are_followed(inner), inexact = which_are_inexact(all);
    return customs::follow_with(
        {.inputs = inner,
         .residuals = joined({outer, std::span(all).subspan(results)}),
         .results = found,
         .backward =
             [self = *this, wanted, count](auto cotangents, const Node::Kept& kept) {
               const auto begun = kept.residuals.subspan(count);
               const Tensors none(begun.size());  // nothing depends on these carries
               return self.pull(kept.residuals.first(count), begun, wanted,
                                joined({cotangents, none}));
             },
         .forward =
             [self = *this, inexact, count, results](auto tangents, const Node::Kept& kept,
                                                     uint64_t) {
               Tensors moved = spread(
                   self.push(self.keeping(self.body_), kept.residuals.first(count), tangents),
                   inexact);
               moved.resize(results);
               return moved;
             }},
        customs::seen_results(found));
  }

  std::span<const Tensor> constants_of(std::span<const Tensor> all) const {
    return all.first(shape_.constants);
  }
  std::span<const Tensor> carries_of(std::span<const Tensor> all) const {
    return all.subspan(shape_.constants, shape_.carries);
  }
  std::span<const Tensor> stacked_of(std::span<const Tensor> all) const {
    return all.subspan(shape_.constants + shape_.carries);
  }

  static ir::Type slice_of(const Tensor& stacked) {
    const ir::Type type = stacked.type();
    return type.without_sharding().with_shape(Shape(type.shape().dims().subspan(1)));
  }

  // The parameter types of the body.
  std::vector<ir::Type> parameters_of(std::span<const Tensor> operands) const {
    std::vector<ir::Type> types;
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool is_stacked = i >= shape_.constants + shape_.carries;
      types.push_back(is_stacked ? slice_of(operands[i]) : operands[i].type());
    }
    return types;
  }

  Tensors record(const TensorFunction& body, std::span<const Tensor> operands) const {
    const NewCallee callee{body_.function->name(), parameters_of(operands), body};
    const ir::ScanAttributes attributes{static_cast<int64_t>(shape_.constants),
                                        static_cast<int64_t>(shape_.carries), shape_.length,
                                        shape_.reverse};
    return record_with_callees(ir::primitive(ir::Structure::scan), operands,
                               ir::Attributes::of(attributes), {&callee, 1});
  }

  // Records another scan over the same length, with a body of these constants, carries and slices.
  Tensors another(std::string_view name, const TensorFunction& body, const Tensors& constants,
                  const Tensors& carries, const Tensors& stacked, bool reverse) const {
    std::vector<ir::Type> types = ir_types_of(joined({constants, carries}));
    for (const Tensor& each : stacked) types.push_back(slice_of(each));
    const std::string full = fmt::format("{}.{}", body_.function->name(), name);
    const Tensors operands = joined({constants, carries, stacked});
    return Scan(stage(full, types, body, {.beside = operands}),
                {constants.size(), carries.size(), shape_.length, reverse})
        .run(operands);
  }

  // VJP: a reversed scan that carries the cotangents of the carries and the sums of the cotangents
  // of constants.
  Tensors pull(std::span<const Tensor> all, std::span<const Tensor> begun,
               const std::vector<bool>& wanted, std::span<const Tensor> cotangents) const {
    const size_t constants = shape_.constants, carries = shape_.carries;
    std::vector<bool> moving(wanted);  // all carries that may be followed from some step on
    for (size_t i = 0; i < carries; ++i) moving[constants + i] = has_tangent(begun[i]);
    const std::vector<bool> sums(moving.begin(), moving.begin() + ptr(constants));
    const std::vector<bool> carried(moving.begin() + ptr(constants),
                                    moving.begin() + ptr(constants + carries));
    Tensors totals, arriving;
    for (size_t i = 0; i < constants; ++i) {
      if (sums[i]) totals.push_back(zeros_of(OperandType(all[i])));
    }
    for (size_t i = 0; i < carries; ++i) {
      if (carried[i]) arriving.push_back(or_zeros(cotangents[i], all[constants + i]));
    }
    const std::span<const Tensor> stacked_cotangents = cotangents.subspan(carries);
    const std::vector<bool> arrived = which_are_present(stacked_cotangents);
    const size_t summed = totals.size(), inner_carries = summed + arriving.size();
    const auto body = [&](std::span<const Tensor> given) {
      const auto now = given.subspan(constants, inner_carries);
      const auto slices = given.subspan(constants + inner_carries);
      const Tensors arguments =
          joined({given.first(constants), slices.first(all.size() - constants)});
      const Tensors of_stacked = spread(slices.subspan(all.size() - constants), arrived);
      const Tensors of_results = joined({spread(now.subspan(summed), carried), of_stacked});
      const auto keeping = [&](std::span<const Tensor> inner) {
        return joined({body_(inner), carries_of(inner)});
      };
      Tensors found = pulled(keeping, arguments, moving, of_results);
      for (size_t i = 0; i < summed; ++i) found[i] = sum_of(now[i], found[i]);
      return found;
    };
    const Tensors found = another(
        "pull", body, {all.begin(), all.begin() + ptr(constants)}, joined({totals, arriving}),
        joined({begun, stacked_of(all), present_of(stacked_cotangents)}), !shape_.reverse);
    Tensors given = spread(found, moving);
    for (size_t i = 0; i < given.size(); ++i) {
      if (!wanted[i]) given[i] = Tensor();
    }
    return given;
  }

  // JVP: a scan with the tangents as further carries; returns the tangents of all results.
  Tensors push(const TensorFunction& keeping, std::span<const Tensor> all,
               std::span<const Tensor> tangents) const {
    const size_t constants = shape_.constants, carries = shape_.carries;
    std::vector<bool> moving = which_are_present(tangents);
    Tensors starts;
    for (size_t i = constants; i < constants + carries; ++i) {
      moving[i] = has_tangent(all[i]);
      if (moving[i]) starts.push_back(or_zeros(tangents[i], all[i]));
    }
    const auto part = [&](size_t first, size_t count) {
      return std::vector<bool>(moving.begin() + ptr(first), moving.begin() + ptr(first + count));
    };
    const std::vector<bool> of_constants = part(0, constants),
                            of_carries = part(constants, carries),
                            of_stacked =
                                part(constants + carries, all.size() - constants - carries);
    const Tensors more_constants = chosen(constants_of(tangents), of_constants);
    const Tensors more_stacked = chosen(stacked_of(tangents), of_stacked);
    const auto body = [&](std::span<const Tensor> given) {
      const size_t stacked = all.size() - constants - carries;
      std::span<const Tensor> left = given;
      const auto take = [&](size_t count) {
        const auto taken = left.first(count);
        left = left.subspan(count);
        return taken;
      };
      const auto c = take(constants), dc = take(more_constants.size());
      const auto x = take(carries), dx = take(starts.size());
      const auto s = take(stacked), ds = take(more_stacked.size());
      const auto [values, moved] = pushed(
          keeping, joined({c, x, s}),
          joined({spread(dc, of_constants), spread(dx, of_carries), spread(ds, of_stacked)}));
      // Carries and their tangents; then the tangents of the outputs.
      return joined({std::span(values).first(carries), moved});
    };
    const Tensors found = another("push", body, joined({constants_of(all), more_constants}),
                                  joined({carries_of(all), starts}),
                                  joined({stacked_of(all), more_stacked}), shape_.reverse);
    return {found.begin() + ptr(carries), found.end()};
  }

  StagedFunction body_;
  ScanShape shape_;
};

}  // namespace

Tensors stage_scan(const StagedFunction& body, const ScanShape& shape,
                   std::span<const Tensor> operands) {
  return Scan(body, shape).run(operands);
}

}  // namespace plait::control
