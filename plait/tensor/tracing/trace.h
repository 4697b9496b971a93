// Records what a computation does, as a function of the IR. While a trace is open on a thread,
// every operation there becomes one of its instructions; traces nest.
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

// Thrown through functions that are being recorded, to begin again or go on elsewhere. No error,
// and nothing that a user sees.
struct Unwinding {};
// What is refused where sizes are symbols, and not as they are at present: no mistake of host code,
// which cannot catch it.
struct NeedsNumbers : Unwinding {
  NeedsNumbers(std::exception_ptr error, std::string message)
      : refused(std::move(error)), why(std::move(message)) {}
  std::exception_ptr refused;
  std::string why;
};

struct RecordedFunction {
  std::shared_ptr<const ir::Function> function;
  // What the function takes beyond its declared parameters, in order: tensors of traces further
  // out, and concrete ones.
  std::vector<Tensor> captures;
  // What became of each value of the trace; ir::Outlined::kWithin where it is in a part.
  std::vector<ir::ValueId> values;
};

// Sizes that a function gives back: names for them, what they are in it, and the types of its
// results in terms of the names.
struct GivenSizes {
  std::vector<Dim> names, values;
  std::vector<ir::Type> results;
};

// An instruction to be recorded, as ir::NewInstruction, with tensors for operands.
struct TracedInstruction {
  const ir::Primitive& primitive;
  std::span<const Tensor> operands = {};
  ir::Attributes attributes = {};
  std::span<const ir::Callee> callees = {};
  std::span<const Dim> size_arguments = {};
  std::span<const ir::Type> stated_types = {};
};

// What traces within each other record into.
struct TraceProgram {
  ir::ProgramBuilder builder;
  std::unordered_map<std::shared_ptr<const ir::Function>, std::string> included;  // and as what
  ir::OutlinedNames outlined;
};

// Instructions that were recorded one after the other, as a program of what they take.
struct TracedPiece {
  ir::Program program;
  std::vector<Tensor> operands;   // concrete
  std::vector<bool> is_constant;  // of operands: a number that host code put in
};

// What runs beside a trace, so that what is recorded has numbers.
class Companion {
 public:
  virtual ~Companion() = default;
  // Whether results are computed when somebody asks, a piece at once, and not as they are recorded.
  // What may fail, or is seen from outside, is done as it is recorded nevertheless.
  virtual bool waits() const { return false; }
  // The results of an instruction without callees, of a program, or of a piece. No trace is open
  // meanwhile, and sizes are numbers, but in a piece.
  virtual std::vector<Tensor> apply(const ir::Primitive& primitive,
                                    std::span<const Tensor> operands,
                                    const ir::Attributes& attributes) = 0;
  virtual std::vector<Tensor> run(const ir::Program& program, std::span<const Tensor> operands) = 0;
  virtual std::vector<Tensor> run(const TracedPiece& piece) {
    return run(piece.program, piece.operands);
  }
  virtual void on_read(const Tensor&) {}  // host code takes the numbers
  // Some parameter stands for a tensor that this level follows.
  virtual bool has_parameter_of(const Level&) const { return false; }
  // The trace goes on as it holds where a guard says so.
  virtual void on_guard(bool /*outcome*/, Location) {}
  // Whether somebody else sees to it that a bool[] is so the next time: then there is no guard.
  virtual bool takes_decision(const Tensor& /*truth*/, Location) { return false; }
};

class Trace {
 public:
  // Opens a trace of a function on this thread, within the one that is open now. A trace within
  // another adds its function to the same program.
  explicit Trace(std::string name);
  // Or of a function that is no part of that program.
  enum Apart { apart };
  Trace(std::string name, Apart);
  ~Trace();  // closes it, also where it was not finished
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  // The innermost one of this thread; null when none is open.
  static Trace* current();

  // Before any parameter: what is recorded is run too, by the companion.
  void accompany(Companion& companion);
  Companion* companion() const { return companion_; }
  // What a tensor is this time: concrete, and empty where nobody knows.
  static Tensor actual(const Tensor& tensor);
  // Host code has asked what a value is this time, and nobody knew.
  void note_asked() { is_asked_ = true; }
  bool is_asked() const { return is_asked_; }
  // What a bool[] is this time; a guard says that it was so. Its trace must know.
  bool decide(const Tensor& truth);
  // Where the companion waits: an argument, in place of a parameter; and all is computed that was
  // recorded and that somebody still has.
  Tensor given(const ir::Type& type, Tensor actual);
  void catch_up();

  // The one, this or further out, that is not within another.
  const Trace* outermost() const;
  // A name like this one for a function that a trace within this one records.
  std::string free_name(std::string_view wanted) const;
  // What its function will be, so that it may be called before it is finished.
  void declare(const ir::Signature& signature);
  void declare(ir::RecordType record) { program_->builder.record(std::move(record)); }
  void declare_records(const ir::Program& program);  // those of another one
  void declare(std::string_view function, const ir::Signature& signature);
  // Takes a function of another program into this one, with all that it calls, and gives its name
  // here. Instructions that stand for calls of functions of this program become such.
  using Closing = std::function<std::optional<ir::Callee>(const ir::Instruction& instruction)>;
  std::string include(const ir::Program& program, const ir::Function& function,
                      const Closing& closing);

  // Sizes that are symbols become size parameters of the function.
  void declare_sizes(const ir::Type& type);
  void declare_size(Dim symbol);  // ValueError where there is one of that name
  // A name like this one, which no size has here or in the traces that this one is within.
  Dim fresh_size(std::string_view hint) { return builder_->fresh_size(hint); }
  // Before any instruction, with its sizes declared.
  Tensor parameter(const ir::Type& type, std::string_view label = {}, Tensor actual = {});
  std::vector<Tensor> record(const TracedInstruction& instruction);
  Tensor constant(Literal literal);
  Tensor size(Dim size, DType dtype);
  // A whole number as a new size, which serves as well where it is greater if it need only be
  // `at_least` that.
  Dim as_size(const Tensor& count, bool at_least = false);
  // The same value under these sizes; ShapeError where it runs and they are not its own.
  Tensor refine(const Tensor& tensor, const Shape& shape);

  Location latest_location() const;  // of the instruction that was recorded last

  // Takes a tensor from outside, also where no instruction uses it.
  void capture(const Tensor& tensor) { value_of(tensor); }
  // Whether a derivative from outside goes through what was taken.
  bool takes_followed();
  // Something that the level follows was taken, or is a parameter where numbers are known.
  bool takes_of(const Level& level) const;
  // Sizes that it uses so far, and that only traces further out have.
  std::vector<Dim> sizes_from_around() const;
  // While one is there, its thread's innermost trace is this one; or there is none.
  class Instead {
   public:
    explicit Instead(Trace* trace);
    ~Instead();
    Instead(const Instead&) = delete;
    Instead& operator=(const Instead&) = delete;

   private:
    Trace* const inner_;
  };
  Trace* outer() const { return outer_; }  // which it is within; null for none
  // While one is there, its thread is where these levels are followed: in the innermost trace that
  // pauses none of them, or in none. It stays where it is if they are paused there too.
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

  // What is recorded while one is there becomes a function of its own, which is called; not where
  // an exception ends it. What host code keeps of it is given back.
  class Part {
   public:
    explicit Part(const std::string& name);
    ~Part();
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

   private:
    Trace* const trace_;  // null where nothing becomes of it
    const int exceptions_;
    ir::Part part_;
  };
  void keep_whole() { is_kept_whole_ = true; }  // for good: no part becomes a function

  // Whether a parameter so far, or what was captured, is of that size.
  bool shows_size(Dim symbol) const;

  const std::shared_ptr<TraceScope>& scope() const { return scope_; }

  // Of tensors that ask for gradients while it is open (transform/derivatives/tape.h).
  const LevelPtr& tape_level();

  // Decisions about sizes; what they take for granted is checked when the function is entered.
  SizeContext& sizes() { return sizes_; }

  // The function so far, which gives these; the trace is closed.
  RecordedFunction finish(std::span<const Tensor> results);
  RecordedFunction finish(std::span<const Tensor> results, const GivenSizes& sizes);
  // Of the outermost trace: its function as the entry, and those that traces within it recorded.
  ir::Program program(const RecordedFunction& entry);
  // The same, not verified: it may be part of a function that is still being recorded.
  ir::Program part(const RecordedFunction& entry);

 private:
  void begin_function();
  ir::Added add(const TracedInstruction& instruction);
  ir::ValueId value_of(const Tensor& tensor);  // captured where it is none of this trace
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

  // ---- With numbers (trace_with_numbers.cpp).
  bool waits() const;
  // Of what is recorded here: what it is this time, where that is known.
  std::vector<Tensor> actual_results(const TracedInstruction& instruction, const ir::Added& added);
  std::vector<Tensor> run_alone(const TracedInstruction& instruction,
                                const ir::Instruction& recorded, std::span<const Tensor> operands);
  void learn_sizes(std::span<const ir::Type> types, std::span<const Tensor> actual);
  void guard_born_sizes();
  std::vector<Tensor> record_with_numbers(const TracedInstruction& instruction);
  ir::Added add_for_numbers(const TracedInstruction& instruction);
  bool is_right_for_numbers(const TracedInstruction& instruction);
  bool is_done_at_once(const TracedInstruction& instruction) const;
  std::vector<Tensor> record_at_once(const TracedInstruction& instruction);
  // What was recorded since the last time is a function of its own, which takes what it uses of
  // what was before; recording goes on with the next one.
  TracedPiece cut(std::span<const ir::ValueId> results);
  void begin_piece();
  void forget_functions();

  Trace(std::string name, bool is_apart);

  Trace* outer_;
  bool is_apart_;
  std::shared_ptr<TraceScope> scope_;
  std::shared_ptr<TraceProgram> program_;  // shared with the outer trace
  std::optional<ir::FunctionBuilder> builder_;
  SizeContext sizes_;
  std::vector<Dim> size_parameters_;
  std::vector<Tensor> captures_;
  std::vector<ir::ValueId> capture_values_;                // where each was first met
  std::unordered_map<const void*, ir::ValueId> captured_;  // by identity
  // What is recorded is followed as a whole, when its function is used.
  std::optional<LevelPause> pause_;
  std::vector<ir::Part> parts_;
  bool is_kept_whole_ = false;
  const int no_grads_ = NoGrad::depth();                  // around it
  std::unordered_map<ir::ValueId, ir::ValueId> stopped_;  // what stands for those under no_grad
  LevelPtr tape_level_;                                   // null until asked for

  bool is_asked_ = false;
  Companion* companion_ = nullptr;  // where what is recorded is run too
  SymbolMap<int64_t> actual_sizes_;
  std::unique_ptr<SizeReader> reader_;
  size_t guarded_facts_ = 0;  // of those about sizes: for how many there are guards, if need be
  static constexpr uint32_t kBeforeAll = 0;
  uint32_t piece_ = 1;
  // Of this piece, what is to be computed if somebody still has it then.
  struct Waiting {
    ir::ValueId value;
    std::weak_ptr<Tensor> actual;
  };
  std::vector<Waiting> waiting_;
};

}  // namespace plait
