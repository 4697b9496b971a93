// Records a computation as a function of the IR. While a trace is open on a thread, every operation
// there becomes one of its instructions. Traces nest.
#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/ir/builder.h"
#include "plait/ir/program.h"
#include "plait/tensor/tensor.h"
#include "plait/tensor/tracing/companion.h"
#include "plait/tensor/tracing/pending_values.h"
#include "plait/tensor/tracing/trace_captures.h"
#include "plait/tensor/tracing/trace_levels.h"
#include "plait/tensor/tracing/trace_program.h"
#include "plait/tensor/tracing/traced_instruction.h"
#include "plait/tensor/tracing/traced_sizes.h"

namespace plait {

// Thrown through functions that are being recorded, to restart them or to continue without the
// record. Not an error; users never see it.
struct Unwinding {};
// An operation is refused for symbolic sizes, but would be valid for the actual ones. This is not
// an error of the host code, which cannot catch it.
struct NeedsConcreteSizes : Unwinding {
  NeedsConcreteSizes(std::exception_ptr error, std::string message)
      : refused(std::move(error)), why(std::move(message)) {}  // NOLINT: `refused` is stored
  std::exception_ptr refused;
  std::string why;
};

struct RecordedFunction {
  std::shared_ptr<const ir::Function> function;
  // Inputs beyond the declared parameters, in order: tensors of outer traces, and concrete tensors.
  std::vector<Tensor> captures;
  // New number of each value of the trace; ir::Outlined::kWithin if it is inside an outlined part.
  std::vector<ir::ValueId> values;
};

// Sizes that a function returns: their names, their values inside the function, and the types of
// the results in terms of the names.
struct ResultSizes {
  std::vector<Dim> names, values;
  std::vector<ir::Type> results;
};

class Trace {
 public:
  // Opens a trace of a function on this thread, inside the one that is open now. A nested trace
  // adds its function to the same program.
  explicit Trace(std::string name);
  // Opens a trace with a program of its own.
  enum Apart { apart };
  Trace(std::string name, Apart);
  ~Trace();  // closes it, also if it was not finished
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // ---- Recording.

  // To be called before any instruction. Declares the sizes of the type.
  Tensor parameter(const ir::Type& type, std::string_view label = {}, Tensor actual = {},
                   Device device = {});
  std::vector<Tensor> record(const TracedInstruction& instruction);
  Tensor constant(Literal literal);
  Tensor size(Dim size, DType dtype);
  // Turns an integer into a new size. With `at_least`, a greater size is valid too.
  Dim as_size(const Tensor& count, bool at_least = false);
  // The same value with these sizes; ShapeError at run time if they are not its own.
  Tensor refine(const Tensor& tensor, const Shape& shape);
  Location latest_location() const;  // location of the last recorded instruction
  class Part;
  void keep_whole() { is_kept_whole_ = true; }  // permanently: no part is outlined
  // Closes the trace and returns its function with these results.
  RecordedFunction finish(std::span<const Tensor> results);
  RecordedFunction finish(std::span<const Tensor> results, const ResultSizes& sizes);

  // ---- The traces of this thread.

  static Trace* current();                 // the innermost one; null if none is open
  Trace* outer() const { return outer_; }  // the enclosing one; null if there is none
  // This trace or the enclosing one whose program is its own.
  const Trace* outermost() const;
  const std::shared_ptr<TraceScope>& scope() const { return scope_; }
  class Instead;
  class WhereFollowed;

  // ---- The program that nested traces share.

  // A similar name that is free for a function of a nested trace.
  std::string free_name(std::string_view wanted) const;
  // Declares a function, so that it can be called before it is finished.
  void declare(const ir::Signature& signature);
  void declare(std::string_view function, const ir::Signature& signature);
  void declare(ir::RecordType record) { program_->builder().record(std::move(record)); }
  void declare_records(const ir::Program& program) { program_->declare_records(program.records()); }
  using Closing = TraceProgram::Closing;
  std::string include(const ir::Program& program, const ir::Function& function,
                      const Closing& closing);  // TraceProgram::include
  // For the outermost trace: the program with this entry and the functions of the nested traces.
  ir::Program program(const RecordedFunction& entry);
  // The same, without verification: it may be part of a function that is still being recorded.
  ir::Program part(const RecordedFunction& entry) { return program_->with_entry(entry.function); }

  // ---- Sizes.

  // Declares symbolic sizes as size parameters of the function.
  void declare_sizes(const ir::Type& type);
  void declare_size(Dim symbol);  // ValueError if there is one of that name
  // A similar name that no size has, here or in the enclosing traces.
  Dim fresh_size(std::string_view hint) { return builder_->fresh_size(hint); }
  // True if a parameter or a captured tensor has a dimension of that size.
  bool has_dimension(Dim symbol) const;
  // Sizes used so far that only enclosing traces have.
  std::vector<Dim> outer_sizes() const;
  // Decisions about sizes. Their assumptions become facts that are checked on entry of the
  // function.
  SizeContext& sizes() { return sizes_.decisions(); }

  // ---- Tensors from outside, and derivatives there.

  // Captures a tensor, even if no instruction uses it.
  void capture(const Tensor& tensor) { value_of(tensor); }
  // True if a derivative is taken outside with respect to a captured tensor.
  bool captures_followed();
  // True if the level follows a captured tensor or, with a companion, a parameter.
  bool takes_of(const Level& level) const;
  // The level of the default tape while the trace is open (transform/derivatives/tape.h).
  const LevelPtr& tape_level() { return levels_.tape(); }

  // ---- Values in this run.

  // From now on the companion executes what is recorded. To be called before any parameter is
  // declared.
  void execute_with(Companion& companion);
  Companion* companion() const { return companion_; }
  // The concrete value of a tensor in this run; empty if it is unknown.
  static Tensor actual(const Tensor& tensor);
  // Host code asked for the value of a tensor that is unknown.
  void note_unknown_read() { is_asked_ = true; }
  bool has_unknown_read() const { return is_asked_; }
  // Reads a bool[] in this run and records a guard for the outcome. The trace must know the value.
  bool decide(const Tensor& truth);
  // In pieces: `given` makes an argument, in place of a parameter; `compute_pending` computes
  // everything that was recorded and is still referenced.
  Tensor given(const ir::Type& type, Tensor actual);
  void compute_pending();
  // On demand: computes everything that is still referenced, except for these tensors.
  void compute_referenced(std::span<const Tensor> except = {});
  // On demand: lets the effects happen that have not.
  void compute_effects();

 private:
  Trace(std::string name, bool is_apart);
  void begin_function();
  void close();
  ir::Added add(const TracedInstruction& instruction);
  ir::ValueId value_of(const Tensor& tensor);  // captures the tensor if it is from outside
  std::vector<Tensor> tensors_of(const ir::Added& added, const TracedInstruction& instruction,
                                 std::span<const Tensor> actual = {});
  std::vector<Dim> undeclared_sizes() const;
  RecordedFunction finish_with(std::span<const Tensor> results, std::span<const Dim> size_values);
  RecordedFunction conclude(std::span<const ir::ValueId> results, std::span<const Dim> size_values);

  // ---- With a companion (trace_with_executor.cpp; on demand: trace_on_demand.cpp).
  bool is_executed(Execution how) const {
    return companion_ != nullptr && companion_->execution() == how;
  }
  bool is_in_pieces() const { return is_executed(Execution::in_pieces); }
  bool is_on_demand() const { return is_executed(Execution::on_demand); }
  std::vector<Tensor> record_with_numbers(const TracedInstruction& instruction);
  void expect_right_sizes(const TracedInstruction& instruction) const;
  std::vector<Tensor> record_eagerly(const TracedInstruction& instruction);
  ir::Added add_for_numbers(const TracedInstruction& instruction);
  bool is_right_for_numbers(const TracedInstruction& instruction);
  // Empty if an operand is unknown.
  std::vector<Tensor> actual_results(const TracedInstruction& instruction, const ir::Added& added);
  void guard_data_dependent_sizes();
  bool has_effects(const ir::Instruction& instruction) const;
  class Slice;
  void compute(const Slice& slice);
  void compute_on_read(ir::ValueId value);
  // Cuts off what was recorded since the last cut, as a function whose inputs are the earlier
  // values that it uses; then starts the next piece.
  TracedPiece cut(std::span<const ir::ValueId> results);
  void begin_piece();
  void drop_functions();

  Trace* outer_;
  bool is_apart_;
  std::shared_ptr<TraceScope> scope_;
  std::shared_ptr<TraceProgram> program_;  // shared with the outer trace
  std::optional<ir::FunctionBuilder> builder_;
  std::vector<ir::Part> parts_;  // to be outlined
  bool is_kept_whole_ = false;
  TraceCaptures captures_;
  TracedSizes sizes_;
  TraceLevels levels_;
  Companion* companion_ = nullptr;  // null if nothing is executed
  PendingValues pending_;
  uint32_t effects_until_ = 0;  // instructions before this one whose effects happened, on demand
  bool is_asked_ = false;       // for a value that is unknown
};

// While one exists, this is its thread's innermost trace; with null, there is none.
class Trace::Instead {
 public:
  explicit Instead(Trace* trace);
  ~Instead();
  Instead(const Instead&) = delete;
  Instead& operator=(const Instead&) = delete;

 private:
  Trace* const inner_;
};

// While one exists, the innermost trace of its thread is the innermost one that does not pause
// these levels, or none. No change if they are paused outside of all traces too.
class Trace::WhereFollowed {
 public:
  explicit WhereFollowed(const LevelSet& levels);
  ~WhereFollowed();
  WhereFollowed(const WhereFollowed&) = delete;
  WhereFollowed& operator=(const WhereFollowed&) = delete;

 private:
  void restore();

  Trace* const inner_;
  std::vector<std::unique_ptr<LevelPause::Break>> breaks_;
};

// Outlines what is recorded while it exists as a function, which is called; not if an exception
// ends it. Values that are used later become results of the function.
class Trace::Part {
 public:
  explicit Part(const std::string& name);
  ~Part();
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

 private:
  Trace* const trace_;  // null if nothing is outlined
  const int exceptions_;
  ir::Part part_;
};

}  // namespace plait
