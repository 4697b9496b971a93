// Program::parse.
#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "plait/core/error.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/builder.h"
#include "plait/ir/inside/analysis/callee_sizes.h"
#include "plait/ir/inside/text/location_text.h"
#include "plait/ir/inside/text/parser_heads.h"
#include "plait/ir/text/parser_types.h"
#include "plait/ir/text/printer.h"

namespace plait::ir {
namespace {

constexpr int64_t kVersion = 1;

// Caches shared by the bodies of a program, so that equal text is parsed once.
struct Remembered {
  std::unordered_map<std::string_view, const Primitive*> primitives;
  std::unordered_map<std::string_view, std::vector<Type>> types;
  LocationsRead locations;
};

// The values of a function without labels: %0, %1, …, and %p0 for a parameter.
class UnlabelledValues {
 public:
  void define(std::string_view name, ValueId value) {
    const uint32_t number = number_of(name);
    if (number > values_by_number_.size() + kMostSkipped) {
      values_by_name_.emplace(name, value);
      return;
    }
    if (number >= values_by_number_.size()) values_by_number_.resize(number + 1, kNone);
    values_by_number_[number] = value;
  }

  std::optional<ValueId> find(std::string_view name) const {
    const uint32_t number = number_of(name);
    if (number < values_by_number_.size() && values_by_number_[number] != kNone) {
      return values_by_number_[number];
    }
    if (values_by_name_.empty()) return std::nullopt;
    const auto place = values_by_name_.find(name);
    if (place == values_by_name_.end()) return std::nullopt;
    return place->second;
  }

 private:
  static constexpr ValueId kNone = ~ValueId{0};
  // Numbers are usually consecutive; those far ahead are stored like names, so that a large number
  // does not allocate much memory.
  static constexpr uint32_t kMostSkipped = 64;

  static uint32_t number_of(std::string_view name) {
    uint32_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return error == std::errc() ? number : kNone;
  }

  std::vector<ValueId> values_by_number_;
  std::unordered_map<std::string_view, ValueId> values_by_name_;
};

class BodyParser {
 public:
  BodyParser(TextReader& reader, const FunctionHead& head, const Declarations& declarations,
             Remembered& remembered)
      : reader_(reader),
        head_(head),
        declarations_(declarations),
        remembered_(remembered),
        builder_(head.name, declarations) {}

  std::shared_ptr<const Function> parse();
  std::vector<size_t> take_positions() {
    return std::move(positions_);
  }  // positions of the instructions

 private:
  struct Name {
    std::string_view text;
    size_t position;
  };

  void declare();
  void parse_instruction();
  void parse_results();
  const Primitive& parse_primitive();
  void parse_callees();
  void parse_operands(bool in_parentheses);
  void parse_stated_types();
  void complete_callees(const NewInstruction& instruction);
  void add(const NewInstruction& instruction);
  std::optional<ValueId> find(std::string_view name) const;
  void define(const Name& name, ValueId value);
  [[noreturn]] void fail_taken(const Name& name) const;
  std::string_view parse_value_name();
  ValueId parse_value_use();
  std::shared_ptr<const Function> parse_return();

  template <class Action>
  auto with_position(size_t position, Location location, Action action);

  TextReader& reader_;
  const FunctionHead& head_;
  const Declarations& declarations_;
  Remembered& remembered_;
  FunctionBuilder builder_;
  UnlabelledValues unlabelled_;
  std::vector<size_t> positions_;

  // State of the current instruction.
  size_t begin_ = 0;
  std::vector<std::string> size_names_;
  std::vector<Name> results_;
  std::vector<ValueId> operands_;
  std::vector<Dim> sizes_;
  std::vector<Callee> callees_;
  std::vector<size_t> incomplete_callees_;
  std::span<const Type> stated_;
  std::vector<Type> stated_once_;
};

// Errors of type rules keep their kind; the position in the text is prepended.
template <class Action>
auto BodyParser::with_position(size_t position, Location location, Action action) {
  try {
    return action();
  } catch (const ParseError&) {
    throw;
  } catch (Error& error) {
    if (location.known() && !error.location().known()) error.set_location(location);
    error.prepend(reader_.line_and_column(position) + ": ");
    throw;
  }
}

std::shared_ptr<const Function> BodyParser::parse() {
  // The printer writes one instruction per line.
  const std::string_view body = reader_.text().substr(head_.brace, head_.end - head_.brace);
  builder_.expect_instructions(static_cast<size_t>(std::ranges::count(body, '\n')));
  with_position(head_.name_position, head_.location, [&] { declare(); });
  while (!reader_.accept_word("return")) parse_instruction();
  return parse_return();
}

void BodyParser::declare() {
  std::vector<std::string> labels = head_.labels;
  for (size_t i = 0; i < labels.size(); ++i) {
    if (is_unlabelled_name(labels[i], i)) labels[i].clear();
  }
  builder_.declare(head_.signature, labels);
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto value = static_cast<ValueId>(i);
    const std::string& name = head_.labels[i];
    const bool is_taken = labels[i].empty() ? find(name).has_value() : find(name) != value;
    if (is_taken) fail_taken({name, head_.label_positions[i]});
    if (labels[i].empty()) unlabelled_.define(name, value);
  }
  builder_.set_location(head_.location);
}

std::optional<ValueId> BodyParser::find(std::string_view name) const {
  if (begins_name(name[0])) {
    if (const auto value = builder_.labelled(name)) return value;
  }
  return unlabelled_.find(name);
}

void BodyParser::define(const Name& name, ValueId value) {
  if (find(name.text)) fail_taken(name);
  if (is_name(name.text))
    builder_.label(value, name.text);
  else
    unlabelled_.define(name.text, value);
}

void BodyParser::fail_taken(const Name& name) const {
  reader_.fail_at(name.position, fmt::format("%{} is defined already", name.text));
}

// The name after %: a name, or a number as printed.
std::string_view BodyParser::parse_value_name() {
  if (begins_name(reader_.next())) return reader_.name();
  const std::string_view rest = reader_.rest();
  const size_t size = std::min(rest.find_first_not_of("0123456789"), rest.size());
  const bool is_number = size > 0 && (rest[0] != '0' || size == 1);
  if (!is_number || (size < rest.size() && continues_name(rest[size]))) {
    reader_.fail_expecting("a value's name or number after %");
  }
  reader_.advance(size);
  return rest.substr(0, size);
}

void BodyParser::parse_instruction() {
  reader_.skip_space();
  begin_ = reader_.position();
  positions_.push_back(begin_);
  parse_results();
  const Primitive& primitive = parse_primitive();
  sizes_.clear();
  if (reader_.next_adjacent_is("<") && reader_.accept("<")) sizes_ = parse_dims(reader_);
  parse_callees();
  parse_operands(!callees_.empty());
  NewInstruction instruction{.primitive = primitive};
  if (reader_.accept("{"))
    instruction.attributes = Attributes::parse(primitive.attributes, reader_);
  parse_stated_types();
  instruction.location = remembered_.locations.parse(reader_.comment());
  instruction.operands = operands_;
  instruction.callees = callees_;
  instruction.size_arguments = sizes_;
  instruction.size_names = size_names_;
  instruction.stated_types = stated_;
  with_position(begin_, instruction.location, [&] {
    complete_callees(instruction);
    add(instruction);
  });
}

void BodyParser::parse_results() {
  size_names_.clear();
  results_.clear();
  if (reader_.accept("<")) {
    for (const Dim size : parse_size_names(reader_)) size_names_.emplace_back(size.name());
  }
  if (reader_.next_is("%")) {
    do {
      reader_.expect("%");
      const size_t position = reader_.position() - 1;
      results_.push_back({parse_value_name(), position});
    } while (reader_.accept(","));
  }
  if (!size_names_.empty() || !results_.empty()) reader_.expect("=");
}

const Primitive& BodyParser::parse_primitive() {
  if (!reader_.next_is_name()) {
    reader_.fail_expecting(results_.empty() ? "an instruction or return" : "an instruction");
  }
  const std::string_view name = reader_.name();
  const auto [place, is_new] = remembered_.primitives.try_emplace(name);
  if (is_new) {
    try {
      place->second = &primitive(name);
    } catch (const Error& error) {
      const std::string& hint = error.hint();
      reader_.fail_at(reader_.position() - name.size(),
                      error.message() + (hint.empty() ? "" : "; " + hint));
    }
  }
  return *place->second;
}

void BodyParser::parse_callees() {
  callees_.clear();
  incomplete_callees_.clear();
  if (!reader_.next_in_line_is("@")) return;
  do {
    reader_.expect("@");
    Callee callee{std::string(reader_.name()), {}};
    if (reader_.accept("<"))
      callee.sizes = parse_dims(reader_);
    else
      incomplete_callees_.push_back(callees_.size());
    callees_.push_back(std::move(callee));
  } while (reader_.accept(","));
}

// Operands without parentheses must be on the line of the instruction: the next line is the next
// instruction.
void BodyParser::parse_operands(bool in_parentheses) {
  operands_.clear();
  if (in_parentheses) reader_.expect("(");
  if (in_parentheses ? reader_.next_is("%") : reader_.next_in_line_is("%")) {
    do operands_.push_back(parse_value_use());
    while (reader_.accept(","));
  }
  if (in_parentheses) reader_.expect(")");
}

ValueId BodyParser::parse_value_use() {
  reader_.expect("%");
  const size_t position = reader_.position() - 1;
  const std::string_view name = parse_value_name();
  const std::optional<ValueId> value = find(name);
  if (!value) reader_.fail_at(position, fmt::format("%{} is not defined before this", name));
  return *value;
}

// Most instructions state types that occurred before, so whole lists are cached.
void BodyParser::parse_stated_types() {
  stated_ = {};
  if (!reader_.accept(":")) return;
  reader_.skip_space();
  const std::string_view rest = reader_.rest_of_line();
  const auto known = remembered_.types.find(rest);
  if (known != remembered_.types.end()) {
    stated_ = known->second;
    reader_.seek(reader_.position() + rest.size());
  } else {
    const size_t end = reader_.position() + rest.size();
    stated_once_.clear();
    do stated_once_.push_back(parse_type(reader_));
    while (reader_.accept(","));
    stated_ = stated_once_;
    if (reader_.position() == end) remembered_.types.emplace(rest, stated_once_);
  }
  if (stated_.size() != results_.size()) {
    reader_.fail_at(begin_, fmt::format("{} values are named, {} types are stated", results_.size(),
                                        stated_.size()));
  }
}

void BodyParser::complete_callees(const NewInstruction& instruction) {
  if (incomplete_callees_.empty()) return;
  std::vector<Type> operand_types;
  for (const ValueId operand : operands_) operand_types.push_back(builder_.type_of(operand));
  for (const size_t i : incomplete_callees_) {
    callees_[i].sizes = infer_size_arguments(i, instruction, operand_types, declarations_);
  }
}

void BodyParser::add(const NewInstruction& instruction) {
  const std::string& primitive = instruction.primitive.name;
  const Added added = builder_.add(instruction);
  const auto new_sizes = builder_.so_far().instruction(added.instruction).size_results();
  if (added.count != results_.size()) {
    throw TypeError("{}: returns {} values, {} are named", primitive, added.count, results_.size());
  }
  if (new_sizes.size() != size_names_.size()) {
    throw TypeError("{}: defines {} sizes, {} are named", primitive, new_sizes.size(),
                    size_names_.size());
  }
  for (size_t i = 0; i < results_.size(); ++i) define(results_[i], added[i]);
}

std::shared_ptr<const Function> BodyParser::parse_return() {
  const size_t position = reader_.position();
  std::vector<Dim> sizes;
  if (reader_.accept("<")) sizes = parse_dims(reader_);
  operands_.clear();
  if (reader_.next_is("%")) {
    do operands_.push_back(parse_value_use());
    while (reader_.accept(","));
  }
  reader_.expect("}");
  return with_position(position, {}, [&] { return builder_.finish(operands_, sizes); });
}

// Parses signatures and records first, so that functions may use what is declared below them; then
// the bodies.
class ProgramParser {
 public:
  explicit ProgramParser(std::string_view text) : reader_(text) {}

  Program parse() {
    parse_version();
    while (!reader_.at_end()) parse_declaration();
    for (const FunctionHead& head : heads_) {
      reader_.seek(head.brace + 1);
      BodyParser body(reader_, head, builder_.declarations(), remembered_);
      builder_.add(body.parse());
      positions_.push_back(body.take_positions());
    }
    Program program = builder_.finish();
    if (std::vector<Violation> found = violations(program); !found.empty()) {
      for (Violation& violation : found) violation.place = place_of(violation);
      refuse(found);
    }
    return program;
  }

 private:
  // The position of an instruction or function in the text; "" for the whole program.
  std::string place_of(const Violation& violation) const {
    for (size_t i = 0; i < heads_.size(); ++i) {
      if (heads_[i].name != violation.function) continue;
      return reader_.line_and_column(violation.index ? positions_[i][*violation.index]
                                                     : heads_[i].name_position);
    }
    return "";
  }

  void parse_version() {
    if (!reader_.accept_word("plait")) return;
    reader_.skip_space();
    const size_t position = reader_.position();
    const int64_t version = reader_.integer();
    if (version == kVersion) return;
    reader_.fail_at(
        position,
        fmt::format("unknown version {} of the text form; this build reads {}", version, kVersion));
  }

  void parse_declaration() {
    if (reader_.accept_word("type")) return parse_record_declaration();
    if (!reader_.accept_word("func")) reader_.fail_expecting("func or type");
    FunctionHead head = parse_function_head(reader_);
    if (!function_names_.insert(head.name).second) {
      reader_.fail_at(head.name_position, fmt::format("function @{} is defined twice", head.name));
    }
    builder_.declare(head.name, head.signature);
    reader_.skip_braces(head.brace);
    head.end = reader_.position();
    heads_.push_back(std::move(head));
  }

  void parse_record_declaration() {
    reader_.skip_space();
    const size_t position = reader_.position();
    RecordType record = parse_record(reader_);
    if (!record_names_.insert(record.name).second) {
      reader_.fail_at(position, fmt::format("record @{} is defined twice", record.name));
    }
    builder_.record(std::move(record));
  }

  TextReader reader_;
  ProgramBuilder builder_;
  Remembered remembered_;
  std::vector<FunctionHead> heads_;
  std::vector<std::vector<size_t>> positions_;  // positions of the instructions of each function
  std::unordered_set<std::string> function_names_, record_names_;
};

}  // namespace

Program Program::parse(std::string_view text) { return ProgramParser(text).parse(); }

}  // namespace plait::ir
