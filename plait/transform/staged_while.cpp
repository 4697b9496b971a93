#include "plait/transform/staged_while.h"

#include "plait/ir/structure.h"
#include "plait/ops/create.h"
#include "plait/ops/elementwise.h"
#include "plait/transform/derivative.h"
#include "plait/transform/derived_functions.h"
#include "plait/transform/follow.h"
#include "plait/transform/staged_scan.h"
#include "plait/transform/tensor_lists.h"

namespace plait::control {
namespace {

class While {
 public:
  While(StagedFunction test, StagedFunction body, size_t constants)
      : test_(std::move(test)), body_(std::move(body)), constants_(constants) {}

  Tensors run(std::span<const Tensor> operands) const {
    if (!is_followed(operands)) return record(test_, body_, operands);
    // The steps are counted, so that the way back knows how many there were.
    const Tensor none = scalar(0);
    const auto test = [self = *this](std::span<const Tensor> given) {
      return self.test_(given.first(given.size() - 1));
    };
    const auto body = [self = *this](std::span<const Tensor> given) {
      Tensors next = self.body_(given.first(given.size() - 1));
      next.push_back(given.back() + 1);
      return next;
    };
    Tensors all = record(test, body, joined({operands, {&none, 1}}));
    const Tensor steps = all.back();
    all.pop_back();
    const std::vector<bool> wanted = which_are_followed(operands);
    const std::vector<bool> inexact = which_are_inexact(all);
    return follow_custom(
        {.inputs = {operands.begin(), operands.end()},
         .residuals = joined({operands, {&steps, 1}}),
         .results = std::move(all),
         .backward =
             [self = *this, wanted](auto cotangents, const Step::Kept& kept) {
               return spread(self.pull(kept.residuals, wanted, cotangents), wanted);
             },
         .forward =
             [self = *this, inexact](auto tangents, const Step::Kept& kept, uint64_t) {
               return spread(self.push(kept.residuals.first(kept.residuals.size() - 1), tangents),
                             inexact);
             }});
  }

 private:
  static Tensor scalar(int64_t value) { return full({}, value, DType::i64); }

  Tensors record(const TensorFunction& test, const TensorFunction& body,
                 std::span<const Tensor> operands) const {
    const NewCallee callees[] = {{test_.function->name(), ir_types_of(operands), test},
                                 {body_.function->name(), ir_types_of(operands), body}};
    return record_with_callees(
        ir::primitive(ir::Structure::while_), operands,
        ir::Attributes::of(ir::WhileAttributes{static_cast<int64_t>(constants_)}), callees);
  }

  // As a scan of so many steps, or more: those that are too many leave all as it is.
  Tensors pull(std::span<const Tensor> residuals, const std::vector<bool>& wanted,
               std::span<const Tensor> cotangents) const {
    const auto operands = residuals.first(residuals.size() - 1);
    const Tensor& steps = residuals.back();
    const size_t carries = operands.size() - constants_;
    const Tensor start = scalar(0);
    // Constants and the number of steps; carries and which step it is.
    const auto all = [&](std::span<const Tensor> given) {
      return joined({given.first(constants_), {&steps, 1}, given.subspan(constants_), {&start, 1}});
    };
    const auto step = [&](std::span<const Tensor> given) {
      const Tensor& i = given.back();
      const auto state = joined({given.first(constants_), given.subspan(constants_ + 1, carries)});
      const auto same = [&](std::span<const Tensor> now) {
        const auto kept = now.subspan(constants_);
        return Tensors(kept.begin(), kept.end());
      };
      Tensors next = cond(i < given[constants_], body_, same, state);
      next.push_back(i + 1);
      return next;
    };
    const StagedFunction body = stage(body_.function->name(), ir_types_of(all(operands)), step);
    const Dim length = Trace::current()->as_size(steps, true);
    const ScanShape shape{constants_ + 1, carries + 1, length, false};
    const auto loop = [&](std::span<const Tensor> given) {
      Tensors results = stage_scan(body, shape, all(given));
      results.pop_back();
      return results;
    };
    return pulled(loop, operands, wanted, cotangents);
  }

  Tensors push(std::span<const Tensor> operands, std::span<const Tensor> tangents) const {
    const size_t carries = operands.size() - constants_;
    std::vector<bool> moving = which_are_there(tangents);
    Tensors starts;
    for (size_t i = constants_; i < operands.size(); ++i) {
      moving[i] = has_tangent(operands[i]);
      if (moving[i]) starts.push_back(or_zeros(tangents[i], operands[i]));
    }
    const auto split = moving.begin() + static_cast<std::ptrdiff_t>(constants_);
    const std::vector<bool> of_constants(moving.begin(), split), of_carries(split, moving.end());
    const Tensors more = chosen(tangents.first(constants_), of_constants);
    const Tensors all =
        joined({operands.first(constants_), more, operands.subspan(constants_), starts});
    const auto plain = [=, this](std::span<const Tensor> given) {
      return joined({given.first(constants_), given.subspan(constants_ + more.size(), carries)});
    };
    const StagedFunction test =
        stage("test", ir_types_of(all), [&](auto given) { return test_(plain(given)); });
    const StagedFunction body = stage("body", ir_types_of(all), [&](auto given) {
      const auto dc = given.subspan(constants_, more.size());
      const auto dx = given.subspan(constants_ + more.size() + carries);
      const auto [values, moved] =
          pushed(body_, plain(given), joined({spread(dc, of_constants), spread(dx, of_carries)}));
      return joined({values, moved});
    });
    const Tensors found = While(test, body, constants_ + more.size()).run(all);
    return {found.begin() + static_cast<std::ptrdiff_t>(carries), found.end()};
  }

  StagedFunction test_, body_;
  size_t constants_;
};

}  // namespace

Tensors stage_while(const StagedFunction& test, const StagedFunction& body, size_t constants,
                    std::span<const Tensor> operands) {
  return While(test, body, constants).run(operands);
}

}  // namespace plait::control
