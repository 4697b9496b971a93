// Random well-typed programs, for whatever holds of all programs.
//
// A program is described by numbers, and any numbers describe one: choices are counted around, and
// a step that finds nothing to work on is left out. So numbers can be left out or made smaller to
// find the smallest program that still fails. A new kind of step is one more StepKind; one of
// control flow asks its Chooser for blocks.
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
  std::vector<uint32_t> choices = {};        // further ones are 0
  std::vector<StepDescription> inside = {};  // of a block
};
struct ProgramDescription {
  std::vector<uint32_t> parameters = {};  // besides a first one of real numbers
  std::vector<StepDescription> steps = {};
  std::vector<uint32_t> sizes = {};  // that the symbols stand for
  uint32_t seed = 0;                 // of the numbers that it is given
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
  std::vector<size_t> results = {};  // the values that nothing uses

  Tensors operator()(std::span<const Tensor> arguments) const;
  std::string text() const;
  void for_each_step(FunctionRef<void(const Step& step)> visit) const;
  bool uses(std::string_view kind) const;
};

// A value while a program is being made: its type, whose sizes may be symbols, and what it is for
// some arguments and for others close by.
struct DrawnValue {
  ir::Type type;
  Tensor here, nearby;
};

struct StepKind;

// What a kind of step chooses from. Where nothing fits, the step is left out.
class Chooser {
 public:
  Chooser(std::span<const DrawnValue> values, const StepDescription& step,
          std::span<const StepKind> kinds)
      : values_(values), step_(step), kinds_(kinds) {}

  uint32_t below(uint32_t count);
  using Fits = FunctionRef<bool(const ir::Type& type)>;
  size_t value(Fits fits);  // the latest first
  size_t real(size_t least_rank = 0);
  size_t of_dtype(DType dtype, size_t least_rank = 0);
  size_t like(size_t other);                     // of the same type
  size_t stretching(size_t other, DType dtype);  // to one shape with another value
  int64_t axis(size_t value);                    // of its dimensions
  Shape shape(size_t value) const { return values_[value].type.shape(); }
  // A block of the step's own, on these values; its results.
  std::shared_ptr<const Block> block(std::span<const size_t> operands);
  static void need(bool truth);  // else the step is left out

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
// All kinds there are.
const std::vector<StepKind>& step_kinds();

inline constexpr std::string_view kNarrow = "narrow";  // the kind that computes in f32

class RandomProgram {
 public:
  explicit RandomProgram(const ProgramDescription& description,
                         std::span<const StepKind> kinds = step_kinds());

  const std::vector<ir::Type>& parameters() const { return parameters_; }
  const Block& block() const { return block_; }
  // Sizes that are 0 or 1: n is either, m one of 0 to 2.
  struct SmallSizes {
    int64_t n, m;
  };
  std::array<SmallSizes, 2> small_sizes() const;
  // Numbers for it, where its symbols stand for what the description says, or for more.
  Tensors arguments(int64_t more = 0) const;
  Tensors arguments(SmallSizes sizes) const;

  Tensors operator()(std::span<const Tensor> arguments) const { return block_(arguments); }
  // What a function of its arguments records where sizes are symbols, or these.
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
