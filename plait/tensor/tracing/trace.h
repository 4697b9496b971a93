// Records a computation as a function of the IR. While a trace is open on a thread, every operation
// there becomes one of its instructions. Traces nest.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plait/core/sizes/size_facts.h"
#include "plait/ir/builder.h"
#include "plait/ir/program.h"
#include "plait/ir/rewriting/outline.h"
#include "plait/tensor/tensor.h"
#include "plait/tensor/tracing/level.h"

namespace plait {

class SizeReader;

// Thrown through functions that are being recorded, to restart them or to continue without the
// record. Not an error; users never see it.
struct Unwinding {};
// An operation is refused for symbolic sizes, but would be valid for the actual ones. This is not
// an error of the host code, which cannot catch it.
struct NeedsConcreteSizes : Unwinding {
  NeedsConcreteSizes(std::exception_ptr error, std::string message)
      : refused(std::move(error)), why(std::move(message)) {}
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

// An instruction to be recorded: ir::NewInstruction with tensors as operands.
struct TracedInstruction {
  const ir::Primitive& primitive;
  std::span<const Tensor> operands = {};
  ir::Attributes attributes = {};
  std::span<const ir::Callee> callees = {};
  std::span<const Dim> size_arguments = {};
  std::span<const ir::Type> stated_types = {};
};

// The program into which nested traces record.
struct TraceProgram {
  ir::ProgramBuilder builder;
  std::unordered_map<std::shared_ptr<const ir::Function>, std::string> included;  // and its name
  ir::OutlinedNames outlined;
};

// A sequence of recorded instructions as a program, with its inputs.
struct TracedPiece {
  ir::Program program;
  std::vector<Tensor> operands;   // concrete
  std::vector<bool> is_constant;  // true for an operand that host code put in as a number
};

// Executes the recorded instructions while a trace is open, so that traced tensors have values.
class Companion {
 public:
  virtual ~Companion() = default;
  // True if evaluation is lazy: results are computed when they are read, many instructions
  // together. Instructions that may fail or have visible effects are executed when they are
  // recorded.
  virtual bool waits() const { return false; }
  // Executes an instruction without callees, a program, or a piece. No trace is open meanwhile.
  // Sizes are numbers, except in a piece.
  virtual std::vector<Tensor> apply(const ir::Primitive& primitive,
                                    std::span<const Tensor> operands,
                                    const ir::Attributes& attributes) = 0;
  virtual std::vector<Tensor> run(const ir::Program& program, std::span<const Tensor> operands) = 0;
  virtual std::vector<Tensor> run(const TracedPiece& piece) {
    return run(piece.program, piece.operands);
  }
  virtual void on_read(const Tensor&) {}  // host code reads the value
  // True if some parameter represents a tensor that this level follows.
  virtual bool has_parameter_of(const Level&) const { return false; }
  // A guard was recorded: the record is valid only for this outcome.
  virtual void on_guard(bool /*outcome*/, Location) {}
  // True if the caller handles other outcomes of this bool[]; then no guard is recorded.
  virtual bool handles_decision(const Tensor& /*truth*/, Location) { return false; }
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

  // The innermost trace of this thread; null if none is open.
  static Trace* current();

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
  // For lazy evaluation. `given` makes an argument, in place of a parameter; `compute_pending`
  // computes everything that was recorded and is still referenced.
  Tensor given(const ir::Type& type, Tensor actual);
  void compute_pending();

  // This trace or the enclosing one whose program is its own.
  const Trace* outermost() const;
  // A similar name that is free for a function of a nested trace.
  std::string free_name(std::string_view wanted) const;
  // Declares a function, so that it can be called before it is finished.
  void declare(const ir::Signature& signature);
  void declare(ir::RecordType record) { program_->builder.record(std::move(record)); }
  void declare_records(const ir::Program& program);  // the records of another program
  void declare(std::string_view function, const ir::Signature& signature);
  // Adds a function of another program, with everything that it calls, and returns its name here.
  // `closing` turns stand-in instructions into calls of functions of this program.
  using Closing = std::function<std::optional<ir::Callee>(const ir::Instruction& instruction)>;
  std::string include(const ir::Program& program, const ir::Function& function,
                      const Closing& closing);

  // Declares symbolic sizes as size parameters of the function.
  void declare_sizes(const ir::Type& type);
  void declare_size(Dim symbol);  // ValueError if there is one of that name
  // A similar name that no size has, here or in the enclosing traces.
  Dim fresh_size(std::string_view hint) { return builder_->fresh_size(hint); }
  // To be called before any instruction. Declares the sizes of the type.
  Tensor parameter(const ir::Type& type, std::string_view label = {}, Tensor actual = {});
  std::vector<Tensor> record(const TracedInstruction& instruction);
  Tensor constant(Literal literal);
  Tensor size(Dim size, DType dtype);
  // Turns an integer into a new size. With `at_least`, a greater size is valid too.
  Dim as_size(const Tensor& count, bool at_least = false);
  // The same value with these sizes; ShapeError at run time if they are not its own.
  Tensor refine(const Tensor& tensor, const Shape& shape);

  Location latest_location() const;  // of the last recorded instruction

  // Captures a tensor from outside, even if no instruction uses it.
  void capture(const Tensor& tensor) { value_of(tensor); }
  // True if a derivative is taken outside with respect to a captured tensor.
  bool captures_followed();
  // True if the level follows a captured tensor or, with a companion, a parameter.
  bool takes_of(const Level& level) const;
  // Sizes used so far that only enclosing traces have.
  std::vector<Dim> outer_sizes() const;
  // While one exists, this is its thread's innermost trace; with null, there is none.
  class Instead {
   public:
    explicit Instead(Trace* trace);
    ~Instead();
    Instead(const Instead&) = delete;
    Instead& operator=(const Instead&) = delete;

   private:
    Trace* const inner_;
  };
  Trace* outer() const { return outer_; }  // the enclosing trace; null if there is none
  // While one exists, the innermost trace of its thread is the innermost one that does not pause
  // these levels, or none. No change if they are paused outside of all traces too.
  class WhereFollowed {
   public:
    explicit WhereFollowed(const LevelSet& levels);
    ~WhereFollowed();
    WhereFollowed(const WhereFollowed&) = delete;
    WhereFollowed& operator=(const WhereFollowed&) = delete;

   private:
    void go_back();

    Trace* const inner_;
    std::vector<std::unique_ptr<LevelPause::Break>> breaks_;
  };

  // What is recorded while one exists is outlined as a function, which is called; not if an
  // exception ends it. Values that are used later become results of the function.
  class Part {
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
  void keep_whole() { is_kept_whole_ = true; }  // permanently: no part is outlined

  // True if a parameter or a captured tensor has a dimension of that size.
  bool has_dimension(Dim symbol) const;

  const std::shared_ptr<TraceScope>& scope() const { return scope_; }

  // The level of the default tape while the trace is open (transform/derivatives/tape.h).
  const LevelPtr& tape_level();

  // Decisions about sizes. Their assumptions become facts that are checked on entry of the
  // function.
  SizeContext& sizes() { return sizes_; }

  // Closes the trace and returns its function with these results.
  RecordedFunction finish(std::span<const Tensor> results);
  RecordedFunction finish(std::span<const Tensor> results, const ResultSizes& sizes);
  // For the outermost trace: the program with this entry and the functions of the nested traces.
  ir::Program program(const RecordedFunction& entry);
  // The same, without verification: it may be part of a function that is still being recorded.
  ir::Program part(const RecordedFunction& entry);

 private:
  void begin_function();
  ir::Added add(const TracedInstruction& instruction);
  ir::ValueId value_of(const Tensor& tensor);  // captures the tensor if it is from outside
  bool is_under_no_grad() const { return NoGrad::depth() > no_grads_; }
  ir::ValueId stopped(const TracedValue& traced);
  std::vector<Tensor> tensors_of(const ir::Added& added, std::span<const Tensor> actual = {});
  std::shared_ptr<const ir::Function> with_captures(const ir::Function& recorded,
                                                    std::vector<ir::ValueId>& values) const;
  RecordedFunction finish_with(std::span<const Tensor> results, std::span<const Dim> size_values);
  RecordedFunction conclude(std::span<const ir::ValueId> results, std::span<const Dim> size_values);
  std::shared_ptr<const ir::Function> with_parts(const ir::Function& recorded,
                                                 std::vector<ir::ValueId>& values);
  bool is_about_parameters(const SizeFact& fact) const;
  std::vector<Dim> undeclared_sizes() const;
  void close();

  // ---- With a companion (trace_with_executor.cpp).
  bool waits() const;
  // Values of the results in this run; empty if an operand is unknown.
  std::vector<Tensor> actual_results(const TracedInstruction& instruction, const ir::Added& added);
  std::vector<Tensor> run_alone(const TracedInstruction& instruction,
                                const ir::Instruction& recorded, std::span<const Tensor> operands);
  void learn_sizes(std::span<const ir::Type> types, std::span<const Tensor> actual);
  void guard_data_dependent_sizes();
  std::vector<Tensor> record_with_numbers(const TracedInstruction& instruction);
  ir::Added add_for_numbers(const TracedInstruction& instruction);
  bool is_right_for_numbers(const TracedInstruction& instruction);
  bool runs_eagerly(const TracedInstruction& instruction) const;
  std::vector<Tensor> record_eagerly(const TracedInstruction& instruction);
  // Cuts off what was recorded since the last cut, as a function whose inputs are the earlier
  // values that it uses; then starts the next piece.
  TracedPiece cut(std::span<const ir::ValueId> results);
  void begin_piece();
  void drop_functions();

  Trace(std::string name, bool is_apart);

  Trace* outer_;
  bool is_apart_;
  std::shared_ptr<TraceScope> scope_;
  std::shared_ptr<TraceProgram> program_;  // shared with the outer trace
  std::optional<ir::FunctionBuilder> builder_;
  SizeContext sizes_;
  std::vector<Dim> size_parameters_;
  std::vector<Tensor> captures_;
  std::vector<ir::ValueId> capture_values_;                // the values by which they are used
  std::unordered_map<const void*, ir::ValueId> captured_;  // by identity
  // A recorded function is differentiated as a whole where it is called, so nothing is followed
  // inside.
  std::optional<LevelPause> pause_;
  std::vector<ir::Part> parts_;
  bool is_kept_whole_ = false;
  const int no_grads_ = NoGrad::depth();                  // outside of it
  std::unordered_map<ir::ValueId, ir::ValueId> stopped_;  // stop_gradient of those under no_grad
  LevelPtr tape_level_;                                   // null until first used

  bool is_asked_ = false;
  Companion* companion_ = nullptr;  // null if nothing is executed
  SymbolMap<int64_t> actual_sizes_;
  std::unique_ptr<SizeReader> reader_;
  size_t guarded_facts_ = 0;  // facts about sizes that have been handled
  static constexpr uint32_t kBeforeAll = 0;
  uint32_t piece_ = 1;
  // Results of this piece that are computed if they are still referenced then.
  struct Waiting {
    ir::ValueId value;
    std::weak_ptr<Tensor> actual;
  };
  std::vector<Waiting> waiting_;
};

// The primitive by which a trace stops derivatives. Defined in `ops`.
const ir::Primitive& stop_gradient_primitive();

}  // namespace plait
