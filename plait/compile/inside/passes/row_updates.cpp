// The gradient of a table of which few rows were read is zero elsewhere. Where a step only scales
// it and adds it to something,
//
//   p - lr * (scatter_add(0, updates, rows) + decay * clamp(p))
//
// the result is p but for those rows if the decay is 0, and lr is finite. Both are known when the
// program runs: this becomes a `cond` between scatter_add(p, -(lr * updates), rows) and the
// computation as it was. So usually neither the gradient nor the table is written as a whole.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "plait/compile/inside/passes/usual_bytes.h"
#include "plait/compile/pass.h"
#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/rewriting/prune.h"
#include "plait/ir/structure.h"
#include "plait/ops/inside/primitive_attributes.h"
#include "plait/ops/inside/primitives.h"

namespace plait::compile {
namespace {

using ir::Instruction;
using ir::ValueId;

// The updates of rows take at most this part of the table's bytes.
constexpr int64_t kLeastRatio = 2;
// Instructions that a branch computes.
constexpr size_t kMostInBranch = 32;

bool is_by(const Instruction& instruction, const ir::Primitive& primitive) {
  return &instruction.primitive() == &primitive;
}

// Values of a function, by what defines and reads them.
class Values {
 public:
  explicit Values(const ir::Function& function)
      : function_(function), reads_(function.value_count()), reader_(function.value_count()) {
    for (const Instruction instruction : function.instructions()) {
      for (const ValueId operand : instruction.operands()) {
        ++reads_[operand];
        reader_[operand] = instruction.index();
      }
    }
    for (const ValueId result : function.results()) reads_[result] += 2;
  }

  const ir::Function& function() const { return function_; }

  // The instruction that reads the value, if nothing else does.
  std::optional<Instruction> only_reader(ValueId value) const {
    if (reads_[value] != 1) return std::nullopt;
    return function_.instruction(reader_[value]);
  }
  std::optional<Instruction> definition(ValueId value, const ir::Primitive& primitive) const {
    const auto definition = function_.definition(value);
    return definition && is_by(*definition, primitive) ? definition : std::nullopt;
  }
  // The scalar of which the value is a broadcast.
  std::optional<ValueId> scalar_of(ValueId value) const {
    while (function_.type_of(value).shape().rank() > 0) {
      const auto from = function_.definition(value);
      if (!from || !(is_by(*from, broadcast_primitive()) || is_by(*from, reshape_primitive()))) {
        return std::nullopt;
      }
      value = from->operands()[0];
    }
    return value;
  }
  // The number, if it is the same everywhere.
  std::optional<double> number_in(ValueId value) const {
    const auto scalar = scalar_of(value);
    const auto from = scalar ? function_.definition(*scalar) : std::nullopt;
    if (!from || from->primitive().structure != ir::Structure::literal) return std::nullopt;
    return from->attributes_as<ir::LiteralAttributes>().value.as_double(0);
  }
  // For scalar · clamp(of): it is 0 everywhere if the scalar is 0, unless `of` has a NaN.
  struct Vanishing {
    ValueId scalar, of;
  };
  std::optional<Vanishing> vanishing(ValueId value) const {
    const auto product = definition(value, multiply_primitive());
    if (!product) return std::nullopt;
    for (const size_t i : {0, 1}) {
      const auto scalar = scalar_of(product->operands()[i]);
      const auto bounded = definition(product->operands()[1 - i], clamp_primitive());
      if (!scalar || !bounded) continue;
      const auto is_finite = [&](size_t bound) {
        return std::isfinite(number_in(bounded->operands()[bound]).value_or(INFINITY));
      };
      if (is_finite(0) && is_finite(2)) return Vanishing{*scalar, bounded->operands()[1]};
    }
    return std::nullopt;
  }

 private:
  const ir::Function& function_;
  std::vector<uint32_t> reads_, reader_;  // by value; a result of the function counts twice
};

// A sum of updates, and the instructions that scale it and add it to other values: `place` is the
// operand that the sum is part of. If `scalar` is 0, the last one returns `kept` where the sum is
// 0.
struct RowUpdate {
  struct Link {
    Instruction instruction;
    size_t place;
    ValueId other() const { return instruction.operands()[1 - place]; }
  };
  Instruction scatter;
  std::vector<Link> chain = {};
  ValueId kept = 0;
  std::optional<ValueId> scalar = {};

  const Instruction& end() const { return chain.back().instruction; }
};

bool adds(const Instruction& instruction) {
  return is_by(instruction, add_primitive()) || is_by(instruction, subtract_primitive());
}
// True if the sum is subtracted from something.
bool negates(const RowUpdate::Link& link) {
  return is_by(link.instruction, negative_primitive()) ||
         (is_by(link.instruction, subtract_primitive()) && link.place == 1);
}

std::optional<RowUpdate::Link> next_link(const Values& values, ValueId value) {
  const auto reader = values.only_reader(value);
  if (!reader) return std::nullopt;
  const size_t place = reader->operands()[0] == value ? 0 : 1;
  RowUpdate::Link link{*reader, place};
  if (adds(*reader) || is_by(*reader, negative_primitive())) return link;
  const bool is_scaled =
      is_by(*reader, multiply_primitive()) || (is_by(*reader, divide_primitive()) && place == 0);
  return is_scaled && values.scalar_of(link.other()) ? std::optional(link) : std::nullopt;
}

// The value that a chain returns where the sum is 0 if `scalar` is 0; nothing if it is another one.
std::optional<ValueId> kept_value(const Values& values, std::span<const RowUpdate::Link> chain,
                                  std::optional<ValueId> scalar) {
  std::optional<ValueId> kept, bounded;
  for (const RowUpdate::Link& link : chain) {
    if (!adds(link.instruction)) {
      if (kept) return std::nullopt;
      continue;
    }
    const auto vanishing = values.vanishing(link.other());
    if (scalar && vanishing && vanishing->scalar == *scalar) {
      if (bounded && *bounded != vanishing->of) return std::nullopt;
      if (kept && negates(link)) return std::nullopt;
      bounded = vanishing->of;
    } else if (!kept && (link.place == 1 || is_by(link.instruction, add_primitive()))) {
      kept = link.other();
    } else {
      return std::nullopt;
    }
  }
  // A NaN is kept, too.
  return !bounded || bounded == kept ? kept : std::nullopt;
}

// Shortens the chain to the part that returns a known value where the sum is 0; false if there is
// none.
bool find_kept_value(const Values& values, RowUpdate& update) {
  for (; !update.chain.empty(); update.chain.pop_back()) {
    std::vector<std::optional<ValueId>> scalars{std::nullopt};
    for (const RowUpdate::Link& link : update.chain) {
      const auto vanishing = adds(link.instruction) ? values.vanishing(link.other()) : std::nullopt;
      if (vanishing) scalars.emplace_back(vanishing->scalar);
    }
    for (const auto& scalar : scalars) {
      const auto kept = kept_value(values, update.chain, scalar);
      if (!kept) continue;
      update.kept = *kept;
      update.scalar = scalar;
      return true;
    }
  }
  return false;
}

std::optional<RowUpdate> update_at(const Values& values, const Instruction& scatter) {
  if (!is_by(scatter, scatter_add_primitive())) return std::nullopt;
  const ir::Type &table = scatter.result_types()[0], &rows = scatter.operand_type(1);
  if (table.dtype() != DType::f32 && table.dtype() != DType::f64) return std::nullopt;
  if (usual_bytes(rows) * kLeastRatio > usual_bytes(table)) return std::nullopt;
  if (values.number_in(scatter.operands()[0]) != 0.0) return std::nullopt;
  RowUpdate update{scatter};
  for (auto link = next_link(values, scatter.result()); link;
       link = next_link(values, link->instruction.result())) {
    update.chain.push_back(*link);
  }
  return find_kept_value(values, update) ? std::optional(std::move(update)) : std::nullopt;
}

// Rewrites one function.
class RowUpdates {
 public:
  using FunctionPointer = std::shared_ptr<const ir::Function>;

  RowUpdates(const ir::Function& function, ir::ProgramBuilder& program,
             std::vector<FunctionPointer>& added)
      : function_(function),
        values_(function),
        program_(program),
        added_(added),
        builder_(program.function(function.name())),
        copier_(function, builder_) {}

  // Returns null if there are none.
  FunctionPointer run() {
    std::unordered_map<uint32_t, RowUpdate> by_end;
    for (const Instruction instruction : function_.instructions()) {
      if (auto update = update_at(values_, instruction)) {
        by_end.emplace(update->end().index(), std::move(*update));
      }
    }
    if (by_end.empty()) return nullptr;
    copier_.begin();
    for (const Instruction instruction : function_.instructions()) {
      const auto found = by_end.find(instruction.index());
      found == by_end.end() ? copier_.copy(instruction) : add(found->second);
    }
    return copier_.finish();
  }

 private:
  // cond(the rows alone change, the rows added, the computation as it was)
  void add(const RowUpdate& update) {
    const Parts parts = parts_of(update);
    ir::Signature signature;
    std::vector<ValueId> operands{only_rows_change(update)};
    for (const ValueId value : parts.read) {
      operands.push_back(copier_.value(value));
      signature.parameters.push_back(function_.type_of(value));
    }
    signature.results = {update.end().result_types()[0]};
    signature.size_parameters = symbols_of(signature);
    const ir::Callee callees[] = {
        {.name = with_added_rows(update, parts, signature), .sizes = signature.size_parameters},
        {.name = as_it_was(update, parts, signature), .sizes = signature.size_parameters}};
    copier_.set(update.end().result(),
                builder_.add({.primitive = ir::primitive(ir::Structure::cond),
                              .operands = operands,
                              .callees = callees,
                              .location = update.end().location()})[0]);
  }

  // Names of sizes in the types, which are not changed in the copy of the function.
  static std::vector<Dim> symbols_of(const ir::Signature& signature) {
    std::vector<Dim> symbols;
    const auto note = [&](const ir::Type& type) {
      type.for_each_dim([&](Dim dim) {
        dim.for_each_symbol([&](Dim symbol) {
          if (std::ranges::find_if(symbols, is_same_as(symbol)) == symbols.end())
            symbols.push_back(symbol);
        });
      });
    };
    std::ranges::for_each(signature.parameters, note);
    std::ranges::for_each(signature.results, note);
    return symbols;
  }

  // True if scales make 0 of 0, and what vanishes does.
  ValueId only_rows_change(const RowUpdate& update) {
    const DType dtype = update.scatter.operand_type(1).dtype();
    const ValueId zero = builder_.literal(Literal::scalar(dtype, 0));
    ValueId scaled = zero;
    for (const RowUpdate::Link& link : update.chain) {
      if (adds(link.instruction) || link.instruction.operands().size() == 1) continue;
      const ValueId scalar = copier_.value(*values_.scalar_of(link.other()));
      scaled = builder_.add(link.instruction.primitive(), {scaled, scalar});
    }
    const ValueId is_zero = builder_.add(equal_primitive(), {scaled, zero});
    if (!update.scalar) return is_zero;
    const ValueId vanishes = builder_.add(equal_primitive(), {copier_.value(*update.scalar), zero});
    return builder_.add(bitwise_and_primitive(), {is_zero, vanishes});
  }

  // The values that the branches read, and what the computation as it was computes of them. Both
  // compute the updates if they are a view.
  struct Parts {
    std::vector<ValueId> read;
    std::vector<uint32_t> computed, views;  // ascending
  };
  Parts parts_of(const RowUpdate& update) const {
    Parts parts;
    const auto read = [&](ValueId value) {
      if (std::ranges::find(parts.read, value) == parts.read.end()) parts.read.push_back(value);
    };
    const auto compute = [&](const Instruction& instruction) {
      const auto at = std::ranges::lower_bound(parts.computed, instruction.index());
      const bool is_new = at == parts.computed.end() || *at != instruction.index();
      if (is_new) parts.computed.insert(at, instruction.index());
      return is_new;
    };
    compute(update.scatter);
    ValueId updates = update.scatter.operands()[1];
    for (auto view = function_.definition(updates); view && is_view(*view);
         view = function_.definition(updates)) {
      compute(*view);
      parts.views.insert(parts.views.begin(), view->index());
      updates = view->operands()[0];
    }
    read(updates);
    for (const ValueId index : update.scatter.operands().subspan(2)) read(index);
    std::vector<ValueId> waiting{update.scatter.operands()[0]};
    read(update.kept);
    for (const RowUpdate::Link& link : update.chain) {
      compute(link.instruction);
      if (link.instruction.operands().size() == 2) waiting.push_back(link.other());
    }
    while (!waiting.empty()) {
      const ValueId value = waiting.back();
      waiting.pop_back();
      const auto definition = function_.definition(value);
      const bool is_read = std::ranges::find(parts.read, value) != parts.read.end();
      if (is_read || !definition || !is_light(*definition) ||
          parts.computed.size() >= kMostInBranch) {
        read(value);
      } else if (compute(*definition)) {
        waiting.insert(waiting.end(), definition->operands().begin(), definition->operands().end());
      }
    }
    return parts;
  }

  static bool is_view(const Instruction& instruction) {
    return is_by(instruction, broadcast_primitive()) || is_by(instruction, reshape_primitive());
  }
  // A kernel computes it while it computes what reads it.
  static bool is_light(const Instruction& instruction) {
    if (instruction.primitive().structure == ir::Structure::literal) return true;
    return instruction.result_types()[0].shape().rank() > 0 &&
           (is_view(instruction) || instruction.primitive().elementwise != ir::Elementwise::no);
  }

  std::string with_added_rows(const RowUpdate& update, const Parts& parts,
                              const ir::Signature& signature) {
    ir::FunctionBuilder builder = new_function("rows", signature);
    ir::Copier copier = copier_of(parts, builder);
    for (const uint32_t index : parts.views) copier.copy(function_.instruction(index));
    std::vector<ValueId> operands = {copier.value(update.kept)};
    for (const ValueId operand : update.scatter.operands().subspan(1)) {
      operands.push_back(copier.value(operand));
    }
    const Shape& sizes = update.scatter.operand_type(1).shape();
    for (const RowUpdate::Link& link : update.chain) {
      ValueId& updates = operands[1];
      if (negates(link)) updates = builder.add(negative_primitive(), {updates});
      if (adds(link.instruction) || link.instruction.operands().size() == 1) continue;
      // The scalar may be computed in the other branch.
      const ValueId scalar = copied_scalar(*values_.scalar_of(link.other()), copier, builder);
      const ValueId scale = builder.add(
          broadcast_primitive(), {scalar},
          ir::Attributes::of(SizesAttributes{std::vector<Dim>(sizes.begin(), sizes.end())}));
      updates = builder.add(link.instruction.primitive(), {updates, scale});
    }
    const ValueId result = builder.add({.primitive = update.scatter.primitive(),
                                        .operands = operands,
                                        .attributes = update.scatter.attributes(),
                                        .location = update.end().location()})[0];
    return finished(builder, result);
  }

  std::string as_it_was(const RowUpdate& update, const Parts& parts,
                        const ir::Signature& signature) {
    ir::FunctionBuilder builder = new_function("table", signature);
    ir::Copier copier = copier_of(parts, builder);
    for (const uint32_t index : parts.computed) copier.copy(function_.instruction(index));
    return finished(builder, copier.value(update.end().result()));
  }

  // Knows the values that the branches read.
  ir::Copier copier_of(const Parts& parts, ir::FunctionBuilder& builder) const {
    ir::Copier copier(function_, builder);
    for (size_t i = 0; i < parts.read.size(); ++i) {
      copier.set(parts.read[i], static_cast<ValueId>(i));
    }
    return copier;
  }

  ValueId copied_scalar(ValueId scalar, const ir::Copier& copier,
                        ir::FunctionBuilder& builder) const {
    if (copier.has(scalar)) return copier.value(scalar);
    return builder.literal(
        function_.definition(scalar)->attributes_as<ir::LiteralAttributes>().value);
  }

  std::string finished(ir::FunctionBuilder& builder, ValueId result) {
    added_.push_back(builder.finish({result}));
    return added_.back()->name();
  }

  ir::FunctionBuilder new_function(std::string_view purpose, const ir::Signature& signature) {
    std::string name;
    for (int i = 1; name.empty() || program_.declarations().find_function(name); ++i) {
      name = fmt::format("{}.{}.{}", function_.name(), purpose, i);
    }
    program_.declare(name, signature);
    ir::FunctionBuilder builder = program_.function(name);
    builder.declare(signature);
    builder.set_location(function_.location());
    return builder;
  }

  const ir::Function& function_;
  const Values values_;
  ir::ProgramBuilder& program_;
  std::vector<FunctionPointer>& added_;
  ir::FunctionBuilder builder_;
  ir::Copier copier_;
};

}  // namespace

ir::Program with_row_updates(const ir::Program& program) {
  ir::ProgramBuilder builder;
  std::vector<std::shared_ptr<const ir::Function>> functions(program.functions().begin(),
                                                             program.functions().end()),
      added;
  for (const ir::RecordType& record : program.records()) builder.record(record);
  for (const auto& function : functions) builder.declare(function->name(), function->signature());
  bool is_changed = false;
  for (auto& function : functions) {
    if (!function->signature().axes.axes.empty()) continue;
    if (auto changed = RowUpdates(*function, builder, added).run()) {
      function = std::move(changed);
      is_changed = true;
    }
  }
  if (!is_changed) return program;
  functions.insert(functions.end(), added.begin(), added.end());
  return ir::prune(
      ir::Program::of(std::move(functions), {program.records().begin(), program.records().end()}));
}

}  // namespace plait::compile
