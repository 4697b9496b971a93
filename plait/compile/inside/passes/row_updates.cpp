// The gradient of a table of which few rows were read is zero elsewhere. Where a step only adds it,
// scaled, to something else, the rows are added there:
//
//   p - lr * (scatter_add(0, updates, rows) + decay * p)
//
// becomes scatter_add(p - lr * (decay * p), -lr * updates, rows). The part without the gradient is
// `p` itself if the decay is 0, which is known when the program runs: it is the other branch of a
// `cond`. Then neither the gradient nor the table is written as a whole.
#include <algorithm>
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
  // A scalar such that the value is 0 everywhere if it is 0: the other factor is finite.
  std::optional<ValueId> switch_of(ValueId value) const {
    const auto product = definition(value, multiply_primitive());
    if (!product) return std::nullopt;
    for (const size_t i : {0, 1}) {
      const auto factor = scalar_of(product->operands()[i]);
      const auto bounded = definition(product->operands()[1 - i], clamp_primitive());
      if (factor && bounded && number_in(bounded->operands()[0]) &&
          number_in(bounded->operands()[2])) {
        return factor;
      }
    }
    return std::nullopt;
  }

 private:
  const ir::Function& function_;
  std::vector<uint32_t> reads_, reader_;  // by value; a result of the function counts twice
};

// A sum of updates, and the instructions that scale it and add it to other values: `place` is the
// operand that the sum is part of.
struct RowUpdate {
  struct Link {
    Instruction instruction;
    size_t place;
    ValueId other() const { return instruction.operands()[1 - place]; }
  };
  Instruction scatter;
  std::vector<Link> chain = {};

  const Instruction& end() const { return chain.back().instruction; }
};

bool adds(const Instruction& instruction) {
  return is_by(instruction, add_primitive()) || is_by(instruction, subtract_primitive());
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

std::optional<RowUpdate> update_at(const Values& values, const Instruction& scatter) {
  if (!is_by(scatter, scatter_add_primitive())) return std::nullopt;
  const ir::Type &table = scatter.result_types()[0], &rows = scatter.operand_type(1);
  const bool is_static =
      std::ranges::all_of(table.shape(), [](Dim dim) { return dim.is_number(); });
  if (!is_static || (table.dtype() != DType::f32 && table.dtype() != DType::f64))
    return std::nullopt;
  if (usual_bytes(rows) * kLeastRatio > usual_bytes(table)) return std::nullopt;
  if (values.number_in(scatter.operands()[0]) != 0.0) return std::nullopt;
  RowUpdate update{scatter};
  size_t with_sum = 0;
  for (auto link = next_link(values, scatter.result()); link;
       link = next_link(values, link->instruction.result())) {
    update.chain.push_back(*link);
    if (adds(link->instruction)) with_sum = update.chain.size();
  }
  update.chain.erase(update.chain.begin() + static_cast<std::ptrdiff_t>(with_sum),
                     update.chain.end());
  return with_sum > 0 ? std::optional(std::move(update)) : std::nullopt;
}

// The result of a chain where the sum is 0: nothing, zeros, a value as it is, or something else.
struct Rest {
  enum class Kind : uint8_t { nothing, zeros, value, other };
  Kind kind = Kind::nothing;
  ValueId value = 0;
};

// The value that the chain returns where the sum is 0 if `scalar` is 0.
std::optional<ValueId> kept_value(const Values& values, const RowUpdate& update,
                                  std::optional<ValueId> scalar) {
  Rest rest;
  for (const RowUpdate::Link& link : update.chain) {
    const bool is_empty = rest.kind == Rest::Kind::nothing || rest.kind == Rest::Kind::zeros;
    if (!adds(link.instruction)) {
      if (!is_empty) rest.kind = Rest::Kind::other;
      continue;
    }
    const auto by = values.switch_of(link.other());
    const bool vanishes = by && by == scalar;
    const bool is_negated = is_by(link.instruction, subtract_primitive()) && link.place == 0;
    if (vanishes && is_empty) {
      rest.kind = Rest::Kind::zeros;
    } else if (is_empty && !is_negated) {
      rest = {Rest::Kind::value, link.other()};
    } else if (!vanishes || (is_by(link.instruction, subtract_primitive()) && link.place == 1)) {
      rest.kind = Rest::Kind::other;
    }
  }
  return rest.kind == Rest::Kind::value ? std::optional(rest.value) : std::nullopt;
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
  void add(const RowUpdate& update) {
    std::vector<ValueId> operands = copier_.values(update.scatter.operands());
    operands[0] = rest_of(update);
    operands[1] = scaled(update, operands[1]);
    copier_.set(update.end().result(), builder_.add({.primitive = update.scatter.primitive(),
                                                     .operands = operands,
                                                     .attributes = update.scatter.attributes(),
                                                     .location = update.end().location()})[0]);
  }

  ValueId scaled(const RowUpdate& update, ValueId updates) {
    const ir::Type& type = update.scatter.operand_type(1);
    std::optional<ValueId> factor;
    bool is_negated = false;
    const auto one = [&] { return builder_.literal(Literal::scalar(type.dtype(), 1)); };
    for (const RowUpdate::Link& link : update.chain) {
      const Instruction& by = link.instruction;
      if (is_by(by, add_primitive())) continue;
      if (is_by(by, subtract_primitive()) || is_by(by, negative_primitive())) {
        is_negated ^= is_by(by, negative_primitive()) || link.place == 1;
        continue;
      }
      const ValueId scalar = copier_.value(*values_.scalar_of(link.other()));
      if (factor || is_by(by, divide_primitive())) {
        factor = builder_.add(by.primitive(), {factor ? *factor : one(), scalar});
      } else {
        factor = scalar;
      }
    }
    if (is_negated) factor = builder_.add(negative_primitive(), {factor ? *factor : one()});
    if (!factor) return updates;
    const ValueId everywhere = builder_.add(broadcast_primitive(), {*factor},
                                            ir::Attributes::of(SizesAttributes{sizes_of(type)}));
    return builder_.add(multiply_primitive(), {everywhere, updates});
  }

  std::vector<Dim> sizes_of(const ir::Type& type) const {
    const ir::Type ours = copier_.type(type);
    return {ours.shape().begin(), ours.shape().end()};
  }

  // The result of the chain where the sum is 0.
  ValueId rest_of(const RowUpdate& update) {
    if (const auto kept = kept_value(values_, update, {})) return copier_.value(*kept);
    for (const RowUpdate::Link& link : update.chain) {
      if (!adds(link.instruction)) continue;
      const auto scalar = values_.switch_of(link.other());
      const auto kept = scalar ? kept_value(values_, update, scalar) : std::nullopt;
      if (!kept) continue;
      if (const auto chosen = chosen_by(*scalar, *kept, update)) return *chosen;
    }
    return replayed(update, copier_, builder_);
  }

  // The chain without the sum.
  static ValueId replayed(const RowUpdate& update, const ir::Copier& copier,
                          ir::FunctionBuilder& builder) {
    std::optional<ValueId> rest;
    for (const RowUpdate::Link& link : update.chain) {
      const Instruction& by = link.instruction;
      if (!rest) {
        if (!adds(by)) continue;
        rest = copier.value(link.other());
        const bool is_negated = is_by(by, subtract_primitive()) && link.place == 0;
        if (is_negated) rest = builder.add(negative_primitive(), {*rest});
      } else if (is_by(by, negative_primitive())) {
        rest = builder.add(negative_primitive(), {*rest});
      } else {
        const ValueId other = copier.value(link.other());
        const bool is_first = link.place == 0;
        rest = builder.add(by.primitive(), {is_first ? *rest : other, is_first ? other : *rest});
      }
    }
    return *rest;
  }

  // cond(scalar == 0, the value as it is, the chain without the sum); nothing if the chain reads
  // what takes long to compute.
  std::optional<ValueId> chosen_by(ValueId scalar, ValueId kept, const RowUpdate& update) {
    const auto parts = parts_of(update, kept);
    if (!parts) return std::nullopt;
    ir::Signature signature;
    std::vector<ValueId> operands{is_zero(scalar)};
    for (const ValueId value : parts->read) {
      operands.push_back(copier_.value(value));
      signature.parameters.push_back(function_.type_of(value));
    }
    signature.results = {update.end().result_types()[0]};

    ir::FunctionBuilder other = new_function("rest", signature);
    ir::Copier copier(function_, other);
    for (size_t i = 0; i < parts->read.size(); ++i) {
      copier.set(parts->read[i], static_cast<ValueId>(i));
    }
    for (const uint32_t index : parts->computed) copier.copy(function_.instruction(index));
    const ValueId rest = replayed(update, copier, other);
    added_.push_back(other.finish({rest}));
    const std::string computes = added_.back()->name();

    ir::FunctionBuilder same = new_function("same", signature);
    const auto place = std::ranges::find(parts->read, kept) - parts->read.begin();
    added_.push_back(same.finish({static_cast<ValueId>(place)}));
    const ir::Callee callees[] = {{.name = added_.back()->name()}, {.name = computes}};
    return builder_.add({.primitive = ir::primitive(ir::Structure::cond),
                         .operands = operands,
                         .callees = callees,
                         .location = update.end().location()})[0];
  }

  ValueId is_zero(ValueId scalar) {
    const DType dtype = function_.type_of(scalar).dtype();
    return builder_.add(equal_primitive(),
                        {copier_.value(scalar), builder_.literal(Literal::scalar(dtype, 0))});
  }

  // The instructions of a branch, and the values that it reads.
  struct Parts {
    std::vector<uint32_t> computed;  // ascending
    std::vector<ValueId> read;
  };
  std::optional<Parts> parts_of(const RowUpdate& update, ValueId kept) const {
    Parts parts{.computed = {}, .read = {kept}};
    std::vector<ValueId> waiting;
    for (const RowUpdate::Link& link : update.chain) {
      if (link.instruction.operands().size() == 2) waiting.push_back(link.other());
    }
    while (!waiting.empty()) {
      const ValueId value = waiting.back();
      waiting.pop_back();
      if (std::ranges::find(parts.read, value) != parts.read.end()) continue;
      const auto definition = function_.definition(value);
      const bool is_array = function_.type_of(value).shape().rank() > 0;
      if (!is_array || !definition) {
        parts.read.push_back(value);
        continue;
      }
      if (std::ranges::find(parts.computed, definition->index()) != parts.computed.end()) continue;
      const bool is_light = definition->primitive().elementwise != ir::Elementwise::no ||
                            is_by(*definition, broadcast_primitive()) ||
                            is_by(*definition, reshape_primitive());
      if (!is_light || parts.computed.size() == kMostInBranch) return std::nullopt;
      parts.computed.push_back(definition->index());
      for (const ValueId operand : definition->operands()) waiting.push_back(operand);
    }
    std::ranges::sort(parts.computed);
    return parts;
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
