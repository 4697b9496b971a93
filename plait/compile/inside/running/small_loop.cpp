#include "plait/compile/inside/running/small_loop.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "plait/compile/inside/running/value_steps.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/interruption.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/kernel_anomaly.h"

namespace plait::compile {
namespace {

// ---- Copies.

// Copies the elements of an array to a contiguous one.
struct Copy {
  Array from, to;
  int64_t bytes = -1;  // to be copied, if `from` is contiguous too

  Copy(Array source, Array target) : from(std::move(source)), to(std::move(target)) {
    if (from.is_contiguous()) bytes = from.element_count() * from.element_size();
  }
  void run() {
    if (bytes < 0) return copy_elements(from, to);
    std::memcpy(to.writable_data(), from.data(), static_cast<size_t>(bytes));
  }
  bool copies_nothing() const { return from.data() == to.data() && bytes >= 0; }
};

// Slices of a stacked array, one in each round, and the array for each.
struct Slices {
  Array stacked, place;
  bool is_contiguous;  // both

  Slices(Array all, Array each) : stacked(std::move(all)), place(std::move(each)) {
    is_contiguous = stacked.is_contiguous() && place.is_contiguous();
  }
  int64_t bytes() const { return place.element_count() * place.element_size(); }
  Array slice(int64_t index) const { return stacked.view(stacked.layout().picked(0, index)); }

  void take(int64_t index) {
    if (!is_contiguous) return copy_elements(slice(index), place);
    std::memcpy(place.writable_data(), stacked.data() + index * bytes(),
                static_cast<size_t>(bytes()));
  }
  void put(int64_t index) {
    if (is_contiguous) {
      std::memcpy(stacked.writable_data() + index * bytes(), place.data(),
                  static_cast<size_t>(bytes()));
      return;
    }
    Array to = slice(index);
    copy_elements(place, to);
  }
};

// ---- Actions: the steps with their arrays.

struct RunKernel {
  std::vector<Copy> copies;  // operands that must be contiguous
  std::vector<Array> operands, results;
  std::unique_ptr<FusedCall> call;
};
struct RunPrimitive {
  const Operation* operation;
  const BoundStep* sizes;
  const Kernel* kernel;
  std::vector<Array> operands, places;
  std::vector<Array> given, results;  // in a call: kernels may move from them
};
struct CopyArrays {
  std::vector<Copy> copies;
};
struct BeginScan {
  uint32_t counter;
};
struct TakeSlices {
  uint32_t counter, target;
  int64_t length;
  bool is_reversed;
  std::vector<Slices> slices;
};
struct PutSlices {
  uint32_t counter;
  int64_t length;
  bool is_reversed;
  std::vector<Slices> slices;
};
struct Jump {
  uint32_t target;
  bool is_next_round;  // in this loop or one within it
};
struct Branch {
  Array condition;
  uint32_t target;
};
struct Choose {
  Array index;
  std::vector<uint32_t> targets;
};
struct Skip {};
using Action = std::variant<RunKernel, RunPrimitive, CopyArrays, BeginScan, TakeSlices, PutSlices,
                            Jump, Branch, Choose, Skip>;

// The loop, with an action for each of its steps.
class SmallLoop {
 public:
  SmallLoop(const LoadedPlan& loaded, Frame& frame, const PlannedFunction::Loop& loop)
      : loaded_(loaded), frame_(frame), loop_(loop) {
    for (const Register carry : loop.carries) {
      Copy(TensorMachine::array_of(frame.value(carry)), place_of(carry)).run();
    }
    actions_.reserve(loop.end - loop.begin);
    for (uint32_t i = loop.begin; i < loop.end; ++i) add(i);
  }

  void run() {
    for (uint32_t at = loop_.begin; at != loop_.end;) {
      frame_.next = at;  // for the location of an error
      at = std::visit([&](auto& action) { return go(action, at + 1); }, actions_[at - loop_.begin]);
    }
    for (const Register carry : loop_.carries) {
      frame_.value(carry) = TensorMachine::value_of(arrays_.at(carry));
    }
    frame_.next = loop_.end;
  }

 private:
  // ---- The arrays of registers.

  // The array of a register that steps of the loop define.
  Array place_of(Register r) {
    Array& array = arrays_[r];
    if (!array) {
      ArrayType type = bound_type(frame_.function().registers[r].type, frame_.sizes());
      array = Array::empty(type.dtype, std::move(type.sizes));
    }
    return array;
  }
  std::vector<Array> places_of(const Step& step) {
    std::vector<Array> places;
    for (const Register r : step.results) places.push_back(place_of(r));
    return places;
  }

  Array array_of(Register r) {
    const auto defined = arrays_.find(r);
    if (defined != arrays_.end()) return defined->second;
    return TensorMachine::array_of(frame_.value(r));  // from before the loop
  }
  std::vector<Array> operands_of(const Step& step) {
    std::vector<Array> arrays;
    for (const Register r : step.operands) arrays.push_back(array_of(r));
    return arrays;
  }

  // ---- Actions of steps.

  void add(uint32_t at) {
    const Step& step = frame_.function().steps[at];
    std::visit([&](const auto& kind) { actions_.push_back(action_of(at, step, kind)); }, step.kind);
  }

  Action action_of(uint32_t at, const Step& step, const KernelStep& kind) {
    const PlannedKernel& kernel = loaded_.plan().kernels[kind.kernel];
    RunKernel action{.operands = operands_of(step), .results = places_of(step)};
    for (const uint32_t parameter : kernel.parameters) {
      if (parameter >= action.operands.size()) continue;
      Array& operand = action.operands[parameter];
      if (operand.is_contiguous()) continue;
      Array place = Array::empty(operand.dtype(), operand.sizes());
      action.copies.emplace_back(std::exchange(operand, place), place);
    }
    action.call =
        kernel.compiled->bind(frame_.bound()->steps[at]->kernel, action.operands, action.results);
    return action;
  }

  Action action_of(uint32_t at, const Step& step, const PrimitiveStep& kind) {
    return run_primitive(at, step, kind.operation);
  }

  RunPrimitive run_primitive(uint32_t at, const Step& step, const Operation& operation) {
    RunPrimitive action{.operation = &operation,
                        .sizes = &*frame_.bound()->steps[at],
                        .kernel = &kernel_of(*operation.primitive),
                        .operands = operands_of(step),
                        .places = places_of(step)};
    action.given.resize(action.operands.size());
    action.results.resize(action.places.size());
    return action;
  }

  // A view stays the same. A result that is not a view is computed in each round.
  Action action_of(uint32_t at, const Step& step, const ViewStep& kind) {
    RunPrimitive action = run_primitive(at, step, kind.operation);
    action.given = action.operands;
    KernelCall call{*kind.operation.primitive, action.given, action.sizes->attributes,
                    action.sizes->types, action.results};
    run_kernel(*action.kernel, call);
    const Array& result = action.results[0];
    if (result.buffer() != action.operands[0].buffer()) return action;
    arrays_[step.results[0]] = result;
    return Skip();
  }

  Action action_of(uint32_t, const Step& step, const ConstantStep& kind) {
    arrays_[step.results[0]] = TensorMachine::array_of(loaded_.constant(kind.constant));
    return Skip();
  }

  // An operand in the memory of one of the results is copied first.
  Action action_of(uint32_t, const Step& step, const MoveStep&) {
    const std::vector<Array> operands = operands_of(step), places = places_of(step);
    CopyArrays first, then;
    for (size_t i = 0; i < places.size(); ++i) {
      Copy copy(operands[i], places[i]);
      if (copy.copies_nothing()) continue;
      const bool is_overwritten =
          std::ranges::find(places, copy.from.buffer(), &Array::buffer) != places.end();
      if (is_overwritten) {
        Array kept = Array::empty(copy.from.dtype(), copy.from.sizes());
        first.copies.emplace_back(copy.from, kept);
        copy = Copy(std::move(kept), places[i]);
      }
      then.copies.push_back(std::move(copy));
    }
    std::ranges::move(then.copies, std::back_inserter(first.copies));
    return first;
  }

  Action action_of(uint32_t, const Step& step, const BeginScanStep& kind) {
    places_of(step);
    return BeginScan{kind.loop.counter};
  }
  Action action_of(uint32_t, const Step& step, const NextSliceStep& kind) {
    TakeSlices action{.counter = kind.loop.counter,
                      .target = kind.target,
                      .length = frame_.number(kind.loop.length),
                      .is_reversed = kind.loop.is_reversed};
    const std::vector<Array> stacked = operands_of(step), places = places_of(step);
    for (size_t i = 0; i < places.size(); ++i) action.slices.emplace_back(stacked[i], places[i]);
    return action;
  }
  Action action_of(uint32_t, const Step& step, const PutSliceStep& kind) {
    PutSlices action{.counter = kind.loop.counter,
                     .length = frame_.number(kind.loop.length),
                     .is_reversed = kind.loop.is_reversed};
    const std::vector<Array> arrays = operands_of(step);
    const size_t count = arrays.size() / 2;
    for (size_t i = 0; i < count; ++i) action.slices.emplace_back(arrays[count + i], arrays[i]);
    return action;
  }

  Action action_of(uint32_t at, const Step&, const JumpStep& kind) {
    return Jump{kind.target, kind.target <= at};
  }
  Action action_of(uint32_t, const Step& step, const BranchStep& kind) {
    return Branch{array_of(step.operands[0]), kind.target};
  }
  Action action_of(uint32_t, const Step& step, const ChooseStep& kind) {
    return Choose{array_of(step.operands[0]), kind.targets};
  }
  Action action_of(uint32_t, const Step&, const DropStep&) { return Skip(); }
  // Steps of other kinds are not in small loops.
  template <class Kind>
  Action action_of(uint32_t at, const Step&, const Kind&) {
    throw CompileError("{}: a loop with step {} cannot be run as a small one", Kind::kName, at);
  }

  // ---- Runs an action; returns the next step.

  uint32_t go(RunKernel& action, uint32_t next) {
    for (Copy& copy : action.copies) copy.run();
    action.call->run();
    return next;
  }
  uint32_t go(RunPrimitive& action, uint32_t next) {
    std::ranges::copy(action.operands, action.given.begin());
    std::ranges::copy(action.places, action.results.begin());
    KernelCall call{*action.operation->primitive, action.given, action.sizes->attributes,
                    action.sizes->types, action.results};
    run_kernel(*action.kernel, call);
    for (size_t i = 0; i < action.places.size(); ++i) {
      if (action.results[i].data() == action.places[i].data()) continue;
      copy_elements(action.results[i], action.places[i]);
    }
    return next;
  }
  uint32_t go(CopyArrays& action, uint32_t next) {
    for (Copy& copy : action.copies) copy.run();
    return next;
  }
  uint32_t go(BeginScan& action, uint32_t next) {
    frame_.counters[action.counter] = 0;
    return next;
  }
  uint32_t go(TakeSlices& action, uint32_t next) {
    const int64_t round = frame_.counters[action.counter];
    if (round == action.length) return action.target;
    for (Slices& slices : action.slices) slices.take(slice_of(action, round));
    return next;
  }
  uint32_t go(PutSlices& action, uint32_t next) {
    const int64_t round = frame_.counters[action.counter]++;
    for (Slices& slices : action.slices) slices.put(slice_of(action, round));
    return next;
  }
  uint32_t go(const Jump& action, uint32_t) {
    if (action.is_next_round) check_interruption();
    return action.target;
  }
  uint32_t go(const Branch& action, uint32_t next) {
    return *reinterpret_cast<const bool*>(action.condition.data()) ? next : action.target;
  }
  uint32_t go(const Choose& action, uint32_t) {
    TensorMachine machine;
    return chosen_target(action.targets, machine.to_integer(TensorMachine::value_of(action.index)));
  }
  uint32_t go(const Skip&, uint32_t next) { return next; }

  template <class Scanning>
  static int64_t slice_of(const Scanning& action, int64_t round) {
    return action.is_reversed ? action.length - 1 - round : round;
  }

  const LoadedPlan& loaded_;
  Frame& frame_;
  const PlannedFunction::Loop& loop_;
  std::unordered_map<Register, Array> arrays_;
  std::vector<Action> actions_;
};

}  // namespace

void run_small_loop(const LoadedPlan& loaded, Frame& frame, const PlannedFunction::Loop& loop) {
  SmallLoop(loaded, frame, loop).run();
}

}  // namespace plait::compile
