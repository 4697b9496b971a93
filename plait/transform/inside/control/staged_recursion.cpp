#include "plait/transform/inside/control/staged_recursion.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ir/analysis/call_graph.h"
#include "plait/ir/analysis/effect_analysis.h"
#include "plait/ir/structure.h"
#include "plait/ops/random/random.h"
#include "plait/tensor/tracing/trace.h"
#include "plait/transform/derivatives/follow.h"
#include "plait/transform/derivatives/vjp.h"
#include "plait/transform/inside/batching/batch.h"
#include "plait/transform/inside/batching/varying.h"
#include "plait/transform/inside/control/open_recursion.h"
#include "plait/transform/inside/control/staged.h"
#include "plait/transform/inside/derivatives/derivative.h"
#include "plait/transform/inside/derivatives/derived_cache.h"
#include "plait/transform/inside/derivatives/derived_functions.h"
#include "plait/transform/inside/derivatives/lifted_draws.h"
#include "plait/transform/inside/derivatives/taped.h"
#include "plait/transform/inside/derivatives/tensor_lists.h"
#include "plait/transform/inside/running/function_run.h"
#include "plait/transform/inside/running/run_program.h"

namespace plait {
namespace {

using Tensors = std::vector<Tensor>;

std::string bits(const std::vector<bool>& flags) {
  std::string text;
  for (const bool flag : flags) text += flag ? '1' : '0';
  return text;
}

// ---- Calls of a recursive function.

class Recursion {
 public:
  Recursion(const ir::Program& program, const ir::Function& function)
      : program_(program), function_(function) {}

  const ir::Signature& signature() const { return function_.signature(); }

  // This function as the reverse derivative of another.
  Recursion derivative_of(const Recursion& of, std::span<const int64_t> wanted) const {
    Recursion derivative = *this;
    derivative.of_ = std::make_shared<const Recursion>(of);
    derivative.wanted_.assign(wanted.begin(), wanted.end());
    return derivative;
  }

  Tensors run(std::span<const Tensor> given) const {
    if (!has_open_axes()) return run_agreed(given);
    const Tensors operands = settled(given);
    return takes(operands) ? run_agreed(operands) : run_varying(operands);
  }

  // Random numbers are derived from the key, so that a derivative that recomputes them gets the
  // same numbers.
  Tensors run_with_key(std::span<const Tensor> operands, const Tensor& key) const {
    Made made{"keyed", signature(), with_key({program_, &function_})};
    made.signature.parameters.push_back(key.type());
    return call(made, joined({operands, {&key, 1}}));
  }

  // Runs for many lanes.
  std::vector<LaneValue> run_batched_for(std::span<const LaneValue> operands,
                                         const Lanes& lanes) const {
    const Made made = batched(flags_of(operands), lanes);
    return with_flags(call(made, tensors_in(operands)),
                      lanes.which_may_differ(signature().results));
  }

  // The same for a reverse derivative, as the derivative of the batched function.
  Tensors run_batched_pull(const Recursion& of, std::span<const int64_t> wanted,
                           std::span<const LaneValue> operands) const {
    Made made = batched(flags_of(operands), {});
    made.pulled = std::make_shared<const Recursion>(of);
    made.wanted.assign(wanted.begin(), wanted.end());
    return call(made, tensors_in(operands));
  }

  static Recursion of_lanes(const ir::Program& program, const ir::Function& function,
                            const std::vector<bool>& flags) {
    const Recursion one(program, function);
    const Made made = one.batched(flags, {});
    const StagedFunction staged = one.find_or_stage({&function, made.kind}, made);
    return {staged.program, *staged.function};
  }

 private:
  Tensors run_agreed(std::span<const Tensor> operands) const {
    if (!is_followed(operands)) return record(operands);
    if (draws_keys(program_, function_)) return run_with_key(operands, random::draw_key());
    if (is_followed_in_reverse(operands)) return run_in_reverse(operands);
    return run_forward(operands);
  }

  // ---- Values that vary along other axes than in the record: a function of its own.

  // All operands vary along the axes that determine the depth of the recursion: cotangents are
  // summed outside of it, where all places take part.
  Tensors settled(std::span<const Tensor> operands) const {
    ir::AxisSet deciding;
    const ir::CallGraph graph(program_);
    for (const uint32_t i : graph.reachable_from(program_.index_of(function_.name()))) {
      for (const ir::Instruction instruction : program_.function(i).instructions()) {
        deciding.insert(ir::deciding_axes(program_, i, instruction));
      }
    }
    Tensors all;
    for (size_t i = 0; i < operands.size(); ++i) {
      ir::AxisSet axes = signature().parameters[i].all_varying();
      axes.insert(deciding);
      all.push_back(vary_along(operands[i], axes));
    }
    return all;
  }

  bool takes(std::span<const Tensor> operands) const {
    for (size_t i = 0; i < operands.size(); ++i) {
      if (signature().parameters[i].all_varying() != axes_of(operands[i])) return false;
    }
    return true;
  }

  Tensors run_varying(std::span<const Tensor> operands) const {
    Made made{"along", signature(), body()};
    made.finds_results = true;
    for (size_t i = 0; i < operands.size(); ++i) {
      ir::Type& type = made.signature.parameters[i];
      type = type.with_varying(axes_of(operands[i]));
      made.kind += axes_of(operands[i]).text();
    }
    return call(made, operands);
  }

  // Includes the function in the open trace.
  ir::Callee callee(std::span<const Tensor> operands) const {
    Trace& trace = *Trace::current();
    const SymbolMap<Dim> sizes = sizes_for(function_, ir_types_of(operands));
    const auto close = [&](const ir::Instruction& each) { return close_open_call(trace, each); };
    ir::Callee callee{trace.include(program_, function_, close), {}};
    for (const Dim size : signature().size_parameters) {
      callee.sizes.push_back(size.substitute(sizes));
    }
    return callee;
  }

  Tensors record(std::span<const Tensor> operands) const {
    const Trace& trace = *Trace::current();
    const bool is_final =
        TapeScope::is_of(trace) || (TapeScope::is_open() && OpenRecursion::is_recorded_in(trace));
    if (of_ && is_final) return of_->pull_by_tape(operands, wanted_);
    if (is_final && has_pulls(program_)) return call({"taped", signature(), body()}, operands);
    return record_call(operands);
  }

  Tensors record_call(std::span<const Tensor> operands) const {
    std::vector<ir::Callee> callees{callee(operands)};
    ir::Attributes attributes;
    if (of_) {
      callees.push_back(of_->callee(operands.first(of_->signature().parameters.size())));
      attributes = ir::Attributes::of(ir::PullAttributes{wanted_});
    }
    const auto structure = of_ ? ir::Structure::pull : ir::Structure::call;
    return Trace::current()->record({.primitive = ir::primitive(structure),
                                     .operands = operands,
                                     .attributes = attributes,
                                     .callees = callees});
  }

  // A function derived from this one. If it is being recorded, the call refers to it; otherwise it
  // is recorded now.
  struct Made {
    std::string kind;
    ir::Signature signature;  // parameters and results
    TensorFunction body;
    // If it is a reverse derivative: the function, and the parameters to differentiate by.
    std::shared_ptr<const Recursion> pulled = nullptr;
    std::vector<int64_t> wanted = {};
    bool finds_results = false;  // the signature lacks results; recording finds them
  };
  Tensors call(const Made& made, std::span<const Tensor> operands) const {
    const OpenRecursion::Key key{&function_, made.kind};
    if (OpenRecursion* const open = OpenRecursion::find(key, ir_types_of(operands))) {
      return open->call(operands);
    }
    const StagedFunction staged = find_or_stage(key, made);
    const Recursion function(staged.program, *staged.function);
    if (made.kind == "taped") return function.record_call(operands);
    return (made.pulled ? function.derivative_of(*made.pulled, made.wanted) : function)
        .run(operands);
  }
  StagedFunction find_or_stage(const OpenRecursion::Key& key, const Made& made) const {
    const StagedFunction* const known = derived_cache().find(function_, made.kind);
    return known != nullptr ? *known : stage(key, made);
  }
  StagedFunction stage(const OpenRecursion::Key& key, const Made& made) const {
    OpenRecursion open(key, function_.name() + "." + made.kind, made.signature.parameters);
    if (!made.finds_results) open.expect(made.signature);
    StagedFunction staged = open.stage(made.body);
    if (!has_open_calls(staged.program)) derived_cache().add(program_, function_, key.kind, staged);
    return staged;
  }

  TensorFunction body() const {
    return [program = program_, &function = function_](std::span<const Tensor> given) {
      return run_function(program, function, given);
    };
  }

  // ---- Forward mode: values and tangents together, for the innermost level.

  Tensors run_forward(std::span<const Tensor> operands) const {
    LevelPtr level;
    for (const Tensor& operand : operands) {
      if (!operand.derivation()) continue;
      for (const auto& each : operand.derivation()->tangents) {
        if (!each->level->is_open()) continue;
        if (!level || each->level->number() > level->number()) level = each->level;
      }
    }
    Tensors values, tangents;
    for (const Tensor& operand : operands) {
      values.push_back(below(operand, level->number()));
      tangents.push_back(tangent_of(operand, *level));
    }
    Tensors results = push(values, tangents);
    const size_t count = signature().results.size();
    for (size_t i = 0, next = count; i < count; ++i) {
      if (!has_tangent(results[i])) continue;
      results[i] = with_tangent(results[i], level, results[next++]);
    }
    results.resize(count);
    return results;
  }

  // JVP: returns the results, and the tangents of the inexact ones.
  Tensors push(std::span<const Tensor> operands, std::span<const Tensor> tangents) const {
    const std::vector<bool> moving = which_are_present(tangents);
    Made made{"jvp" + bits(moving), signature(), {}};
    for (size_t i = 0; i < moving.size(); ++i) {
      if (moving[i]) made.signature.parameters.push_back(signature().parameters[i]);
    }
    for (const ir::Type& type : signature().results) {
      if (ir::has_tangent(type)) made.signature.results.push_back(type);
    }
    made.body = [this, moving](std::span<const Tensor> given) {
      auto [values, moved] = control::pushed(body(), given.first(moving.size()),
                                             spread(given.subspan(moving.size()), moving), false);
      for (size_t i = 0, next = 0; i < values.size(); ++i) {
        if (!has_tangent(values[i])) continue;
        moved[next] = control::or_zeros(moved[next], values[i]);
        ++next;
      }
      return joined({values, moved});
    };
    return call(made, joined({operands, present_of(tangents)}));
  }

  // ---- Reverse mode: a function of the operands and cotangents. It recomputes everything, so it
  // can be differentiated again. With tapes, that is when no further derivative follows, what it
  // needs is stored in a record, the tape.

  Tensors run_in_reverse(std::span<const Tensor> operands) const {
    const std::vector<bool> wanted = control::which_are_followed(operands);
    const size_t count = signature().results.size();
    const bool keeps_tape = TapeScope::is_open();
    Tensors underived;
    for (const Tensor& operand : operands) underived.push_back(plait::underived(operand));
    Tensors results = keeps_tape ? call(forward(wanted), underived) : record(underived);
    const Tensors tape(results.begin() + static_cast<std::ptrdiff_t>(count), results.end());
    results.resize(count);
    const std::vector<bool> inexact = control::which_are_inexact(results);
    const Recursion self = *this;
    return follow_custom(
        {.inputs = {operands.begin(), operands.end()},
         .residuals = joined({operands, tape}),
         .results = std::move(results),
         .backward =
             [self, wanted, inexact, n = operands.size()](auto cotangents, const Step::Kept& kept) {
               return spread(self.pull(kept.residuals.first(n), kept.residuals.subspan(n), wanted,
                                       inexact, cotangents),
                             wanted);
             },
         .forward =
             [self, inexact, n = operands.size()](auto tangents, const Step::Kept& kept, uint64_t) {
               const Tensors all = self.push(kept.residuals.first(n), tangents);
               return spread(std::span(all).subspan(inexact.size()), inexact);
             }});
  }

  Tensors pull(std::span<const Tensor> operands, std::span<const Tensor> tape,
               const std::vector<bool>& wanted, const std::vector<bool>& inexact,
               std::span<const Tensor> given) const {
    const Tensors cotangents = all_cotangents(function_, operands, given);
    const bool is_simple = !is_followed(operands) && !is_followed(cotangents);
    if (!tape.empty() && is_simple) return pull_tape(wanted, joined({tape, cotangents}));
    return call(recomputing(wanted, inexact), joined({operands, cotangents}));
  }

  // Returns the results and the tape.
  Made forward(const std::vector<bool>& wanted) const {
    Made made{"forward" + bits(wanted), signature(), {}};
    made.signature.results.push_back(tape_type(wanted));
    made.body = [this, wanted](std::span<const Tensor> given) {
      return record_tape(given, wanted);
    };
    return made;
  }
  std::string backward_name(const std::vector<bool>& wanted) const {
    return function_.name() + ".backward" + bits(wanted);
  }
  ir::Type tape_type(const std::vector<bool>& wanted) const {
    return ir::Type::record(function_.name() + ".tape" + bits(wanted), signature().size_parameters);
  }
  ir::Signature backward_signature(const std::vector<bool>& wanted) const {
    ir::Signature back;
    back.size_parameters = signature().size_parameters;
    back.parameters = {tape_type(wanted)};
    for (const ir::Type& type : signature().results) {
      if (ir::has_tangent(type)) back.parameters.push_back(type);
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i]) back.results.push_back(signature().parameters[i]);
    }
    return back;
  }

  Tensors pull_tape(const std::vector<bool>& wanted, std::span<const Tensor> operands) const {
    const OpenRecursion::Key key{&function_, "backward" + bits(wanted)};
    if (OpenRecursion* const open = OpenRecursion::find(key, ir_types_of(operands))) {
      return open->call(operands);
    }
    const Made made = forward(wanted);
    const StagedFunction staged = find_or_stage({&function_, made.kind}, made);
    return run_recursive(staged.program, staged.program.function(backward_name(wanted)), operands);
  }

  // `all`: operands and cotangents.
  Tensors pull_by_tape(std::span<const Tensor> all, std::span<const int64_t> numbers) const {
    const size_t count = signature().parameters.size();
    std::vector<bool> wanted(count, false);
    for (const int64_t i : numbers) wanted[static_cast<size_t>(i)] = true;
    Tensors results = call(forward(wanted), all.first(count));
    return pull_tape(wanted, joined({{&results.back(), 1}, all.subspan(count)}));
  }

  // Runs in the trace of the forward function, and records the backward function beside it.
  Tensors record_tape(std::span<const Tensor> operands, const std::vector<bool>& wanted) const {
    Trace& trace = *Trace::current();
    OpenRecursion open({&function_, "backward" + bits(wanted)}, backward_name(wanted),
                       backward_signature(wanted).parameters);
    open.expect(backward_signature(wanted));
    open.record_within(trace);
    const Taped taped = record_taped(body(), operands, wanted);
    const Tensors& kept = taped.backward.captures;
    const ir::Type type = tape_type(wanted);
    ir::RecordType record{type.record_name(), signature().size_parameters, {}, ir_types_of(kept)};
    record.held = sizes_besides(record.fields, record.parameters);
    trace.declare(record);
    const Tensor tape = trace.record({.primitive = ir::primitive(ir::Structure::pack),
                                      .operands = kept,
                                      .size_arguments = record.held,
                                      .stated_types = {&type, 1}})[0];
    record_backward(wanted, taped.backward);
    return joined({taped.results, {&tape, 1}});
  }

  void record_backward(const std::vector<bool>& wanted, const StagedFunction& backward) const {
    Trace trace(backward_name(wanted));
    for (const Dim size : signature().size_parameters) trace.declare_size(size);
    Tensors given;
    for (const ir::Type& type : backward_signature(wanted).parameters) {
      given.push_back(trace.parameter(type));
    }
    const Tensors fields = trace.record(
        {.primitive = ir::primitive(ir::Structure::unpack), .operands = std::span(given).first(1)});
    trace.finish(backward(joined({std::span(given).subspan(1), fields})));
  }

  // The number of lanes is a symbol; for a named axis it is the size of that axis.
  Made batched(const std::vector<bool>& flags, const Lanes& given_lanes) const {
    Made made{"vmap" + bits(flags), signature(), {}};
    const std::string& axis = given_lanes.axis;
    Lanes lanes = given_lanes;
    if (axis.empty()) {
      std::string name = "lanes";
      const auto is_taken = [&](Dim size) { return size.name() == name; };
      while (std::ranges::any_of(signature().size_parameters, is_taken)) name += "_";
      lanes.count = Dim::symbol(name);
    } else {
      made.kind += fmt::format(".{}.{}", axis, lanes.count.text());
      std::erase_if(made.signature.axes.axes, [&](const auto& each) { return each.name == axis; });
    }
    const auto in_lanes = [&](const ir::Type& type) {
      return type.without_sharding().with_shape(with_first(lanes.count, type.shape()));
    };
    const auto elsewhere = [&](const ir::Type& type) {
      ir::AxisSet axes = type.varying();
      axes.erase(axis);
      return type.with_varying(axes);
    };
    std::vector<ir::Type>& parameters = made.signature.parameters;
    for (size_t i = 0; i < flags.size(); ++i) {
      if (flags[i]) parameters[i] = in_lanes(parameters[i]);
      if (!axis.empty()) parameters[i] = elsewhere(parameters[i]);
    }
    const std::vector<bool> differ = lanes.which_may_differ(signature().results);
    std::vector<ir::Type>& results = made.signature.results;
    for (size_t i = 0; i < differ.size(); ++i) {
      if (differ[i]) results[i] = in_lanes(results[i]);
      if (!axis.empty()) results[i] = elsewhere(results[i]);
    }
    made.body = [this, flags, lanes, differ](std::span<const Tensor> given) {
      Tensors results;
      const std::vector<LaneValue> values = with_flags(given, flags);
      for (const LaneValue& result : run_batched(program_, function_, values, lanes)) {
        const bool is_batched = differ[results.size()];
        results.push_back(is_batched ? of_all_lanes(result, lanes.count) : result.tensor);
      }
      return results;
    };
    return made;
  }

  // Reverse derivative without a tape.
  Made recomputing(const std::vector<bool>& wanted, const std::vector<bool>& inexact) const {
    Made made{"vjp" + bits(wanted), signature(), {}};
    made.pulled = std::make_shared<const Recursion>(program_, function_);
    made.signature.results.clear();
    for (size_t i = 0; i < inexact.size(); ++i) {
      if (inexact[i]) made.signature.parameters.push_back(signature().results[i]);
    }
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (!wanted[i]) continue;
      made.signature.results.push_back(signature().parameters[i]);
      made.wanted.push_back(static_cast<int64_t>(i));
    }
    made.body = [this, wanted, inexact](std::span<const Tensor> given) {
      return present_of(control::pulled(body(), given.first(wanted.size()), wanted,
                                        spread(given.subspan(wanted.size()), inexact)));
    };
    return made;
  }

  ir::Program program_;
  const ir::Function& function_;
  // If this is the reverse derivative of a function: that function and the parameters to
  // differentiate by.
  std::shared_ptr<const Recursion> of_ = nullptr;
  std::vector<int64_t> wanted_ = {};
};

}  // namespace

bool has_recursion(const ir::Program& program) {
  const ir::CallGraph graph(program);
  for (size_t i = 0; i < graph.component_count(); ++i) {
    if (graph.is_recursive(i)) return true;
  }
  return false;
}

std::vector<Tensor> run_recursive(const ir::Program& program, const ir::Function& function,
                                  std::span<const Tensor> operands) {
  return Recursion(program, function).run(operands);
}

std::vector<Tensor> run_recursive_pull(const ir::Program& program, const ir::Function& function,
                                       const ir::Function& of, std::span<const int64_t> wanted,
                                       std::span<const Tensor> operands) {
  return Recursion(program, function).derivative_of({program, of}, wanted).run(operands);
}

std::vector<Tensor> run_recursive_with_key(const ir::Program& program, const ir::Function& function,
                                           std::span<const Tensor> operands, const Tensor& key) {
  return Recursion(program, function).run_with_key(operands, key);
}

std::vector<LaneValue> run_recursive_batched(const ir::Program& program,
                                             const ir::Instruction& instruction,
                                             std::span<const LaneValue> operands,
                                             const Lanes& lanes) {
  const auto called = [&](size_t i) -> const ir::Function& {
    return program.function(instruction.callees()[i].name);
  };
  const Recursion function(program, called(0));
  const bool is_pull = instruction.primitive().structure == ir::Structure::pull;
  const std::vector<bool> flags = flags_of(operands);
  if (std::ranges::find(flags, true) == flags.end()) {
    const Tensors tensors = tensors_in(operands);
    const auto wanted =
        is_pull ? instruction.attributes_as<ir::PullAttributes>().wanted : std::vector<int64_t>();
    return values_of(is_pull ? run_recursive_pull(program, called(0), called(1), wanted, tensors)
                             : function.run(tensors),
                     false);
  }
  // Lanes of a named axis may communicate; the derivative is batched like any other function.
  if (!is_pull || !lanes.axis.empty()) return function.run_batched_for(operands, lanes);
  // The derivative of the batched function is the derivative of each lane, if lanes share only
  // operands without a wanted derivative.
  const auto& wanted = instruction.attributes_as<ir::PullAttributes>().wanted;
  const size_t count = called(1).signature().parameters.size();
  std::vector<LaneValue> apart;
  for (size_t i = 0; i < operands.size(); ++i) {
    const bool is_wanted = std::ranges::find(wanted, static_cast<int64_t>(i)) != wanted.end();
    if (operands[i].tensor.is_array()) {
      apart.push_back({of_all_lanes(operands[i], lanes.count), true});
    } else if (i < count && !is_wanted) {
      apart.push_back(operands[i]);
    } else {
      throw TypeError("the derivative by a {} would differ from sample to sample",
                      operands[i].tensor.type().text())
          .at(instruction.location())
          .hint("differentiate the sum over all samples");
    }
  }
  const std::vector<bool> theirs = flags_of(std::span(apart).first(count));
  const Recursion of = Recursion::of_lanes(program, called(1), theirs);
  return values_of(function.run_batched_pull(of, wanted, apart), true);
}

bool has_pulls(const ir::Program& program) {
  return any_instruction(program, [](const ir::Instruction& instruction) {
    return instruction.primitive().structure == ir::Structure::pull;
  });
}

}  // namespace plait
