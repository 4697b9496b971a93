// Records a computation as a function of the IR. While a trace is open on a thread, every operation
// there becomes one of its instructions. Traces nest.
#pragma once

#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/ir/builder.h"
#include "plait/ir/program.h"
#include "plait/tensor/inside/tracing/companion_run.h"
#include "plait/tensor/inside/tracing/open_function.h"
#include "plait/tensor/inside/tracing/trace_levels.h"
#include "plait/tensor/inside/tracing/trace_program.h"
#include "plait/tensor/inside/tracing/traced_instruction.h"
#include "plait/tensor/tensor.h"

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

  // ---- The traces of this thread.

  static Trace* current();                 // the innermost one; null if none is open
  Trace* outer() const { return outer_; }  // the enclosing one; null if there is none
  // This trace or the enclosing one whose program is its own.
  const Trace* outermost() const;
  const std::shared_ptr<TraceScope>& scope() const { return scope_; }
  class Instead;  // trace_scopes.h
  class WhereFollowed;
  class Part;

  // ---- Its parts.

  OpenFunction& function() { return function_; }
  // The program that nested traces share.
  TraceProgram& functions() { return *function_.program(); }
  TraceLevels& levels() { return levels_; }
  CompanionRun& run() { return run_; }
  // Decisions about sizes. Their assumptions become facts that are checked on entry of the
  // function.
  SizeContext& sizes() { return function_.sizes().decisions(); }

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
  // Captures a tensor, even if no instruction uses it.
  void capture(const Tensor& tensor) { value_of(tensor); }
  // Closes the trace and returns its function with these results.
  RecordedFunction finish(std::span<const Tensor> results);
  RecordedFunction finish(std::span<const Tensor> results, const ResultSizes& sizes);
  // For the outermost trace: the verified program with this entry and the functions of the nested
  // traces.
  ir::Program program(const RecordedFunction& entry);

  // ---- Values in this run.

  // From now on the companion executes what is recorded. To be called before any parameter is
  // declared.
  void execute_with(Companion& companion);
  // The concrete value of a tensor in this run; empty if it is unknown.
  static Tensor actual(const Tensor& tensor);
  // Reads a bool[] in this run and records a guard for the outcome. The trace must know the value.
  bool decide(const Tensor& truth);

 private:
  Trace(std::string name, bool is_apart);
  void close();
  ir::Added add(const TracedInstruction& instruction);
  ir::Added add_for_numbers(const TracedInstruction& instruction);
  ir::ValueId value_of(const Tensor& tensor);  // captures the tensor if it is from outside
  std::vector<Tensor> tensors_of(const ir::Added& added, const TracedInstruction& instruction,
                                 std::span<const Tensor> actual = {});
  std::vector<Tensor> record_with_numbers(const TracedInstruction& instruction);
  std::vector<Tensor> record_eagerly(const TracedInstruction& instruction);
  void guard_data_dependent_sizes();
  RecordedFunction finish_with(std::span<const Tensor> results, std::span<const Dim> size_values);

  Trace* const outer_;
  const bool is_apart_;
  const std::shared_ptr<TraceScope> scope_;
  OpenFunction function_;
  TraceLevels levels_;
  CompanionRun run_;
};

}  // namespace plait
