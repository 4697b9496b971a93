#include "plait/transform/inside/jit/jit_pieces.h"

#include <cstring>

#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/structure.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/derivatives/custom.h"
#include "plait/transform/inside/running/run_program.h"
#include "plait/transform/programs.h"

namespace plait::jits {
namespace {

constexpr int64_t kMostPieces = 256;

bool is_same_number(const Tensor& a, const Tensor& b) {
  const Array &x = a.array(), &y = b.array();
  return std::memcmp(x.data(), y.data(), static_cast<size_t>(x.element_size())) == 0;
}

// Replaces parameters of the program by constants.
ir::Program with_constants(const ir::Program& program, std::span<const Tensor> constants) {
  const ir::Function& function = program.entry();
  ir::ProgramBuilder whole;
  for (const ir::RecordType& record : program.records()) whole.record(record);
  ir::FunctionBuilder builder = whole.function(function.name());
  builder.set_location(function.location());
  for (const Dim size : function.signature().size_parameters) builder.size_parameter(size.name());
  for (const SizeFact& fact : function.signature().facts) builder.require(fact);
  for (const auto& axis : function.signature().axes.axes) builder.axis(axis.name, axis.size);
  ir::Copier copier(function, builder);
  for (ir::ValueId i = 0; i < function.parameter_count(); ++i) {
    if (!constants[i]) copier.set(i, builder.parameter(function.type_of(i)));
  }
  for (ir::ValueId i = 0; i < function.parameter_count(); ++i) {
    if (constants[i]) copier.set(i, builder.literal(constants[i].array().literal()));
  }
  for (const ir::Instruction instruction : function.instructions()) copier.copy(instruction);
  whole.add(copier.finish());
  return whole.finish();
}

// Compiles and runs the recorded piece when a value is read.
class PieceCompanion final : public Companion {
 public:
  explicit PieceCompanion(Pieces& pieces) : pieces_(pieces) {}

  Execution execution() const override { return Execution::in_pieces; }
  std::vector<Tensor> apply(const ir::Primitive& primitive, std::span<const Tensor> operands,
                            const ir::Attributes& attributes) override {
    return apply_all(primitive, operands, attributes);
  }
  std::vector<Tensor> run(const ir::Program& program, std::span<const Tensor> operands) override {
    return customs::is_followed(operands) ? run_function(program, program.entry(), operands)
                                          : plait::run(program, operands);
  }
  std::vector<Tensor> run(const TracedPiece& piece) override { return pieces_.run(piece); }

 private:
  Pieces& pieces_;
};

void compute_if_possible(Trace& trace) {
  try {
    trace.run().compute_pending();
  } catch (const std::exception&) {  // values of an operation that fails, too
  }
}

}  // namespace

Pieces::Piece Pieces::make(const TracedPiece& piece, std::vector<Tensor> constants) const {
  JitExecutable run = backend_(with_constants(piece.program, constants), options_);
  return {std::move(constants), std::move(run)};
}

std::vector<Tensor> Pieces::run(const TracedPiece& piece) {
  if (customs::is_followed(piece.operands)) {
    return run_function(piece.program, piece.program.entry(), piece.operands);
  }
  const ir::Identity identity = ir::identity_of(piece.program, 0);
  JitExecutable run;
  std::vector<const Tensor*> operands;
  {
    const std::lock_guard lock(mutex_);
    const auto known = pieces_.find(identity);
    std::vector<Tensor> constants;
    bool is_another = known == pieces_.end();
    for (size_t i = 0; i < piece.operands.size(); ++i) {
      const Tensor& operand = piece.operands[i];
      if (known == pieces_.end()) {
        constants.push_back(piece.is_constant[i] && operand.device().is_cpu() ? operand : Tensor());
        continue;
      }
      const Tensor& constant = known->second.constants[i];
      const bool differs =
          constant && (!operand.device().is_cpu() || !is_same_number(constant, operand));
      is_another = is_another || differs;
      constants.push_back(differs ? Tensor() : constant);
    }
    if (is_another) {
      pieces_.insert_or_assign(identity, make(piece, std::move(constants)));
      ++made_;
    }
    const Piece& found = pieces_.at(identity);
    for (size_t i = 0; i < piece.operands.size(); ++i) {
      if (!found.constants[i]) operands.push_back(&piece.operands[i]);
    }
    run = found.run;
  }
  return run(JitArguments(std::move(operands)));
}

bool Pieces::is_full() const { return count() >= kMostPieces; }

int64_t Pieces::count() const {
  const std::lock_guard lock(mutex_);
  return made_;
}

Outcome run_in_pieces(const InPieces& what, Pieces& pieces) {
  PieceCompanion companion(pieces);
  Trace trace(what.name, Trace::apart);
  trace.execute_with(companion);
  std::vector<Tensor> arguments;
  for (size_t i = 0; i < what.leaves.size(); ++i) {
    const Tensor& leaf = what.leaves[i];
    arguments.push_back(leaf ? trace.run().given(what.types[i], leaf) : leaf);
  }
  for (const SizeFact& fact : what.facts) trace.sizes().assume(fact);
  std::any result;
  // Computes everything recorded so far, also values that host code stores elsewhere, even if the
  // host code fails.
  std::vector<Tensor> results;
  try {
    results = what.host(arguments, result);
  } catch (...) {
    compute_if_possible(trace);
    throw;
  }
  trace.run().compute_pending();
  Outcome outcome;
  for (const Tensor& each : results) {
    outcome.leaves.push_back(each && each.is_traced() ? Trace::actual(each) : each);
  }
  outcome.result = std::make_shared<const std::any>(std::move(result));
  return outcome;
}

}  // namespace plait::jits
