#include "plait/ir/rewriting/pattern.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/inside/numbers/element_text.h"
#include "plait/ir/primitive.h"
#include "plait/ir/structure.h"

namespace plait::ir {
namespace {

// A node of a pattern. A pattern is a list of nodes in which operands come before their uses.
struct Term {
  enum class Kind : uint8_t { variable, number, operation };
  Kind kind = Kind::variable;
  uint32_t variable = 0;  // numbered by first appearance on the left-hand side
  double number = 0;
  const Primitive* primitive = nullptr;
  std::vector<uint32_t> operands = {};  // indices of nodes
  std::optional<Attributes> attributes = {};
};

struct Pattern {
  std::vector<Term> left, right;
  uint32_t variables = 0;
};

class PatternReader {
 public:
  explicit PatternReader(std::string_view text) : reader_(text) {}

  Pattern read() {
    size_t begin = here();
    read_term(pattern_.left, true);
    if (pattern_.left.back().kind != Term::Kind::operation)
      reader_.fail_at(begin, "expected an operation: a rule replaces what an instruction returns");
    reader_.expect("=>");
    read_term(pattern_.right, false);
    if (!reader_.at_end()) reader_.fail("expected the end of the rule, found {}", reader_.found());
    pattern_.variables = static_cast<uint32_t>(names_.size());
    return std::move(pattern_);
  }

 private:
  size_t here() {
    reader_.skip_space();
    return reader_.position();
  }

  uint32_t read_term(std::vector<Term>& terms, bool may_name) {
    TextReader::Nesting nesting(reader_);
    Term term;
    if (reader_.accept("?")) {
      read_variable(term, may_name);
    } else if (reader_.next_is_name() && !reader_.next_is_word("inf") &&
               !reader_.next_is_word("nan")) {
      read_operation(term, terms, may_name);
    } else {
      term.kind = Term::Kind::number;
      term.number = read_real(reader_);
    }
    terms.push_back(std::move(term));
    return static_cast<uint32_t>(terms.size() - 1);
  }

  void read_variable(Term& term, bool may_name) {
    size_t begin = reader_.position();
    std::string name(reader_.name());
    term.kind = Term::Kind::variable;
    auto place = std::find(names_.begin(), names_.end(), name);
    if (place == names_.end() && !may_name)
      reader_.fail_at(begin, fmt::format("?{} is not on the left", name));
    term.variable = static_cast<uint32_t>(place - names_.begin());
    if (place == names_.end()) names_.push_back(name);
  }

  void read_operation(Term& term, std::vector<Term>& terms, bool may_name) {
    size_t begin = here();
    std::string name(reader_.name());
    term.kind = Term::Kind::operation;
    try {
      term.primitive = &primitive(name);
    } catch (const KeyError& error) {
      reader_.fail_at(begin, error.message() + (error.hint().empty() ? "" : "; " + error.hint()));
    }
    const Primitive& operation = *term.primitive;
    if (operation.callees.least > 0 || operation.size_arguments.least > 0)
      reader_.fail_at(begin, name + " takes functions or sizes, which rules cannot express");
    reader_.expect("(");
    if (!reader_.accept(")")) {
      do term.operands.push_back(read_term(terms, may_name));
      while (reader_.accept(","));
      reader_.expect(")");
    }
    if (!operation.operands.holds(term.operands.size()))
      reader_.fail_at(begin,
                      fmt::format("{} does not take {} operands", name, term.operands.size()));
    if (here(); reader_.next_is("{")) read_attributes(term, begin);
  }

  void read_attributes(Term& term, size_t begin) {
    reader_.expect("{");
    if (!term.primitive->attributes)
      reader_.fail_at(begin, term.primitive->name + " has no attributes");
    term.attributes = Attributes::parse(term.primitive->attributes, reader_);
  }

  TextReader reader_;
  Pattern pattern_;
  std::vector<std::string> names_;
};

// True if a value is a literal with this number everywhere.
bool holds_number(const Function& function, ValueId value, double number) {
  std::optional<Instruction> definition = function.definition(value);
  if (!definition || definition->primitive().structure != Structure::literal) return false;
  const Literal& literal = definition->attributes_as<LiteralAttributes>().value;
  if (literal.dtype() == DType::key || is_complex(literal.dtype())) return false;
  if (!literal.is_splat() && literal.element_count() != 1) return false;
  double held = literal.as_double(0);
  if (is_integer(literal.dtype())) return held == number && std::abs(number) < 0x1p53;
  return std::bit_cast<uint64_t>(held) == std::bit_cast<uint64_t>(number);  // 0 differs from −0
}

constexpr ValueId kUnbound = 0xffffffff;

// Matches a pattern against an instruction and the definitions of its operands.
class Matcher {
 public:
  Matcher(const Pattern& pattern, const Candidate& candidate)
      : pattern_(pattern), candidate_(candidate), bound_(pattern.variables, kUnbound) {}

  bool matches() {
    const Draft& instruction = candidate_.instruction;
    const Term& root = pattern_.left.back();
    if (instruction.operands.size() != root.operands.size()) return false;
    if (root.attributes && *root.attributes != instruction.attributes) return false;
    wait_for(root, instruction.operands);
    while (!waiting_.empty()) {
      auto [place, value] = waiting_.back();
      waiting_.pop_back();
      if (!matches(pattern_.left[place], value)) return false;
    }
    return candidate_.result_types().size() == 1;
  }

  ValueId bound(uint32_t variable) const { return bound_[variable]; }

 private:
  void wait_for(const Term& term, std::span<const ValueId> values) {
    for (size_t i = 0; i < values.size(); ++i) waiting_.emplace_back(term.operands[i], values[i]);
  }

  bool matches(const Term& term, ValueId value) {
    switch (term.kind) {
      case Term::Kind::variable: return bind(term.variable, value);
      case Term::Kind::number: return holds_number(candidate_.function, value, term.number);
      case Term::Kind::operation: return matches_operation(term, value);
    }
    return false;
  }

  bool bind(uint32_t variable, ValueId value) {
    if (bound_[variable] == kUnbound) bound_[variable] = value;
    return bound_[variable] == value;
  }

  bool matches_operation(const Term& term, ValueId value) {
    std::optional<Instruction> definition = candidate_.function.definition(value);
    if (!definition || &definition->primitive() != term.primitive) return false;
    if (definition->operands().size() != term.operands.size()) return false;
    if (definition->result_count() != 1) return false;
    if (term.attributes && *term.attributes != definition->attributes()) return false;
    wait_for(term, definition->operands());
    return true;
  }

  const Pattern& pattern_;
  const Candidate& candidate_;
  std::vector<ValueId> bound_;
  std::vector<std::pair<uint32_t, ValueId>> waiting_;
};

// A number on the right-hand side: a literal of the replaced value's dtype, which varies along the
// same axes.
Replacement::Value add_number(Replacement& replacement, double number, const Type& type) {
  if (!type.is_array() || type.rank() != 0)
    throw TypeError("the number {} can only replace a scalar, not {}", number, type.text());
  Literal literal = Literal::scalar(type.dtype(), number);
  Replacement::Value value = replacement.add(primitive(Structure::literal), {},
                                             Attributes::of(LiteralAttributes{std::move(literal)}));
  if (type.varying().empty()) return value;
  return replacement.add(primitive(Structure::vary), {value},
                         Attributes::of(VaryAttributes{type.varying()}));
}

Replacement build(const Pattern& pattern, const Matcher& matcher, const Candidate& candidate) {
  Type type = candidate.result_types()[0];
  Replacement replacement;
  std::vector<Replacement::Value> values;
  for (const Term& term : pattern.right) {
    switch (term.kind) {
      case Term::Kind::variable: values.push_back(matcher.bound(term.variable)); break;
      case Term::Kind::number: values.push_back(add_number(replacement, term.number, type)); break;
      case Term::Kind::operation: {
        Replacement::Step step{.primitive = term.primitive,
                               .attributes = term.attributes.value_or(Attributes())};
        for (uint32_t operand : term.operands) step.operands.push_back(values[operand]);
        if (&term == &pattern.right.back()) step.stated_types = {type};
        values.push_back(replacement.add(std::move(step)));
      }
    }
  }
  replacement.give({values.back()});
  return replacement;
}

}  // namespace

RewriteRule parse_rule(std::string_view text) {
  Pattern pattern = PatternReader(text).read();
  const Primitive* root = pattern.left.back().primitive;
  auto apply = [pattern = std::move(pattern)](const Candidate& candidate) {
    Matcher matcher(pattern, candidate);
    std::optional<Replacement> replacement;
    if (matcher.matches()) replacement = build(pattern, matcher, candidate);
    return replacement;
  };
  return {.name = std::string(text), .root = root, .apply = std::move(apply)};
}

}  // namespace plait::ir
