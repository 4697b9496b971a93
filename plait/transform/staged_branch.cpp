#include "plait/transform/staged_branch.h"

#include "plait/core/error.h"
#include "plait/transform/derived_functions.h"
#include "plait/transform/follow.h"
#include "plait/transform/staged.h"
#include "plait/transform/tensor_lists.h"

namespace plait::control {
namespace {

class Branches {
 public:
  Branches(ir::Structure structure, std::vector<StagedFunction> branches)
      : structure_(structure), branches_(std::move(branches)) {}

  Tensors run(const Tensor& index, std::span<const Tensor> operands) const {
    const Tensors all = joined({{&index, 1}, operands});
    std::vector<NewCallee> callees;
    for (const StagedFunction& branch : branches_) {
      callees.push_back({branch.function->name(), ir_types_of(operands), branch});
    }
    Tensors results = record_with_callees(ir::primitive(structure_), all, {}, callees);
    if (!is_followed(operands)) return results;
    const std::vector<bool> wanted = which_are_followed(operands);
    const std::vector<bool> inexact = which_are_inexact(results);
    return follow_custom(
        {.inputs = {operands.begin(), operands.end()},
         .residuals = all,
         .results = std::move(results),
         .backward =
             [self = *this, wanted](auto cotangents, const Step::Kept& kept) {
               return spread(self.pull(kept.residuals, wanted, cotangents), wanted);
             },
         .forward =
             [self = *this, inexact](auto tangents, const Step::Kept& kept, uint64_t) {
               return spread(self.push(kept.residuals, tangents), inexact);
             }});
  }

 private:
  Tensors pull(std::span<const Tensor> all, const std::vector<bool>& wanted,
               std::span<const Tensor> cotangents) const {
    const std::vector<bool> arrived = which_are_there(cotangents);
    const size_t count = all.size() - 1;
    return each(all, those_there(cotangents), [&](const StagedFunction& branch, auto given) {
      return pulled(branch, given.first(count), wanted, spread(given.subspan(count), arrived));
    });
  }

  Tensors push(std::span<const Tensor> all, std::span<const Tensor> tangents) const {
    const std::vector<bool> moving = which_are_there(tangents);
    const size_t count = all.size() - 1;
    return each(all, those_there(tangents), [&](const StagedFunction& branch, auto given) {
      return pushed(branch, given.first(count), spread(given.subspan(count), moving)).second;
    });
  }

  // The same choice between what is made of each branch, of the operands and some more.
  template <class Make>
  Tensors each(std::span<const Tensor> all, const Tensors& more, const Make& make) const {
    const Tensors operands = joined({all.subspan(1), more});
    std::vector<StagedFunction> made;
    for (const StagedFunction& branch : branches_) {
      made.push_back(stage(branch.function->name(), ir_types_of(operands),
                           [&](auto given) { return make(branch, given); }));
    }
    return Branches(structure_, std::move(made)).run(all[0], operands);
  }

  ir::Structure structure_;
  std::vector<StagedFunction> branches_;
};

// TypeError unless all branches give the same.
void expect_alike(const std::vector<StagedFunction>& branches) {
  const ir::Function& first = *branches[0].function;
  for (const StagedFunction& branch : branches) {
    const ir::Function& other = *branch.function;
    const auto &a = first.signature().results, &b = other.signature().results;
    if (a.size() != b.size()) {
      throw TypeError("one branch gives {} tensors ({}), another {} ({})", a.size(),
                      first.location().text(), b.size(), other.location().text())
          .at(Location::of_caller());
    }
    for (size_t i = 0; i < a.size(); ++i) {
      if (a[i] == b[i]) continue;
      throw TypeError("result {} is {} in one branch ({}), {} in another ({})", i, a[i].text(),
                      first.location().text(), b[i].text(), other.location().text())
          .at(Location::of_caller());
    }
  }
}

}  // namespace

Tensors stage_branches(ir::Structure structure, const Tensor& index,
                       const std::vector<TensorFunction>& branches,
                       std::span<const Tensor> operands) {
  const std::vector<ir::Type> types = ir_types_of(operands);
  std::vector<StagedFunction> staged;
  for (const TensorFunction& each : branches) staged.push_back(stage("branch", types, each));
  expect_alike(staged);
  Captures captures(operands);
  std::vector<std::vector<size_t>> places;
  for (const StagedFunction& each : staged) places.push_back(captures.add(each));
  for (size_t i = 0; i < staged.size(); ++i) {
    staged[i] = captures.of_operands(staged[i], places[i]);
  }
  return Branches(structure, std::move(staged)).run(index, captures.operands());
}

}  // namespace plait::control
