#include "plait/compile/inside/running/execution.h"

#include <algorithm>
#include <new>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/inside/system/interruption.h"
#include "plait/ir/inside/evaluation/value_check.h"
#include "plait/ir/structure.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/kernel_anomaly.h"

namespace plait::compile {
namespace {

using ir::Value;

constexpr size_t kCallersShown = 4;

const Array& array_of(const Value& value) { return TensorMachine::array_of(value); }

class Execution {
 public:
  Execution(const LoadedPlan& loaded, const ExecutionOptions& options)
      : loaded_(loaded),
        plan_(loaded.plan()),
        options_(options),
        memory_(options.arena.value_or(
            ArenaOptions{.is_guarded = setting::kArena.get() == Arena::guarded})) {}

  ExecutionResults run(std::span<const int64_t> sizes, std::vector<Value> arguments) {
    const LoopContext::Scope scope(memory_);
    if (memory_.is_guarded()) guard(arguments);
    try {
      enter(0, sizes, arguments);
      memory_.use_work_memory(frame_->work);
      while (!frames_.empty()) {
        check_interruption();
        if (frame_->next == function().steps.size()) {
          leave();
        } else {
          run_step(function().steps[frame_->next]);
        }
      }
    } catch (Error& error) {
      explain(error);
      throw;
    } catch (const std::bad_alloc&) {
      throw MemoryError("@{}: out of memory, {} calls deep", plan_.functions[0].name,
                        frames_.size());
    }
    return std::move(results_);
  }

 private:
  const PlannedFunction& function() const { return *frame_->bound->function; }

  // Copies the arguments into guarded blocks. A copy may be overwritten only if the argument may.
  void guard(std::vector<Value>& arguments) {
    for (Value& argument : arguments) {
      if (!argument.is_machine() || !array_of(argument).is_contiguous()) continue;
      const bool is_ours = array_of(argument).is_writable();
      const Array array = array_of(argument);
      const int64_t bytes = array.element_count() * array.element_size();
      const GuardedBlock block(bytes, memory_.options().shift, array.element_size());
      std::copy_n(array.data(), bytes, block.buffer().data());
      argument = TensorMachine::value_of(
          Array(array.dtype(), Layout::contiguous(array.sizes()), block.buffer()));
      if (!is_ours) unwritable_.push_back(block.buffer());
    }
  }

  // ---- Frames.

  void enter(uint32_t index, std::span<const int64_t> sizes, std::span<Value> arguments) {
    const PlannedFunction& callee = plan_.functions[index];
    if (frames_.size() >= options_.max_depth) {
      throw ValueError("@{}: calls are nested deeper than {}", callee.name, options_.max_depth)
          .hint("set max_depth if the recursion is meant to be so deep");
    }
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] >= 0) continue;
      throw ShapeError("@{}: size {} would be {}", callee.name, callee.size_parameters[i].name(),
                       sizes[i]);
    }
    const auto bound = loaded_.bound(index, sizes);
    for (const SizeFact& fact : callee.facts) {
      if (fact.evaluate(bound->named)) continue;
      const Dim sides[] = {fact.left, fact.right};
      throw ShapeError("@{}: requires {}, but {}", callee.name, fact.text(),
                       ir::sizes_text(sides, bound->named));
    }
    std::unique_ptr<Frame> frame;
    if (!memory_.is_guarded()) frame = loaded_.take_frame(bound);
    if (!frame) {
      frame = std::make_unique<Frame>();
      frame->bound = bound;
      frame->cells.resize(callee.cells);
      frame->counters.resize(callee.counters);
      if (memory_.is_guarded()) {
        frame->guarded.resize(callee.registers.size());
      } else if (bound->frame_bytes > 0) {
        frame->memory = Buffer::allocate(bound->frame_bytes);
      }
    }
    frame->sizes = bound->named;
    frames_.push_back(std::move(frame));
    frame_ = frames_.back().get();
    for (size_t i = 0; i < callee.parameters.size(); ++i) {
      cell(callee.parameters[i]) = std::move(arguments[i]);
    }
  }

  void leave() {
    results_.values.clear();
    results_.sizes.clear();
    const PlannedFunction& done = function();
    for (const Register r : done.results) results_.values.push_back(cell(r));
    for (const Dim size : done.result_sizes) results_.sizes.push_back(number(size));
    for (const GuardedBlock& block : frame_->guarded) {
      if (block) block.expect_untouched();
    }
    if (!memory_.is_guarded()) loaded_.give_back(std::move(frames_.back()));
    frames_.pop_back();
    if (frames_.empty()) return;
    frame_ = frames_.back().get();
    const Step& call = function().steps[frame_->next];
    set_sizes(call.symbols, results_.sizes);
    for (size_t i = 0; i < call.results.size(); ++i) {
      cell(call.results[i]) = std::move(results_.values[i]);
    }
    if (options_.observer) options_.observer->after(function(), call, *frame_);
    ++frame_->next;
  }

  Value& cell(Register r) { return frame_->cells[function().registers[r].cell]; }
  // Moved out if nothing reads it later.
  Value operand(const Step& step, size_t i) {
    Value& value = cell(step.operands[i]);
    return step.is_last[i] ? std::move(value) : value;
  }
  std::vector<Value> operands(const Step& step) {
    std::vector<Value> values;
    values.reserve(step.operands.size());
    for (size_t i = 0; i < step.operands.size(); ++i) values.push_back(operand(step, i));
    return values;
  }

  // ---- Sizes.

  int64_t number(Dim dim) const {
    return dim.is_number() ? dim.number() : dim.evaluate(frame_->sizes);
  }
  void set_sizes(std::span<const Dim> symbols, std::span<const int64_t> values) {
    for (size_t i = 0; i < symbols.size(); ++i) {
      if (values[i] < 0) {
        throw ShapeError("size {} was computed as {}", symbols[i].name(), values[i]);
      }
      frame_->sizes.set(symbols[i], values[i]);
    }
  }
  const BoundStep& bound(const Step& step, BoundStep& late) const {
    const auto& known = frame_->bound->steps[frame_->next];
    if (known) return *known;
    late = bound_step(step, frame_->sizes);
    return late;
  }

  // ---- Steps.

  void run_step(const Step& step) {
    const PlannedFunction& planned = function();
    if (options_.observer) options_.observer->before(planned, step, *frame_);
    const size_t depth = frames_.size();
    do_step(step);
    if (memory_.is_guarded()) memory_.end_step();
    // A call is complete when its callee returns.
    if (options_.observer && frames_.size() == depth) {
      options_.observer->after(planned, step, *frame_);
    }
  }

  void do_step(const Step& step) {
    using Kind = Step::Kind;
    switch (step.kind) {
      case Kind::kernel: run_fused(step); break;
      case Kind::primitive:
      case Kind::view: run_primitive(step); break;
      case Kind::constant: cell(step.results[0]) = loaded_.constant(step.target); break;
      case Kind::size:
        cell(step.results[0]) = machine_.from_size(number(step.dims[0]), step.types[0].dtype());
        break;
      case Kind::as_size: {
        const int64_t count = machine_.to_integer(operand(step, 0));
        if (count < 0) throw ValueError("as_size: {}, and a size must not be negative", count);
        frame_->sizes.set(step.symbols[0], count);
        break;
      }
      case Kind::refine: refine(step); break;
      case Kind::guard: check_guard(step); break;
      case Kind::size_guard: check_size_guard(step); break;
      case Kind::tuple: cell(step.results[0]) = Value::aggregate(operands(step)); break;
      case Kind::element: take_element(step); break;
      case Kind::pack: pack(step); break;
      case Kind::unpack: unpack(step, operand(step, 0), step.results); break;
      case Kind::absent: cell(step.results[0]) = Value::absent(); break;
      case Kind::present: cell(step.results[0]) = Value::present(operand(step, 0)); break;
      case Kind::is_present: ask_present(step); break;
      case Kind::unwrap: cell(step.results[0]) = operand(step, 0).unwrapped(); break;
      case Kind::move: move(step); break;
      case Kind::set_sizes: change_sizes(step); break;
      case Kind::begin_scan: begin_scan(step); break;
      case Kind::next_slice: return next_slice(step);
      case Kind::put_slice: put_slice(step); break;
      case Kind::next_node: return next_node(step);
      case Kind::jump: frame_->next = step.target; return;
      case Kind::branch:
        if (machine_.to_boolean(operand(step, 0))) break;
        frame_->next = step.target;
        return;
      case Kind::choose: return choose(step);
      case Kind::call: return call(step);
      case Kind::drop: operands(step); break;
    }
    ++frame_->next;
  }

  // The array in the frame; empty if the result has its own memory.
  Array place_of(Register r, const ArrayType& type) {
    const int64_t offset = frame_->bound->offsets[r];
    if (offset < 0) return {};
    Layout layout = Layout::contiguous(type.sizes);
    if (memory_.is_guarded()) return guarded_place(r, type.dtype, std::move(layout));
    layout.offset = offset / size_of(type.dtype);
    return Array(type.dtype, std::move(layout), frame_->memory);
  }

  Array guarded_place(Register r, DType dtype, Layout layout) {
    GuardedBlock& block = frame_->guarded[r];
    if (block) block.expect_untouched();
    block = GuardedBlock(layout.element_count() * size_of(dtype), memory_.options().shift,
                         size_of(dtype));
    return Array(dtype, std::move(layout), block.buffer());
  }
  bool is_in_frame(const Buffer& buffer) const {
    if (!memory_.is_guarded()) return frame_->memory && buffer == frame_->memory;
    return std::ranges::find(frame_->guarded, buffer, &GuardedBlock::buffer) !=
           frame_->guarded.end();
  }

  void run_primitive(const Step& step) {
    BoundStep late;
    const BoundStep& sizes = bound(step, late);
    std::vector<Array> given;
    given.reserve(step.operands.size());
    for (size_t i = 0; i < step.operands.size(); ++i) {
      Value value = operand(step, i);
      given.push_back(array_of(value));
    }
    std::vector<Array> results(step.results.size()), places(step.results.size());
    for (size_t i = 0; i < results.size(); ++i) {
      results[i] = places[i] = place_of(step.results[i], sizes.types[i]);
    }
    KernelCall call{*step.primitive, given, sizes.attributes, sizes.types, results};
    const Kernel& kernel = kernel_of(*step.primitive);
    run_kernel(kernel, call);
    learn_sizes(step, results);
    for (size_t i = 0; i < results.size(); ++i) {
      if (step.kind != Step::Kind::view) settle(places[i], results[i]);
      cell(step.results[i]) = TensorMachine::value_of(std::move(results[i]));
    }
  }

  // A primitive may return a view of an operand in the frame, whose memory is reused: copy it.
  void settle(const Array& given_place, Array& result) const {
    if (given_place && given_place.data() == result.data()) return;
    if (!is_in_frame(result.buffer())) return;
    Array place = given_place ? given_place : Array::empty(result.dtype(), result.sizes());
    copy_elements(result, place);
    result = std::move(place);
  }

  void learn_sizes(const Step& step, std::span<const Array> results) {
    for (const Dim born : step.symbols) {
      for (size_t r = 0; r < results.size(); ++r) {
        const Shape& shape = step.types[r].shape();
        for (size_t i = 0; i < shape.rank(); ++i) {
          if (same(shape[i], born)) frame_->sizes.set(born, results[r].sizes()[i]);
        }
      }
    }
  }

  void run_fused(const Step& step) {
    const PlannedKernel& kernel = plan_.kernels[step.kernel];
    BoundStep late;
    const BoundStep& sizes = bound(step, late);
    std::vector<Array> given(step.operands.size());
    for (size_t i = 0; i < given.size(); ++i) {
      Value value = operand(step, i);
      given[i] = array_of(value);
    }
    for (const uint32_t parameter : kernel.parameters) {
      if (parameter < given.size()) given[parameter] = given[parameter].contiguous();
    }
    std::vector<Array> results(step.results.size());
    std::vector<std::byte*> places;
    std::vector<int64_t> counts;
    std::vector<DType> dtypes;
    for (size_t i = 0; i < results.size(); ++i) {
      results[i] = place_of(step.results[i], sizes.types[i]);
      if (!results[i]) results[i] = own_result(kernel, i, sizes.types[i], given);
      places.push_back(results[i].writable_data());
      counts.push_back(results[i].element_count());
      dtypes.push_back(results[i].dtype());
    }
    std::vector<const std::byte*> read;
    for (const uint32_t parameter : kernel.parameters) {
      read.push_back(parameter < given.size() ? given[parameter].data() : nullptr);
    }
    if (kernel.product) {
      run_with_product(kernel, sizes.kernel, given, read, results, places, counts, dtypes);
    } else {
      run_kernel(kernel, sizes.kernel, read, places, counts, dtypes);
    }
    given.clear();
    for (size_t i = 0; i < results.size(); ++i) {
      cell(step.results[i]) = TensorMachine::value_of(std::move(results[i]));
    }
  }

  // Runs the kernel as an epilogue of its product, or after the whole product.
  static void run_with_product(const PlannedKernel& kernel, const KernelSizes& sizes,
                               std::span<const Array> given, std::vector<const std::byte*>& read,
                               std::span<Array> results, std::span<std::byte* const> places,
                               std::span<const int64_t> counts, std::span<const DType> dtypes) {
    const PlannedKernel::Product& planned = *kernel.product;
    const Array &a = given[planned.a], &b = given[planned.b];
    const auto product = row_product(a, b);
    const ProductRun along{product.get(), b.sizes()[b.rank() - 1],
                           planned.is_result ? places.back() : nullptr};
    if (product != nullptr && can_fuse_product(kernel, along)) {
      return run_kernel(kernel, sizes, read, places, counts, dtypes, &along);
    }
    const Array whole = whole_product(a, b, planned.is_result ? results.back() : Array());
    read[planned.parameter] = whole.data();
    run_kernel(kernel, sizes, read, places, counts, dtypes);
  }

  // Reuses the memory of an operand that nothing else holds, if the result may overwrite it;
  // else allocates.
  static Array own_result(const PlannedKernel& kernel, size_t result, const ArrayType& type,
                          std::span<const Array> given) {
    for (const auto& overwrite : kernel.overwrites) {
      const Array& from = given[overwrite.operand];
      if (overwrite.result != result || !from.is_writable()) continue;
      if (from.dtype() != type.dtype || from.element_count() != element_count_of(type.sizes)) {
        continue;
      }
      Layout layout = Layout::contiguous(type.sizes);
      layout.offset = from.layout().offset;
      return Array(type.dtype, std::move(layout), from.buffer());
    }
    return Array::empty(type.dtype, type.sizes);
  }

  void refine(const Step& step) {
    const ir::Type &to = step.types[0], &from = step.types[1];
    std::vector<int64_t> wanted, given;
    std::vector<Dim> wanted_dims, given_dims;
    to.for_each_dim([&](Dim dim) {
      wanted_dims.push_back(dim);
      wanted.push_back(number(dim));
    });
    from.for_each_dim([&](Dim dim) {
      given_dims.push_back(dim);
      given.push_back(number(dim));
    });
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] == given[i]) continue;
      const Dim dims[] = {given_dims[i], wanted_dims[i]};
      throw ShapeError("refine: {} is not {}: {} differs from {} where {}", from.text(), to.text(),
                       dims[0].text(), dims[1].text(), ir::sizes_text(dims, frame_->sizes));
    }
    cell(step.results[0]) = operand(step, 0);
  }

  void fail_guard(std::string message) {
    const FailedPlanGuard failed{guards_ - 1, std::move(message)};
    if (options_.on_guard) options_.on_guard(failed);
    throw CheckError("{}", failed.message)
        .hint("this held for the traced arguments; trace the program again for the present ones");
  }
  void check_guard(const Step& step) {
    ++guards_;
    if (machine_.to_boolean(operand(step, 0)) == step.expected) return;
    fail_guard(fmt::format("guard: {}, expected {}", !step.expected, step.expected));
  }
  void check_size_guard(const Step& step) {
    ++guards_;
    if (step.fact.evaluate(frame_->sizes)) return;
    const Dim sides[] = {step.fact.left, step.fact.right};
    fail_guard(fmt::format("size_guard: {} does not hold: {}", step.fact.text(),
                           ir::sizes_text(sides, frame_->sizes)));
  }

  // ---- Records.

  void take_element(const Step& step) {
    const Value tuple = operand(step, 0);
    const auto fields = tuple.fields();
    if (step.target >= fields.size()) {
      throw IndexError("element: index {} is out of range for a tuple of {}", step.target,
                       fields.size());
    }
    cell(step.results[0]) = fields[step.target];
  }
  void pack(const Step& step) {
    std::vector<int64_t> held;
    for (const Dim dim : step.dims) {
      held.push_back(number(dim));
      if (held.back() < 0) throw ShapeError("pack: size {} is {}", dim.text(), held.back());
    }
    cell(step.results[0]) = Value::aggregate(operands(step), std::move(held));
  }
  void unpack(const Step& step, Value record, std::span<const Register> into) {
    const std::vector<int64_t> held(record.held_sizes().begin(), record.held_sizes().end());
    std::vector<Value> fields = std::move(record).take_fields();
    set_sizes(step.symbols, held);
    for (size_t i = 0; i < into.size(); ++i) cell(into[i]) = std::move(fields[i]);
  }
  void ask_present(const Step& step) {
    const Value value = operand(step, 0);
    if (!value.is_present() && !value.is_absent()) {
      throw TypeError("is_present: the value is not optional");
    }
    cell(step.results[0]) = machine_.from_boolean(value.is_present());
  }

  // ---- Control flow.

  void move(const Step& step) {
    std::vector<Value> values = operands(step);
    for (size_t i = 0; i < values.size(); ++i) cell(step.results[i]) = std::move(values[i]);
  }
  void change_sizes(const Step& step) {
    std::vector<int64_t> values;
    for (const Dim dim : step.dims) values.push_back(number(dim));
    set_sizes(step.symbols, values);
  }

  void begin_scan(const Step& step) {
    const int64_t length = number(step.dims[0]);
    if (length < 0) throw ShapeError("scan: length {} is {}", step.dims[0].text(), length);
    frame_->counters[step.counter] = 0;
    BoundStep late;
    const BoundStep& sizes = bound(step, late);
    for (size_t i = 0; i < step.results.size(); ++i) {
      Array stacked = place_of(step.results[i], sizes.types[i]);
      if (!stacked) stacked = Array::empty(sizes.types[i].dtype, sizes.types[i].sizes);
      cell(step.results[i]) = TensorMachine::value_of(std::move(stacked));
    }
  }
  int64_t slice_of(const Step& step) const {
    const int64_t round = frame_->counters[step.counter];
    return step.reverse ? number(step.dims[0]) - 1 - round : round;
  }
  void next_slice(const Step& step) {
    if (frame_->counters[step.counter] == number(step.dims[0])) {
      frame_->next = step.target;
      return;
    }
    for (size_t i = 0; i < step.results.size(); ++i) {
      const Array& stacked = array_of(cell(step.operands[i]));
      cell(step.results[i]) =
          TensorMachine::value_of(stacked.view(stacked.layout().picked(0, slice_of(step))));
    }
    ++frame_->next;
  }
  void put_slice(const Step& step) {
    const size_t count = step.operands.size() / 2;
    for (size_t i = 0; i < count; ++i) {
      const Value value = operand(step, i);
      const Array& stacked = array_of(cell(step.operands[count + i]));
      Array place = stacked.view(stacked.layout().picked(0, slice_of(step)));
      copy_elements(array_of(value), place);
    }
    ++frame_->counters[step.counter];
  }

  void next_node(const Step& step) {
    Value list = std::move(cell(step.operands[0]));
    if (list.is_absent()) {
      frame_->next = step.target;
      return;
    }
    unpack(step, std::move(list).unwrapped(), step.results);
    ++frame_->next;
  }

  void choose(const Step& step) {
    const int64_t index = machine_.to_integer(operand(step, 0));
    if (index < 0 || index >= static_cast<int64_t>(step.targets.size())) {
      throw IndexError("switch: index {} is out of range for {} functions", index,
                       step.targets.size());
    }
    frame_->next = step.targets[static_cast<size_t>(index)];
  }

  void call(const Step& step) {
    std::vector<int64_t> sizes;
    for (const Dim dim : step.dims) sizes.push_back(number(dim));
    std::vector<Value> arguments = operands(step);
    enter(step.target, sizes, arguments);
  }

  // ---- Errors.

  std::string callers() const {
    std::string text;
    size_t shown = 0;
    for (size_t i = frames_.size(); i-- > 0; ++shown) {
      if (shown == kCallersShown && i > 0) {
        text += fmt::format(", {} more calls", i);
        i = 0;
      }
      const Frame& frame = *frames_[i];
      const auto& steps = frame.bound->function->steps;
      const Step* const step = frame.next < steps.size() ? &steps[frame.next] : nullptr;
      const std::string& name = step != nullptr && step->primitive != nullptr
                                    ? plan_.names[step->function]
                                    : frame.bound->function->name;
      text += fmt::format("{}@{}", shown == 0 ? "in " : ", called by ", name);
      if (shown > 0 && step != nullptr && step->location.known()) {
        text += " (" + step->location.text() + ")";
      }
    }
    return text;
  }

  void explain(Error& error) const {
    if (frames_.empty()) return;
    const auto& steps = function().steps;
    if (!error.location().known() && frame_->next < steps.size()) {
      error.set_location(steps[frame_->next].location);
    }
    if (error.context().empty()) error.set_context(callers());
  }

  const LoadedPlan& loaded_;
  const Plan& plan_;
  const ExecutionOptions& options_;
  PlanMemory memory_;
  TensorMachine machine_;
  std::vector<Buffer> unwritable_;  // shared with others
  std::vector<std::unique_ptr<Frame>> frames_;
  Frame* frame_ = nullptr;
  ExecutionResults results_;
  size_t guards_ = 0;
};

}  // namespace

ExecutionResults execute(const LoadedPlan& plan, std::span<const int64_t> sizes,
                         std::vector<Value> arguments, const ExecutionOptions& options) {
  return Execution(plan, options).run(sizes, std::move(arguments));
}

}  // namespace plait::compile
