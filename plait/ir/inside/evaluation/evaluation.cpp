#include "plait/ir/inside/evaluation/evaluation.h"

#include <algorithm>
#include <new>

#include "plait/core/inside/system/interruption.h"
#include "plait/ir/text/printer.h"

namespace plait::ir {

namespace {

constexpr size_t kCallersShown = 4;

void expect_counts(const Function& function, size_t values, size_t sizes) {
  size_t wanted_values = function.signature().parameters.size();
  size_t wanted_sizes = function.signature().size_parameters.size();
  if (values == wanted_values && sizes == wanted_sizes) return;
  throw CompileError("@{} takes {} values and {} sizes, not {} and {}", function.name(),
                     wanted_values, wanted_sizes, values, sizes)
      .hint("verify the program before it is evaluated");
}

SymbolMap<int64_t> name_sizes(const Function& function, std::span<const int64_t> sizes) {
  SymbolMap<int64_t> named;
  const std::vector<Dim>& names = function.signature().size_parameters;
  for (size_t i = 0; i < names.size(); ++i) {
    if (sizes[i] < 0) {
      throw ShapeError("@{}: size {} would be {}", function.name(), names[i].name(), sizes[i]);
    }
    named.set(names[i], sizes[i]);
  }
  return named;
}

void expect_facts(const Function& function, const SymbolMap<int64_t>& sizes) {
  for (const SizeFact& fact : function.signature().facts) {
    if (fact.evaluate(sizes)) continue;
    Dim sides[] = {fact.left, fact.right};
    throw ShapeError("@{}: requires {}, but {}", function.name(), fact.text(),
                     sizes_text(sides, sizes));
  }
}

}  // namespace

Evaluation::Evaluation(const Program& program, Machine& machine, const EvaluatorOptions& options)
    : program_(program),
      machine_(machine),
      options_(options),
      layouts_(program.functions().size()) {}

Evaluation::Evaluation(const PreparedProgram& prepared, Machine& machine,
                       const EvaluatorOptions& options)
    : program_(prepared.program()),
      machine_(machine),
      options_(options),
      prepared_(prepared.state_->layouts) {}

int64_t Evaluation::size(Dim dim) const {
  return dim.is_number() ? dim.number() : dim.evaluate(frames_.back().sizes);
}

std::vector<int64_t> Evaluation::sizes(std::span<const Dim> dims) const {
  std::vector<int64_t> out;
  out.reserve(dims.size());
  for (Dim dim : dims) out.push_back(size(dim));
  return out;
}

const FrameLayout& Evaluation::layout_of(uint32_t function) {
  if (!prepared_.empty()) return prepared_[function];
  std::unique_ptr<const FrameLayout>& layout = layouts_[function];
  if (!layout) layout = std::make_unique<const FrameLayout>(program_.function(function));
  return *layout;
}

Evaluated Evaluation::run(uint32_t function, std::span<const int64_t> sizes,
                          std::span<Value> arguments) {
  try {
    enter(function, sizes, arguments);
    while (!frames_.empty()) {
      check_interruption();
      step();
    }
  } catch (Error& error) {
    explain(error);
    throw;
  } catch (const std::bad_alloc&) {
    throw MemoryError("@{}: out of memory, {} calls deep", program_.function(function).name(),
                      frames_.size());
  }
  return {std::move(results), std::move(size_results)};
}

void Evaluation::enter(uint32_t function, std::span<const int64_t> sizes,
                       std::span<Value> arguments) {
  const FrameLayout& layout = layout_of(function);
  const Function& callee = layout.function();
  if (frames_.size() >= options_.max_depth) {
    throw ValueError("@{}: calls are nested deeper than {}", callee.name(), options_.max_depth)
        .hint("set max_depth if the recursion is meant to be so deep");
  }
  expect_counts(callee, arguments.size(), sizes.size());
  SymbolMap<int64_t> named = name_sizes(callee, sizes);
  expect_facts(callee, named);
  size_t first_slot = slots_.size();
  slots_.resize(first_slot + layout.slot_count());
  frames_.push_back({&layout, function, 0, first_slot, std::move(named), nullptr});
  for (ValueId i = 0; i < arguments.size(); ++i) {
    Value argument = std::move(arguments[i]);  // destroyed in this iteration if it is never read
    if (uint32_t slot = layout.slot_of(i); slot != FrameLayout::kNowhere) {
      slots_[first_slot + slot] = std::move(argument);
    }
  }
}

void Evaluation::take_values(const Frame& frame, size_t instruction, std::vector<Value>& into) {
  into.clear();
  for (FrameLayout::Use use : frame.layout->uses(instruction)) {
    Value& value = slots_[frame.first_slot + use.slot];
    if (use.last)
      into.push_back(std::move(value));
    else
      into.push_back(value);
  }
}

void Evaluation::step() {
  Frame& frame = frames_.back();
  if (frame.next == frame.layout->function().size()) {
    leave();
    if (!frames_.empty()) deliver();
    return;
  }
  take_values(frame, frame.next, operands_);
  results.clear();
  size_results.clear();
  if (start(frame.instruction())) store();
}

void Evaluation::leave() {
  Frame& frame = frames_.back();
  take_values(frame, frame.next, results);
  size_results = sizes(frame.layout->function().result_sizes());
  slots_.resize(frame.first_slot);
  frames_.pop_back();
}

void Evaluation::deliver() {
  // The frame may move while its loop advances and enters a function; the loop object does not.
  Loop* loop = frames_.back().loop.get();
  if (!loop || loop->advance(*this)) store();
}

void Evaluation::store() {
  Frame& frame = frames_.back();
  Instruction instruction = frame.instruction();
  frame.loop.reset();
  operands_.clear();
  std::span<const Dim> new_sizes = instruction.size_results();
  if (results.size() != instruction.result_count() || size_results.size() != new_sizes.size()) {
    throw CompileError("`{}` returned {} values and {} sizes, not {} and {}", print(instruction),
                       results.size(), size_results.size(), instruction.result_count(),
                       new_sizes.size())
        .hint("verify the program before it is evaluated");
  }
  for (size_t i = 0; i < new_sizes.size(); ++i) {
    if (size_results[i] < 0) {
      throw ShapeError("{}: size {} was computed as {}", instruction.primitive().name,
                       new_sizes[i].name(), size_results[i]);
    }
    frame.sizes.set(new_sizes[i], size_results[i]);
  }
  if (options_.check_types) check_results(frame, instruction);
  for (size_t i = 0; i < results.size(); ++i) {
    uint32_t slot = frame.layout->slot_of(instruction.result(i));
    if (slot != FrameLayout::kNowhere) slots_[frame.first_slot + slot] = std::move(results[i]);
  }
  results.clear();
  ++frame.next;
}

void Evaluation::check_results(const Frame& frame, const Instruction& instruction) const {
  ValueWalk walk(program_, /*into_records=*/false);
  for (size_t i = 0; i < results.size(); ++i) {
    auto name = [&] {
      return fmt::format("{}: {}", instruction.primitive().name,
                         value_name(instruction.function(), instruction.result(i)));
    };
    walk.walk(results[i], instruction.result_types()[i], name,
              [&](const Value& array, const Type& type) {
                check_array(machine_, array, type, frame.sizes, name);
              });
  }
}

// "in @f, called by @g, called by @main"
std::string Evaluation::callers() const {
  std::string out;
  size_t shown = 0;
  for (size_t i = frames_.size(); i-- > 0; ++shown) {
    if (shown == kCallersShown && i > 0) {
      out += fmt::format(", {} more calls", i);
      i = 0;
    }
    out += fmt::format("{}@{}", shown == 0 ? "in " : ", called by ",
                       frames_[i].layout->function().name());
    if (shown == 0) continue;
    if (Location location = frames_[i].instruction().location(); location.known()) {
      out += " (" + location.text() + ")";
    }
  }
  return out;
}

void Evaluation::explain(Error& error) const {
  if (frames_.empty()) return;
  const Frame& frame = frames_.back();
  if (!error.location().known() && frame.next < frame.layout->function().size()) {
    error.set_location(frame.instruction().location());
  }
  if (error.context().empty()) error.set_context(callers());
}

}  // namespace plait::ir
