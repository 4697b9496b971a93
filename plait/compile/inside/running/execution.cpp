#include "plait/compile/inside/running/execution.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "plait/compile/inside/running/array_steps.h"
#include "plait/compile/inside/running/call_stack.h"
#include "plait/compile/inside/running/plan_memory.h"
#include "plait/compile/inside/running/small_loop.h"
#include "plait/compile/inside/running/value_steps.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/interruption.h"
#include "plait/ir/inside/evaluation/value_check.h"
#include "plait/tensor/array_machine.h"

namespace plait::compile {
namespace {

using ir::Value;

ArenaOptions arena_of(const ExecutionOptions& options) {
  return options.arena.value_or(
      ArenaOptions{.is_guarded = setting::kArena.get() == Arena::guarded});
}

// Copies arguments into guarded blocks. A copy may be overwritten only if the argument may: the
// blocks of the others are returned, and must stay shared.
std::vector<Buffer> guard(std::vector<Value>& arguments, int64_t shift) {
  std::vector<Buffer> unwritable;
  for (Value& argument : arguments) {
    if (!argument.is_machine() || !TensorMachine::array_of(argument).is_contiguous()) continue;
    const bool is_ours = TensorMachine::array_of(argument).is_writable();
    const Array array = TensorMachine::array_of(argument);
    const int64_t bytes = array.element_count() * array.element_size();
    const GuardedBlock block(bytes, shift, array.element_size());
    std::copy_n(array.data(), bytes, block.buffer().data());
    argument = TensorMachine::value_of(
        Array(array.dtype(), Layout::contiguous(array.sizes()), block.buffer()));
    if (!is_ours) unwritable.push_back(block.buffer());
  }
  return unwritable;
}

// Arguments that the program does not change.
void note_uses(std::span<const Value> arguments) {
  for (const Value& argument : arguments) {
    if (!argument.is_machine()) continue;
    const Array& array = TensorMachine::array_of(argument);
    if (!array.is_writable()) array.buffer().note_use();
  }
}

// Runs steps one after the other, and decides which is next. Between two steps, the frame on top of
// the stack says where it is; a call is complete when its callee has left.
class Execution {
 public:
  Execution(const LoadedPlan& loaded, const ExecutionOptions& options)
      : loaded_(loaded),
        options_(options),
        memory_(arena_of(options)),
        calls_(loaded, memory_.options(), options.max_depth) {}

  ExecutionResults run(std::span<const int64_t> sizes, std::vector<Value> arguments) {
    const LoopContext::Scope scope(memory_);
    note_uses(arguments);
    std::vector<Buffer> unwritable;
    if (memory_.is_guarded()) unwritable = guard(arguments, memory_.options().shift);
    try {
      calls_.enter(0, sizes, arguments);
      memory_.use_work_memory(calls_.top().work);
      while (calls_.depth() > 0) {
        check_interruption();
        if (const Step* step = calls_.top().step()) {
          run_step_of(calls_.top(), *step);
        } else {
          leave();
        }
      }
    } catch (Error& error) {
      calls_.explain(error);
      throw;
    } catch (const std::bad_alloc&) {
      throw MemoryError("@{}: out of memory, {} calls deep", loaded_.plan().functions[0].name,
                        calls_.depth());
    }
    return std::move(results_);
  }

 private:
  void run_step_of(Frame& frame, const Step& step) {
    if (options_.observer) options_.observer->before(frame.function(), step, frame);
    const size_t depth = calls_.depth();
    std::visit([&](const auto& kind) { go(frame, step, kind); }, step.kind);
    if (memory_.is_guarded()) memory_.end_step();
    if (options_.observer && calls_.depth() == depth) {
      options_.observer->after(frame.function(), step, frame);
    }
  }

  void leave() {
    take_results(calls_.top());
    calls_.leave();
    if (calls_.depth() == 0) return;
    Frame& frame = calls_.top();
    const Step& call = *frame.step();
    frame.set_sizes(call.as<CallStep>()->new_sizes, results_.sizes);
    for (size_t i = 0; i < call.results.size(); ++i) {
      frame.value(call.results[i]) = std::move(results_.values[i]);
    }
    if (options_.observer) options_.observer->after(frame.function(), call, frame);
    ++frame.next;
  }

  void take_results(const Frame& frame) {
    results_.values.clear();
    results_.sizes.clear();
    const PlannedFunction& done = frame.function();
    for (const Register r : done.results) results_.values.push_back(frame.value(r));
    for (const Dim size : done.result_sizes) results_.sizes.push_back(frame.number(size));
  }

  // ---- Steps that go on to the next one.

  template <class Kind>
  void go(Frame& frame, const Step& step, const Kind& kind) {
    run_step(frame, step, kind);
    ++frame.next;
  }
  void go(Frame& frame, const Step& step, const KernelStep& kind) {
    run_step(frame, step, kind, loaded_.plan().kernels[kind.kernel]);
    ++frame.next;
  }
  void go(Frame& frame, const Step& step, const ConstantStep& kind) {
    frame.value(step.results[0]) = loaded_.constant(kind.constant);
    ++frame.next;
  }
  void go(Frame& frame, const Step& step, const GuardStep& kind) {
    if (machine_.to_boolean(frame.operand(step, 0)) != kind.expected) {
      fail_guard(fmt::format("guard: {}, expected {}", !kind.expected, kind.expected));
    }
    pass_guard(frame);
  }
  void go(Frame& frame, const Step&, const SizeGuardStep& kind) {
    if (!kind.fact.evaluate(frame.sizes())) {
      const Dim sides[] = {kind.fact.left, kind.fact.right};
      fail_guard(fmt::format("size_guard: {} does not hold: {}", kind.fact.text(),
                             ir::sizes_text(sides, frame.sizes())));
    }
    pass_guard(frame);
  }

  void pass_guard(Frame& frame) {
    ++passed_guards_;
    ++frame.next;
  }
  [[noreturn]] void fail_guard(std::string message) {
    const FailedPlanGuard failed{passed_guards_, std::move(message)};
    if (options_.on_guard) options_.on_guard(failed);
    throw CheckError("{}", failed.message)
        .hint("this held for the traced arguments; trace the program again for the present ones");
  }

  // ---- Jumps.

  void go(Frame& frame, const Step&, const JumpStep& kind) {
    frame.next = kind.target;
    if (!kind.loop || !frame.bound()->small_loops[*kind.loop]) return;
    if (memory_.is_guarded() || options_.observer) return;
    if (frame.rounds[*kind.loop]++ < options_.first_rounds) return;
    run_small_loop(loaded_, frame, frame.function().loops[*kind.loop]);
  }
  void go(Frame& frame, const Step& step, const BranchStep& kind) {
    frame.next = machine_.to_boolean(frame.operand(step, 0)) ? frame.next + 1 : kind.target;
  }
  void go(Frame& frame, const Step& step, const ChooseStep& kind) {
    frame.next = chosen_target(kind.targets, machine_.to_integer(frame.operand(step, 0)));
  }
  void go(Frame& frame, const Step& step, const NextSliceStep& kind) {
    frame.next = take_slices(frame, step, kind.loop) ? frame.next + 1 : kind.target;
  }
  void go(Frame& frame, const Step& step, const NextNodeStep& kind) {
    frame.next = take_node(frame, step, kind) ? frame.next + 1 : kind.target;
  }
  void go(Frame& frame, const Step& step, const CallStep& kind) {
    const std::vector<int64_t> sizes = frame.numbers(kind.sizes);
    std::vector<Value> arguments = frame.operands(step);
    calls_.enter(kind.callee, sizes, arguments);
  }

  const LoadedPlan& loaded_;
  const ExecutionOptions& options_;
  PlanMemory memory_;
  CallStack calls_;
  TensorMachine machine_;
  ExecutionResults results_;  // results of the function that has left
  size_t passed_guards_ = 0;
};

}  // namespace

ExecutionResults execute(const LoadedPlan& plan, std::span<const int64_t> sizes,
                         std::vector<Value> arguments, const ExecutionOptions& options) {
  return Execution(plan, options).run(sizes, std::move(arguments));
}

}  // namespace plait::compile
