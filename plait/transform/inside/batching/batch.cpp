#include "plait/transform/inside/batching/batch.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ir/text/printer.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/random/random_primitives.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/rules.h"
#include "plait/tensor/tracing/derivation.h"
#include "plait/tensor/tracing/named_axes.h"
#include "plait/tensor/tracing/trace.h"
#include "plait/transform/control/control.h"
#include "plait/transform/control/record.h"
#include "plait/transform/inside/control/open_recursion.h"
#include "plait/transform/inside/control/staged_custom.h"
#include "plait/transform/inside/control/staged_recursion.h"
#include "plait/transform/inside/control/staged_remat.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/running/function_run.h"
#include "plait/transform/inside/running/run_instruction.h"

namespace plait {
namespace {

class BatchedRun final : public FunctionRun<LaneValue> {
 public:
  BatchedRun(const ir::Program& program, Lanes lanes)
      : FunctionRun(program), all_(std::move(lanes)), lanes_(all_.count) {}

 private:
  using Values = std::vector<LaneValue>;
  using Operands = std::span<const LaneValue>;

  ir::Type type_of(const LaneValue& value) const override {
    const ir::Type type = value.tensor.type();
    return value.is_batched ? type.without_sharding().with_shape(without_first(type.shape()))
                            : type;
  }

  Values run(const ir::Instruction& instruction, Operands operands,
             const SymbolMap<Dim>& sizes) override {
    if (is_open_call(instruction)) {
      throw TypeError("a function is batched while it is being recorded")
          .at(instruction.location())
          .hint("vmap the whole function, not its recursive calls");
    }
    const bool any = std::ranges::any_of(operands, &LaneValue::is_batched);
    switch (instruction.primitive().structure) {
      case ir::Structure::machine:
        if (&instruction.primitive() == &random_primitives().draw_key) return {draw()};
        if (communicates_here(instruction)) return {combined_along_axis(instruction, operands[0])};
        if (any) return values_of(apply(instruction, operands, sizes), true);
        break;
      case ir::Structure::refine:
        if (any) return {refined(instruction, operands[0], sizes)};
        break;
      case ir::Structure::vary: return {varied(instruction, operands[0])};
      case ir::Structure::call:
      case ir::Structure::pull:
        if (Trace::current() != nullptr && comes_back(callee(instruction))) {
          return run_recursive_batched(program(), instruction, operands, all_);
        }
        {
          const Trace::Part part(callee(instruction).name());
          return function(callee(instruction), operands);
        }
      case ir::Structure::remat: return rematted(instruction, operands);
      case ir::Structure::custom_vjp:
      case ir::Structure::custom_jvp: return custom(instruction, operands);
      case ir::Structure::as_size: return {};
      case ir::Structure::cond:
      case ir::Structure::switch_: return branched(instruction, operands, sizes);
      case ir::Structure::while_: return looped(instruction, operands);
      case ir::Structure::scan: return scanned(instruction, operands, sizes);
      case ir::Structure::literal:
      case ir::Structure::size: break;
      default:
        if (!any && is_record_instruction(instruction)) {
          return values_of(run_record_instruction(instruction, tensors_in(operands)), false);
        }
        throw TypeError("{} has no batching rule yet", ir::print(instruction))
            .at(instruction.location());
    }
    return values_of(run_instruction(instruction, tensors_in(operands), sizes), false);
  }

  // ---- Collective operations along the batched axis.

  bool communicates_here(const ir::Instruction& instruction) const {
    const ir::Primitive& primitive = instruction.primitive();
    return primitive.communicates != nullptr && !all_.axis.empty() &&
           primitive.communicates(instruction.attributes()).contains(all_.axis);
  }

  LaneValue combined_along_axis(const ir::Instruction& instruction, const LaneValue& x) const {
    const Rules& rules = *find_rules(instruction.primitive());
    return {rules.collective.of(instruction.attributes(), of_all_lanes(x, lanes_), all_.axis),
            all_.may_differ(instruction.result_types()[0])};
  }

  LaneValue varied(const ir::Instruction& instruction, const LaneValue& x) const {
    ir::AxisSet others = instruction.attributes_as<ir::VaryAttributes>().axes;
    others.erase(all_.axis);
    return {vary_along(x.tensor, others), x.is_batched};
  }

  std::vector<Tensor> apply(const ir::Instruction& instruction, Operands operands,
                            const SymbolMap<Dim>& sizes) {
    const ir::Primitive& primitive = instruction.primitive();
    const ir::Attributes attributes = instruction.attributes().map_sizes(
        [&](Dim dim) { return sizes.empty() ? dim : dim.substitute(sizes); });
    const Rules* const rules = find_rules(primitive);
    if (rules != nullptr && rules->batching.of != nullptr) {
      const bool is_empty = same(lanes_, Dim(0)) && has_arrays_only(instruction);
      if (is_empty) return of_no_lane(instruction, sizes);
      return rules->batching.of(attributes, tensors_in(operands), flags_of(operands));
    }
    if (primitive.elementwise == ir::Elementwise::no) {
      throw TypeError("{} has no batching rule", primitive.name).at(instruction.location());
    }
    std::vector<Tensor> all;
    for (const LaneValue& operand : operands) all.push_back(of_all_lanes(operand, lanes_));
    return apply_all(primitive, all, attributes);
  }

  // With zero lanes nothing is computed; a rule could divide by the number of lanes.
  static bool has_arrays_only(const ir::Instruction& instruction) {
    const ir::Primitive& primitive = instruction.primitive();
    const bool is_seen = primitive.effects && primitive.effects(instruction).observable;
    return !is_seen && instruction.size_results().empty() &&
           std::ranges::all_of(instruction.result_types(), [](const ir::Type& type) {
             return type.is_array() && !is_key(type.dtype()) && type.varying().empty();
           });
  }
  std::vector<Tensor> of_no_lane(const ir::Instruction& instruction,
                                 const SymbolMap<Dim>& sizes) const {
    std::vector<Tensor> results;
    for (const ir::Type& type : instruction.result_types()) {
      const ir::Type here = type_in_lanes(type.substitute(sizes), true);
      results.push_back(zeros(here.shape(), here.dtype()));
    }
    return results;
  }

  Dim size_of(const LaneValue& count, bool at_least) override {
    if (!count.is_batched) return as_size(count.tensor, at_least);
    if (at_least) {  // 0 if there are no samples
      const Tensor none = zeros({1}, count.tensor.dtype());
      return as_size(max(concat(std::vector{count.tensor, none}, 0)), true);
    }
    throw TypeError("as_size: the number differs from sample to sample, but a size must not")
        .at(Location::of_caller())
        .hint("use the padded form: a fixed size and the number of valid entries");
  }

  // ---- Branches. Where samples take different branches, each branch runs as if only its samples
  // existed: it does not run without samples, and the other samples cannot raise errors in it, or
  // put a NaN into a gradient.

  Values branched(const ir::Instruction& instruction, Operands operands,
                  const SymbolMap<Dim>& sizes) {
    const LaneValue& index = operands[0];
    const Operands taken = operands.subspan(1);
    const size_t count = instruction.callees().size();
    const bool is_cond = instruction.primitive().structure == ir::Structure::cond;
    if (!index.is_batched) {
      std::vector<TensorFunction> branches;
      for (size_t i = 0; i < count; ++i) {
        branches.push_back(for_all_lanes(callee(instruction, i), flags_of(taken)));
      }
      const std::vector<Tensor> given = tensors_in(taken);
      return with_flags(is_cond ? control::cond(index.tensor, branches[0], branches[1], given)
                                : control::switch_(index.tensor, branches, given),
                        all_.which_may_differ(instruction.result_types()));
    }
    return values_of(Trace::current() == nullptr
                         ? branched_now(instruction, index.tensor, taken)
                         : branched_staged(instruction, index.tensor, taken, sizes),
                     true);
  }

  static Tensor takers(const ir::Instruction& instruction, const Tensor& index, size_t i) {
    if (instruction.primitive().structure == ir::Structure::switch_) {
      return equal(index, static_cast<int64_t>(i));
    }
    return i == 0 ? index : logical_not(index);
  }

  // Gathers the samples of each branch and runs it on them.
  std::vector<Tensor> branched_now(const ir::Instruction& instruction, const Tensor& index,
                                   Operands operands) {
    std::vector<Tensor> places;
    std::vector<std::vector<Tensor>> parts;
    for (size_t i = 0; i < instruction.callees().size(); ++i) {
      const Tensor who = nonzero(takers(instruction, index, i))[0];
      if (same(who.shape(0), Dim(0))) continue;
      places.push_back(who);
      parts.push_back(
          run_for(callee(instruction, i), picked_for(operands, who, lanes_), who.shape(0)));
    }
    if (places.empty()) {  // no samples: the types of the first branch
      places.push_back(iota(0));
      parts.push_back(run_for(callee(instruction), picked_for(operands, places[0], lanes_), 0));
    }
    const Tensor order = concat(places, 0);
    if (!same(order.shape(0), lanes_)) {
      throw IndexError("switch: the index of some sample is out of range")
          .at(instruction.location());
    }
    std::vector<Tensor> results;
    for (size_t r = 0; r < parts[0].size(); ++r) {
      std::vector<Tensor> rows;
      for (const auto& part : parts) rows.push_back(part[r]);
      const Tensor all = concat(rows, 0);
      results.push_back(zeros(all.shape(), all.dtype()).at(order).set(all));
    }
    return results;
  }

  // Runs each branch that some sample takes for all samples; those that do not take it are replaced
  // by copies of one that does.
  std::vector<Tensor> branched_staged(const ir::Instruction& instruction, const Tensor& given_index,
                                      Operands operands, const SymbolMap<Dim>& sizes) {
    const size_t count = instruction.callees().size();
    Tensor index = given_index;
    if (instruction.primitive().structure == ir::Structure::switch_) {
      // IndexError if the index is out of range.
      index = take(iota(static_cast<int64_t>(count)), astype(index, DType::u64), 0);
    }
    const std::vector<bool> flags = flags_of(operands);
    std::vector<Tensor> results;
    for (size_t i = 0; i < count; ++i) {
      const Tensor takes = takers(instruction, index, i);
      const auto branch = [&](std::span<const Tensor> given) {
        return run_for(callee(instruction, i),
                       filled(given.first(flags.size()), flags, given.back()), lanes_);
      };
      const auto nothing = [&](std::span<const Tensor>) {
        std::vector<Tensor> none;
        for (const ir::Type& type : instruction.result_types()) {
          const ir::Type here = type_in_lanes(type.substitute(sizes), true);
          none.push_back(zeros(here.shape(), here.dtype()));
        }
        return none;
      };
      const std::vector<Tensor> found = control::cond(plait::any(takes), branch, nothing,
                                                      joined({tensors_in(operands), {&takes, 1}}));
      for (size_t r = 0; r < found.size(); ++r) {
        if (i == 0) {
          results.push_back(found[r]);
        } else {
          results[r] = where(as_rows(takes, found[r]), found[r], results[r]);
        }
      }
    }
    return results;
  }

  // Runs the function for `count` samples; all results are batched.
  std::vector<Tensor> run_for(const ir::Function& called, Operands theirs, Dim count) const {
    std::vector<Tensor> results;
    for (const LaneValue& result : run_batched(program(), called, theirs, {count, all_.axis})) {
      results.push_back(of_all_lanes(result, count));
    }
    return results;
  }

  // ---- Loops.

  // True for carries that differ between samples, from some step on.
  std::vector<bool> flags_of_carries(const ir::Function& body, Operands operands, size_t constants,
                                     size_t carries, const std::vector<ir::Type>& types) {
    std::vector<bool> flags = flags_of(operands);
    while (true) {
      std::vector<bool> after = flags;
      std::vector<ir::Type> physical;
      for (size_t i = 0; i < types.size(); ++i)
        physical.push_back(type_in_lanes(types[i], flags[i]));
      stage("probe", physical, [&](std::span<const Tensor> given) {
        Values values;
        for (size_t i = 0; i < given.size(); ++i) values.push_back({given[i], flags[i]});
        const Values results = run_batched(program(), body, values, all_);
        for (size_t i = 0; i < carries && i < results.size(); ++i) {
          if (results[i].is_batched) after[constants + i] = true;
        }
        return tensors_in(results);
      });
      if (after == flags) return flags;
      flags = after;
    }
  }

  ir::Type type_in_lanes(const ir::Type& type, bool is_batched) const {
    return is_batched ? type.without_sharding().with_shape(with_first(lanes_, type.shape())) : type;
  }

  // The function with these constants bound, and with batched carries as in `flags`.
  TensorFunction held(const ir::Function& called, Operands constants,
                      const std::vector<bool>& flags, const std::vector<bool>& results) {
    return [this, &called, held = Values(constants.begin(), constants.end()), flags,
            results](std::span<const Tensor> given) {
      Values values = held;
      for (size_t i = 0; i < given.size(); ++i)
        values.push_back({given[i], flags[held.size() + i]});
      std::vector<Tensor> given_back;
      const Values found = run_batched(program(), called, values, all_);
      for (size_t i = 0; i < found.size(); ++i) {
        const bool is_batched =
            i < results.size() ? results[i] : all_.may_differ(called.signature().results[i]);
        given_back.push_back(is_batched ? of_all_lanes(found[i], lanes_) : found[i].tensor);
      }
      return given_back;
    };
  }

  Values looped(const ir::Instruction& instruction, Operands operands) {
    const auto constants =
        static_cast<size_t>(instruction.attributes_as<ir::WhileAttributes>().constants);
    const size_t carries = operands.size() - constants;
    const ir::Function &test = callee(instruction, 0), &body = callee(instruction, 1);
    std::vector<ir::Type> types;
    for (const LaneValue& operand : operands) types.push_back(type_of(operand));
    std::vector<bool> flags = flags_of_carries(body, operands, constants, carries, types);
    const bool parts = test_differs(test, types, flags);
    const bool changes = !instruction.size_results().empty();
    if (parts && !changes) return loop_per_sample(instruction, operands, constants);
    TensorFunction goes_on = held(test, operands.first(constants), flags, {parts});
    if (parts) goes_on = agreed(instruction, goes_on);
    std::vector<Tensor> initial;
    const std::vector<bool> of_carries(flags.begin() + static_cast<std::ptrdiff_t>(constants),
                                       flags.end());
    for (size_t i = 0; i < carries; ++i) {
      const LaneValue& carry = operands[constants + i];
      initial.push_back(of_carries[i] ? of_all_lanes(carry, lanes_) : carry.tensor);
    }
    const std::vector<Tensor> found = control::while_loop(
        goes_on, held(body, operands.first(constants), flags, of_carries), initial);
    Values results;
    for (size_t i = 0; i < carries; ++i) results.push_back({found[i], of_carries[i]});
    return results;
  }

  // The test of a loop that changes sizes; it must not differ between samples. Only eager execution
  // checks this.
  static TensorFunction agreed(const ir::Instruction& instruction, const TensorFunction& test) {
    const auto refuse = [location = instruction.location()] {
      throw TypeError(
          "while: samples end at different steps, and sizes of what they carry change, which would "
          "differ from sample to sample")
          .at(location)
          .hint("use the padded form: a fixed size and the number of valid entries");
    };
    if (Trace::current() != nullptr) refuse();
    return [test, refuse](std::span<const Tensor> given) {
      const Tensor truths = test(given)[0], some = plait::any(truths);
      if (some.item<bool>() != all(truths).item<bool>()) refuse();
      return std::vector{some};
    };
  }

  // True if the test differs between samples.
  bool test_differs(const ir::Function& test, const std::vector<ir::Type>& types,
                    const std::vector<bool>& flags) const {
    bool parts = false;
    std::vector<ir::Type> physical;
    for (size_t i = 0; i < types.size(); ++i) physical.push_back(type_in_lanes(types[i], flags[i]));
    stage("probe", physical, [&](std::span<const Tensor> given) {
      Values values;
      for (size_t i = 0; i < given.size(); ++i) values.push_back({given[i], flags[i]});
      const Values results = run_batched(program(), test, values, all_);
      parts = results[0].is_batched;
      return tensors_in(results);
    });
    return parts;
  }

  // Samples end at different steps: each step runs for those that continue.
  Values loop_per_sample(const ir::Instruction& instruction, Operands operands, size_t constants) {
    const ir::Function &test = callee(instruction, 0), &body = callee(instruction, 1);
    const Values fixed(operands.begin(), operands.begin() + static_cast<std::ptrdiff_t>(constants));
    std::vector<Tensor> carries;
    for (const LaneValue& operand : operands.subspan(constants)) {
      carries.push_back(of_all_lanes(operand, lanes_));
    }
    carries.push_back(run_for(test, operands, lanes_)[0]);
    const auto some_go_on = [](std::span<const Tensor> given) {
      return std::vector{plait::any(given.back())};
    };
    const auto step = [&](std::span<const Tensor> given) {
      return Trace::current() == nullptr ? step_now(test, body, fixed, given)
                                         : step_staged(test, body, fixed, given);
    };
    std::vector<Tensor> found = control::while_loop(some_go_on, step, carries);
    found.pop_back();
    return values_of(found, true);
  }

  // Gathers the samples that continue (the last carry), and runs one step on them.
  std::vector<Tensor> step_now(const ir::Function& test, const ir::Function& body,
                               const Values& fixed, std::span<const Tensor> carries) {
    const auto now = carries.first(carries.size() - 1);
    const Tensor who = nonzero(carries.back())[0];
    const Dim count = who.shape(0);
    Values theirs = fixed;
    for (const Tensor& carry : now) theirs.push_back({carry, true});
    theirs = picked_for(theirs, who, lanes_);
    const std::vector<Tensor> next = run_for(body, theirs, count);
    for (size_t i = 0; i < next.size(); ++i) theirs[fixed.size() + i].tensor = next[i];
    std::vector<Tensor> after;
    for (size_t i = 0; i < next.size(); ++i) after.push_back(now[i].at(who).set(next[i]));
    after.push_back(carries.back().at(who).set(run_for(test, theirs, count)[0]));
    return after;
  }

  // Runs one step for all samples; those that have ended are replaced by copies of one
  // that continues.
  std::vector<Tensor> step_staged(const ir::Function& test, const ir::Function& body,
                                  const Values& fixed, std::span<const Tensor> carries) {
    const auto now = carries.first(carries.size() - 1);
    const Tensor& goes_on = carries.back();
    std::vector<bool> flags = flags_of(fixed);
    flags.resize(fixed.size() + now.size(), true);
    Values values = filled(joined({tensors_in(fixed), now}), flags, goes_on);
    const std::vector<Tensor> next = run_for(body, values, lanes_);
    std::vector<Tensor> after;
    for (size_t i = 0; i < next.size(); ++i) {
      values[fixed.size() + i].tensor = next[i];
      after.push_back(where(as_rows(goes_on, next[i]), next[i], now[i]));
    }
    after.push_back(logical_and(goes_on, run_for(test, values, lanes_)[0]));
    return after;
  }

  Values scanned(const ir::Instruction& instruction, Operands operands,
                 const SymbolMap<Dim>& sizes) {
    const auto& attributes = instruction.attributes_as<ir::ScanAttributes>();
    const auto constants = static_cast<size_t>(attributes.constants);
    const auto carries = static_cast<size_t>(attributes.carries);
    const ir::Function& body = callee(instruction);
    std::vector<ir::Type> types;
    for (size_t i = 0; i < operands.size(); ++i) {
      const ir::Type type = type_of(operands[i]);
      const bool is_stacked = i >= constants + carries;
      types.push_back(is_stacked ? type.without_sharding().with_shape(without_first(type.shape()))
                                 : type);
    }
    const std::vector<bool> flags = flags_of_carries(body, operands, constants, carries, types);
    std::vector<bool> of_carries;
    std::vector<Tensor> initial, stacked;
    for (size_t i = constants; i < operands.size(); ++i) {
      const LaneValue& operand = operands[i];
      if (i < constants + carries) {
        of_carries.push_back(flags[i]);
        initial.push_back(flags[i] ? of_all_lanes(operand, lanes_) : operand.tensor);
      } else {  // the axis of steps first, then the samples
        stacked.push_back(flags[i] ? moveaxis(operand.tensor, 1, 0) : operand.tensor);
      }
    }
    const std::vector<Tensor> found =
        control::scan(held(body, operands.first(constants), flags, of_carries), initial, stacked,
                      {attributes.length.substitute(sizes), attributes.reverse});
    Values results;
    for (size_t i = 0; i < found.size(); ++i) {
      if (i < carries) {
        results.push_back({found[i], of_carries[i]});
      } else {  // the samples first, then the axis of steps
        const bool is_batched = all_.may_differ(instruction.result_types()[i]);
        results.push_back({is_batched ? moveaxis(found[i], 0, 1) : found[i], is_batched});
      }
    }
    return results;
  }

  // Each lane draws its own key.
  LaneValue draw() const { return {random::fold_in(random::draw_key(), iota(lanes_)), true}; }

  LaneValue refined(const ir::Instruction& instruction, const LaneValue& operand,
                    const SymbolMap<Dim>& sizes) const {
    const Shape shape = instruction.result_types()[0].substitute(sizes).shape();
    Trace* const trace = Trace::current();
    if (trace == nullptr) return operand;
    return {trace->refine(operand.tensor, with_first(lanes_, shape)), true};
  }

  // The callee as a function of tensors; its results are batched if lanes may differ in them.
  TensorFunction for_all_lanes(const ir::Function& called, std::vector<bool> batched) const {
    return [program = program(), &called, lanes = all_, batched = std::move(batched),
            differ =
                all_.which_may_differ(called.signature().results)](std::span<const Tensor> given) {
      Values operands;
      for (size_t i = 0; i < given.size(); ++i) operands.push_back({given[i], batched[i]});
      std::vector<Tensor> results;
      for (const LaneValue& result : run_batched(program, called, operands, lanes)) {
        const bool is_batched = differ[results.size()];
        results.push_back(is_batched ? of_all_lanes(result, lanes.count) : result.tensor);
      }
      return results;
    };
  }

  Values rematted(const ir::Instruction& instruction, Operands operands) const {
    const TensorFunction called = for_all_lanes(callee(instruction), flags_of(operands));
    return with_flags(
        remat_tensors(called, tensors_in(operands), instruction.attributes_as<RematPolicy>()),
        all_.which_may_differ(instruction.result_types()));
  }

  // The rule of one lane is batched.
  Values custom(const ir::Instruction& instruction, Operands operands) {
    const std::vector<Tensor> tensors = tensors_in(operands);
    if (!is_followed(tensors) && Trace::current() == nullptr) {
      return function(callee(instruction), operands);
    }
    const std::vector<bool> batched = flags_of(operands);
    const std::vector<bool> differ = all_.which_may_differ(instruction.result_types());
    const std::vector<ir::Type> types = ir_types_of(tensors);
    const auto staged = [&](size_t i, std::span<const ir::Type> parameters,
                            const TensorFunction& called) {
      return stage(callee(instruction, i).name(), parameters, called);
    };
    const StagedFunction forward_of_all =
        staged(0, types, for_all_lanes(callee(instruction), batched));
    if (instruction.primitive().structure == ir::Structure::custom_jvp) {
      std::vector<bool> with_tangents = batched;
      std::vector<ir::Type> taken = types;
      const size_t parameters = callee(instruction, 1).parameter_count();
      for (size_t i = 0; taken.size() < parameters; ++i) {
        if (!is_inexact(types[i].dtype())) continue;
        with_tangents.push_back(batched[i]);
        taken.push_back(types[i]);
      }
      const StagedFunction rule =
          staged(1, taken, for_all_lanes(callee(instruction, 1), with_tangents));
      return with_flags(run_custom_jvp(forward_of_all, rule, tensors), differ);
    }
    const StagedFunction forward = staged(1, types, for_all_lanes(callee(instruction, 1), batched));
    const auto& given = forward.function->signature().results;
    const size_t count = forward_of_all.function->signature().results.size();
    std::vector<ir::Type> sent(given.begin() + static_cast<std::ptrdiff_t>(count), given.end());
    for (size_t i = 0; i < count; ++i) {
      if (is_inexact(given[i].dtype())) sent.push_back(given[i]);
    }
    const TensorFunction back =
        for_all_lanes(callee(instruction, 2),
                      all_.which_may_differ(callee(instruction, 2).signature().parameters));
    const std::vector<bool> own = all_.which_may_differ(callee(instruction, 2).signature().results);
    const StagedFunction backward = staged(2, sent, [&](std::span<const Tensor> cotangents) {
      std::vector<Tensor> found = back(cotangents);
      for (size_t i = 0, next = 0; next < own.size(); ++i) {
        if (!is_inexact(types[i].dtype())) continue;
        // The cotangent of a shared operand is the sum over all lanes.
        if (!batched[i] && own[next]) found[next] = sum(found[next], 0);
        ++next;
      }
      return found;
    });
    return with_flags(run_custom_vjp(forward_of_all, forward, backward, tensors), differ);
  }

  const Lanes all_;
  const Dim lanes_;
};

}  // namespace

std::vector<LaneValue> run_batched(const ir::Program& program, const ir::Function& function,
                                   std::span<const LaneValue> arguments, const Lanes& lanes) {
  return BatchedRun(program, lanes).function(function, arguments);
}

}  // namespace plait
