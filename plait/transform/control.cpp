#include "plait/transform/control.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ops/create.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/index.h"
#include "plait/ops/shape.h"
#include "plait/tensor/trace.h"
#include "plait/transform/derivative.h"
#include "plait/transform/follow.h"
#include "plait/transform/staged.h"
#include "plait/transform/tensor_lists.h"
#include "plait/transform/vjp.h"

namespace plait::control {
namespace {

std::vector<bool> which_are_inexact(std::span<const Tensor> tensors) {
  std::vector<bool> which;
  for (const Tensor& tensor : tensors) which.push_back(is_inexact(tensor.dtype()));
  return which;
}

std::vector<bool> which_are_followed(std::span<const Tensor> tensors) {
  std::vector<bool> which;
  for (const Tensor& tensor : tensors) {
    which.push_back(is_inexact(tensor.dtype()) && is_followed({&tensor, 1}));
  }
  return which;
}

Tensors chosen(std::span<const Tensor> tensors, const std::vector<bool>& which) {
  Tensors all;
  for (size_t i = 0; i < which.size(); ++i) {
    if (which[i]) all.push_back(tensors[i]);
  }
  return all;
}

// With zeros for those that are empty.
Tensor or_zeros(const Tensor& tangent, const Tensor& like) {
  return tangent ? tangent : zeros_of(OperandType(like));
}

// The cotangents of the wanted arguments of a function, from those of its results.
Tensors pulled(const TensorFunction& function, std::span<const Tensor> arguments,
               const std::vector<bool>& wanted, std::span<const Tensor> cotangents) {
  Pullback pullback;
  Tensors begun(arguments.begin(), arguments.end());
  for (size_t i = 0; i < begun.size(); ++i) {
    if (wanted[i]) begun[i] = pullback.begin(begun[i]);
  }
  for (const Tensor& result : function(begun)) pullback.finish(result);
  pullback.close();
  return pullback(cotangents, false);
}

// The results of a function, and the tangents of those that are inexact.
std::pair<Tensors, Tensors> pushed(const TensorFunction& function,
                                   std::span<const Tensor> arguments,
                                   std::span<const Tensor> tangents) {
  Pushforward push;
  Tensors begun, values, moved;
  for (size_t i = 0; i < arguments.size(); ++i) {
    begun.push_back(push.begin(arguments[i], tangents[i]));
  }
  for (const Tensor& result : function(begun)) {
    auto [value, tangent] = push.finish(result);
    values.push_back(std::move(value));
    if (is_inexact(values.back().dtype())) moved.push_back(std::move(tangent));
  }
  return {std::move(values), std::move(moved)};
}

void expect_scalar(std::string_view what, const Tensor& tensor, bool is_wanted_dtype,
                   std::string_view wanted) {
  if (tensor.rank() == 0 && is_wanted_dtype) return;
  throw TypeError("{} is {}, expected {}", what, tensor.type().text(), wanted)
      .at(Location::of_caller());
}

// ---- Branches.

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

Tensors branch(ir::Structure structure, const Tensor& index,
               const std::vector<TensorFunction>& branches, std::span<const Tensor> operands) {
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

// ---- Scans.

// What a scan goes by: constants, carries and what is stacked, each some of its operands.
struct ScanShape {
  size_t constants, carries;
  Dim length;
  bool reverse;
};

class Scan {
 public:
  Scan(StagedFunction body, const ScanShape& shape) : body_(std::move(body)), shape_(shape) {}

  Tensors run(std::span<const Tensor> operands) const {
    if (!is_followed(operands)) return record(body_, operands);
    const size_t results = body_.function->results().size();
    const std::vector<bool> wanted = which_are_followed(operands);
    // The carries that each step began with are stacked too.
    const auto keeping = [self = *this](std::span<const Tensor> given) {
      return joined({self.body_(given), self.carries_of(given)});
    };
    Tensors all = record(keeping, operands);
    const std::vector<bool> inexact = which_are_inexact(all);
    const Tensors taken(operands.begin(), operands.end());
    all = follow_custom(
        {.inputs = taken,
         .residuals = taken,
         .results = std::move(all),
         .backward =
             [self = *this, wanted, results](auto cotangents, const Step::Kept& kept) {
               return self.pull(kept.residuals, kept.results.subspan(results), wanted, cotangents);
             },
         .forward =
             [self = *this, keeping, inexact](auto tangents, const Step::Kept& kept, uint64_t) {
               return spread(self.push(keeping, kept.residuals, tangents), inexact);
             },
         .first_kept = results});
    all.resize(results);
    return all;
  }

 private:
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

  Tensors record(const TensorFunction& body, std::span<const Tensor> operands) const {
    NewCallee callee{body_.function->name(), {}, body};
    for (size_t i = 0; i < operands.size(); ++i) {
      const bool is_stacked = i >= shape_.constants + shape_.carries;
      callee.parameters.push_back(is_stacked ? slice_of(operands[i]) : operands[i].type());
    }
    const ir::ScanAttributes attributes{static_cast<int64_t>(shape_.constants),
                                        static_cast<int64_t>(shape_.carries), shape_.length,
                                        shape_.reverse};
    return record_with_callees(ir::primitive(ir::Structure::scan), operands,
                               ir::Attributes::of(attributes), {&callee, 1});
  }

  // Another scan over the same length: of a body that is given these constants, carries and slices.
  Tensors another(std::string_view name, const TensorFunction& body, const Tensors& constants,
                  const Tensors& carries, const Tensors& stacked, bool reverse) const {
    std::vector<ir::Type> types = ir_types_of(joined({constants, carries}));
    for (const Tensor& each : stacked) types.push_back(slice_of(each));
    const std::string full = fmt::format("{}.{}", body_.function->name(), name);
    return Scan(stage(full, types, body),
                {constants.size(), carries.size(), shape_.length, reverse})
        .run(joined({constants, carries, stacked}));
  }

  // Backwards: what is carried are the cotangents of the carries, and the sums of those of
  // constants.
  Tensors pull(std::span<const Tensor> all, std::span<const Tensor> begun,
               const std::vector<bool>& wanted, std::span<const Tensor> cotangents) const {
    const size_t constants = shape_.constants, carries = shape_.carries;
    std::vector<bool> moving(wanted);  // all carries that may be followed from some step on
    for (size_t i = 0; i < carries; ++i) moving[constants + i] = is_inexact(begun[i].dtype());
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
    const std::vector<bool> arrived = which_are_there(stacked_cotangents);
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
      for (size_t i = 0; i < summed; ++i) found[i] = add(now[i], found[i]);
      return found;
    };
    const Tensors found = another(
        "pull", body, {all.begin(), all.begin() + ptr(constants)}, joined({totals, arriving}),
        joined({begun, stacked_of(all), those_there(stacked_cotangents)}), !shape_.reverse);
    Tensors given = spread(found, moving);
    for (size_t i = 0; i < given.size(); ++i) {
      if (!wanted[i]) given[i] = Tensor();
    }
    return given;
  }

  // Forward, with the tangents of the carries among the carries; all results' tangents.
  Tensors push(const TensorFunction& keeping, std::span<const Tensor> all,
               std::span<const Tensor> tangents) const {
    const size_t constants = shape_.constants, carries = shape_.carries;
    std::vector<bool> moving = which_are_there(tangents);
    Tensors starts;
    for (size_t i = constants; i < constants + carries; ++i) {
      moving[i] = is_inexact(all[i].dtype());
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
      // Carries, their tangents; then the tangents of what is stacked.
      return joined({std::span(values).first(carries), moved});
    };
    const Tensors found = another("push", body, joined({constants_of(all), more_constants}),
                                  joined({carries_of(all), starts}),
                                  joined({stacked_of(all), more_stacked}), shape_.reverse);
    return {found.begin() + ptr(carries), found.end()};
  }

  static std::ptrdiff_t ptr(size_t count) { return static_cast<std::ptrdiff_t>(count); }

  StagedFunction body_;
  ScanShape shape_;
};

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
      throw ValueError("scan: the body gives {} tensors, fewer than the {} that are carried",
                       results.size(), carries.size())
          .at(Location::of_caller());
    }
    for (size_t k = 0; k < carries.size(); ++k) {
      if (results[k].dtype() != carries[k].dtype() || results[k].shape() != carries[k].shape()) {
        throw TypeError("scan: carry {} is {}, and {} after a step", k, carries[k].type().text(),
                        results[k].type().text())
            .at(Location::of_caller());
      }
      carries[k] = results[k];
    }
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

// ---- Loops.

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
    const Scan scan(body, {constants_ + 1, carries + 1, length, false});
    const auto loop = [&](std::span<const Tensor> given) {
      Tensors results = scan.run(all(given));
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
      moving[i] = is_inexact(operands[i].dtype());
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

void expect_carries(std::string_view what, std::span<const ir::Type> before,
                    std::span<const ir::Type> after, const Location& location) {
  if (before.size() != after.size()) {
    throw TypeError("{}: {} tensors are carried, and {} after a step ({})", what, before.size(),
                    after.size(), location.text())
        .at(Location::of_caller());
  }
  for (size_t i = 0; i < before.size(); ++i) {
    if (before[i] == after[i]) continue;
    throw TypeError("{}: carry {} is {}, and {} after a step ({})", what, i, before[i].text(),
                    after[i].text(), location.text())
        .at(Location::of_caller())
        .hint("begin with the type that a step gives");
  }
}

}  // namespace

Tensors cond(const Tensor& predicate, const TensorFunction& then, const TensorFunction& otherwise,
             std::span<const Tensor> operands) {
  expect_scalar("cond: the predicate", predicate, is_boolean(predicate.dtype()), "bool[]");
  if (Trace::current() == nullptr) {
    return predicate.item<bool>() ? then(operands) : otherwise(operands);
  }
  return branch(ir::Structure::cond, predicate, {then, otherwise}, operands);
}

Tensors switch_(const Tensor& index, const std::vector<TensorFunction>& branches,
                std::span<const Tensor> operands) {
  expect_scalar("switch: the index", index, is_integer(index.dtype()), "a whole number");
  if (branches.empty()) throw ValueError("switch: there is no branch").at(Location::of_caller());
  if (Trace::current() != nullptr) {
    return branch(ir::Structure::switch_, index, branches, operands);
  }
  const auto number = index.item<int64_t>();
  if (number >= 0 && static_cast<size_t>(number) < branches.size()) {
    return branches[static_cast<size_t>(number)](operands);
  }
  throw IndexError("switch: the index is {}, and there are {} branches", number, branches.size())
      .at(Location::of_caller());
}

Tensors while_loop(const TensorFunction& test, const TensorFunction& body,
                   std::span<const Tensor> initial) {
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
      expect_carries("while", types, ir_types_of(next), Location::of_caller());
      carries = std::move(next);
    }
  }
  const auto checked = [&](std::span<const Tensor> given) {
    Tensors truth = test(given);
    expect_truth(truth.at(0));
    return truth;
  };
  const StagedFunction tests = stage("test", types, checked), steps = stage("body", types, body);
  expect_carries("while", types, steps.function->signature().results, steps.function->location());
  Captures captures({});
  const std::vector<size_t> for_test = captures.add(tests), for_body = captures.add(steps);
  const size_t constants = captures.operands().size();
  const Tensors operands = joined({captures.operands(), initial});
  const auto whole = [&](const StagedFunction& function, const std::vector<size_t>& places) {
    return stage(function.function->name(), ir_types_of(operands), [&](auto given) {
      return function(joined({given.subspan(constants), picked(given, places)}));
    });
  };
  return While(whole(tests, for_test), whole(steps, for_body), constants).run(operands);
}

Tensors scan(const TensorFunction& body, std::span<const Tensor> initial,
             std::span<const Tensor> stacked, const ScanOptions& options) {
  std::optional<Dim> length = options.length;
  for (size_t i = 0; i < stacked.size(); ++i) {
    if (stacked[i].rank() == 0) {
      throw ShapeError("scan: {} is stacked, but has no axis", stacked[i].type().text())
          .at(Location::of_caller());
    }
    const Dim here = stacked[i].shape(0);
    if (!length) length = here;
    if (*length == here) continue;
    throw ShapeError("scan: {} is stacked {} times, expected {}", stacked[i].type().text(),
                     here.text(), length->text())
        .at(Location::of_caller());
  }
  if (!length) {
    throw ValueError("scan: nothing says how many steps there are")
        .at(Location::of_caller())
        .hint("say it in the options: length");
  }
  const bool runs_now = Trace::current() == nullptr;
  if (runs_now && *length != Dim(0)) {
    return scan_now(body, initial, stacked, length->number(), options.reverse);
  }
  std::vector<ir::Type> types = ir_types_of(initial);
  for (const Tensor& each : stacked) {
    const ir::Type type = each.type();
    types.push_back(type.without_sharding().with_shape(Shape(type.shape().dims().subspan(1))));
  }
  const StagedFunction step = stage("body", types, body);
  const auto& results = step.function->signature().results;
  expect_carries("scan", std::span(types).first(initial.size()),
                 std::span(results).first(std::min(initial.size(), results.size())),
                 step.function->location());
  if (runs_now) {
    Tensors nothing(initial.begin(), initial.end());
    for (size_t i = initial.size(); i < results.size(); ++i) {
      Shape shape{0};
      for (const Dim dim : results[i].shape()) shape.append(dim);
      nothing.push_back(zeros(shape, results[i].dtype()));
    }
    return nothing;
  }
  const size_t constants = step.captures.size();
  const Tensors operands = joined({step.captures, initial, stacked});
  std::vector<ir::Type> all = ir_types_of(step.captures);
  all.insert(all.end(), types.begin(), types.end());
  const StagedFunction whole = stage("body", all, [&](auto given) {
    return step(joined({given.subspan(constants), given.first(constants)}));
  });
  return Scan(whole, {constants, initial.size(), *length, options.reverse}).run(operands);
}

Tensor numbers(Dim first, Dim end) { return iota(end - first) + first; }

}  // namespace plait::control
