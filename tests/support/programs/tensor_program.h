// Random well-typed programs, for properties that hold for all programs.
//
// A program is described by numbers, and any numbers are valid: choices are taken modulo the number
// of options, and a step without suitable operands is omitted. So rapidcheck can drop or reduce
// numbers to find the smallest failing program. A new kind of step is one more StepKind; those of
// control flow request blocks from their Chooser.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/ir/program.h"
#include "plait/tensor/tensor.h"

#include "tests/support/agreement.h"

namespace plait {

struct StepDescription {
  uint32_t kind = 0;
  std::vector<uint32_t> choices = {};        // missing ones are 0
  std::vector<StepDescription> inside = {};  // steps of its block
};
struct ProgramDescription {
  std::vector<uint32_t> parameters = {};  // after a first one of real numbers
  std::vector<StepDescription> steps = {};
  std::vector<uint32_t> sizes = {};  // values of the symbols
  uint32_t seed = 0;                 // seed of the arguments' numbers
};

// Values are numbered: the parameters, then the results of each step.
struct Block {
  struct Step {
    std::string kind;
    std::vector<size_t> operands;
    std::function<Tensors(std::span<const Tensor> operands)> compute;
    std::shared_ptr<const Block> block = {};  // that it runs
  };
  size_t parameters = 0;
  std::vector<Step> steps = {};
  std::vector<size_t> results = {};  // the unused values

  Tensors operator()(std::span<const Tensor> arguments) const;
  std::string text() const;
  void for_each_step(FunctionRef<void(const Step& step)> visit) const;
  bool uses(std::string_view kind) const;
};

// A value while a program is generated: its type, whose sizes may be symbols, and its numbers for
// some arguments and for perturbed ones.
struct DrawnValue {
  ir::Type type;
  Tensor here, nearby;
};

struct StepKind;

// The choices of a step. If nothing fits, the step is omitted.
class Chooser {
 public:
  Chooser(std::span<const DrawnValue> values, const StepDescription& step,
          std::span<const StepKind> kinds)
      : values_(values), step_(step), kinds_(kinds) {}

  uint32_t below(uint32_t count);
  using Fits = FunctionRef<bool(const ir::Type& type)>;
  size_t value(Fits fits);  // tries the latest first
  size_t real(size_t least_rank = 0);
  size_t of_dtype(DType dtype, size_t least_rank = 0);
  size_t like(size_t other);                     // a value of the same type
  size_t stretching(size_t other, DType dtype);  // can be broadcast with the other
  int64_t axis(size_t value);                    // one of its dimensions
  Shape shape(size_t value) const { return values_[value].type.shape(); }
  // A block of this step with these operands; its results.
  std::shared_ptr<const Block> block(std::span<const size_t> operands);
  static void need(bool truth);  // else the step is omitted

 private:
  std::span<const DrawnValue> values_;
  const StepDescription& step_;
  std::span<const StepKind> kinds_;
  size_t next_ = 0;
};

struct ChosenStep {
  std::vector<size_t> operands;
  std::function<Tensors(std::span<const Tensor> operands)> compute;
  std::shared_ptr<const Block> block = {};
};
struct StepKind {
  std::string name;
  std::function<ChosenStep(Chooser& choose)> choose;
  bool has_block = false;
};
// All kinds of steps.
const std::vector<StepKind>& step_kinds();

inline constexpr std::string_view kNarrow = "narrow";  // the kind that computes in f32

class RandomProgram {
 public:
  explicit RandomProgram(const ProgramDescription& description,
                         std::span<const StepKind> kinds = step_kinds());

  const std::vector<ir::Type>& parameters() const { return parameters_; }
  const Block& block() const { return block_; }
  // Sizes of 0 or 1: n is 0 or 1, m is 0 to 2.
  struct SmallSizes {
    int64_t n, m;
  };
  std::array<SmallSizes, 2> small_sizes() const;
  // Arguments, where the symbols have the sizes in the description, or more.
  Tensors arguments(int64_t more = 0) const;
  Tensors arguments(SmallSizes sizes) const;

  Tensors operator()(std::span<const Tensor> arguments) const { return block_(arguments); }
  // The program that a function of its arguments records, with symbolic or given sizes.
  using Function = FunctionRef<Tensors(std::span<const Tensor> arguments)>;
  ir::Program traced(Function f) const;
  ir::Program traced(Function f, SmallSizes sizes) const;

 private:
  ir::Program traced(const std::vector<ir::Type>& parameters, Function f) const;
  Tensors arguments_of(int64_t n, int64_t m) const;

  std::vector<ir::Type> parameters_;
  std::vector<int64_t> sizes_;
  uint32_t seed_;
  Block block_;
};

}  // namespace plait
