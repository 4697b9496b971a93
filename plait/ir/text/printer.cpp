#include "plait/ir/text/printer.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "plait/ir/inside/text/location_text.h"
#include "plait/ir/primitive.h"

namespace plait::ir {
namespace {

constexpr size_t kLocationColumn = 56;

// The names of one function's values.
class ValueNames {
 public:
  explicit ValueNames(const Function& function) : function_(function) { name_parameters(); }

  // Looks up all labels once, for a text with all values.
  void prepare_all() {
    if (function_.labels().empty()) return;
    labels_.resize(function_.value_count());
    function_.labels().for_each(
        [&](ValueId value, std::string_view label) { labels_[value] = label; });
  }

  void print(std::string& out, ValueId value) const {
    out += '%';
    if (value < parameters_.size()) {
      out += parameters_[value];
      return;
    }
    const std::string_view label = labels_.empty() ? function_.label(value) : labels_[value];
    if (label.empty())
      print_number(out, static_cast<int64_t>(value - parameters_.size()));
    else
      out += label;
  }

 private:
  // A label that would be parsed as a missing one is not printed.
  bool counts(ValueId value, std::string_view label) const {
    return !label.empty() && !(value < parameters_.size() && is_unlabelled_name(label, value));
  }

  void name_parameters() {
    parameters_.resize(function_.parameter_count());
    std::unordered_set<std::string_view> taken;
    for (ValueId value = 0; value < parameters_.size(); ++value) {
      std::string& name = parameters_[value];
      name = function_.label(value);
      if (counts(value, name)) continue;
      if (taken.empty()) {
        function_.labels().for_each([&](ValueId labelled, std::string_view label) {
          if (counts(labelled, label)) taken.insert(label);
        });
      }
      name = fmt::format("p{}", value);
      while (taken.contains(name)) name += '_';
    }
  }

  const Function& function_;
  std::vector<std::string> parameters_;
  std::vector<std::string_view> labels_;
};

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  void print(const Program& program);
  void print(const Function& function);
  void print(const ValueNames& names, const Instruction& instruction);
  std::string take() { return std::move(out_); }

 private:
  void print_head(const ValueNames& names, const Function& function);
  void print_callees(const ValueNames& names, const Instruction& instruction);
  void print_attributes(const Attributes& attributes);
  void print_literal(const Literal& literal);
  void print_values(const ValueNames& names, std::span<const ValueId> values);
  void print_type(const Type& type);
  void print_sizes(std::span<const Dim> sizes);  // "<n, m>", or nothing if empty
  void print_place(Location location, size_t line_start);

  template <class Range, class PrintOne>
  void print_list(const Range& range, PrintOne print_one) {
    bool first = true;
    for (const auto& one : range) {
      if (!first) out_ += ", ";
      first = false;
      print_one(one);
    }
  }

  const PrintOptions& options_;
  std::string out_;
  std::unordered_map<Type, std::string> type_texts_;
};

void Printer::print(const Program& program) {
  out_ += "plait 1\n";
  if (!program.records().empty()) out_ += '\n';
  for (const RecordType& record : program.records()) {
    out_ += record.text();
    out_ += '\n';
  }
  for (const auto& function : program.functions()) {
    out_ += '\n';
    print(*function);
  }
}

void Printer::print(const Function& function) {
  ValueNames names(function);
  names.prepare_all();
  print_head(names, function);
  for (const Instruction instruction : function.instructions()) {
    const size_t line_start = out_.size();
    out_ += "  ";
    print(names, instruction);
    print_place(instruction.location(), line_start);
    out_ += '\n';
  }
  out_ += "  return";
  if (!function.result_sizes().empty()) {
    out_ += ' ';
    print_sizes(function.result_sizes());
  }
  if (!function.results().empty()) out_ += ' ';
  print_values(names, function.results());
  out_ += "\n}\n";
}

void Printer::print_head(const ValueNames& names, const Function& function) {
  const Signature& signature = function.signature();
  const size_t line_start = out_.size();
  out_ += "func @";
  out_ += function.name();
  print_sizes(signature.size_parameters);
  out_ += '(';
  ValueId parameter = 0;
  print_list(signature.parameters, [&](const Type& type) {
    names.print(out_, parameter++);
    out_ += ": ";
    print_type(type);
  });
  out_ += ") -> ";
  if (!signature.result_sizes.empty()) {
    print_sizes(signature.result_sizes);
    out_ += ' ';
  }
  out_ += '(';
  print_list(signature.results, [&](const Type& type) { print_type(type); });
  out_ += ')';
  if (!signature.axes.axes.empty()) {
    out_ += " over {";
    print_list(signature.axes.axes, [&](const Mesh::Axis& axis) {
      out_ += axis.name;
      out_ += ": ";
      print_value(out_, axis.size);
    });
    out_ += '}';
  }
  if (!signature.facts.empty()) out_ += " where ";
  print_list(signature.facts, [&](const SizeFact& fact) { print_value(out_, fact); });
  out_ += " {";
  print_place(function.location(), line_start);
  out_ += '\n';
}

void Printer::print(const ValueNames& names, const Instruction& instruction) {
  const std::span<const Dim> new_sizes = instruction.size_results();
  const size_t results = instruction.result_count();
  print_sizes(new_sizes);
  if (!new_sizes.empty() && results > 0) out_ += ' ';
  for (size_t i = 0; i < results; ++i) {
    if (i > 0) out_ += ", ";
    names.print(out_, instruction.result(i));
  }
  if (!new_sizes.empty() || results > 0) out_ += " = ";
  out_ += instruction.primitive().name;
  print_sizes(instruction.size_arguments());
  if (!instruction.callees().empty()) {
    print_callees(names, instruction);
  } else if (!instruction.operands().empty()) {
    out_ += ' ';
    print_values(names, instruction.operands());
  }
  print_attributes(instruction.attributes());
  if (results > 0) out_ += " : ";
  print_list(instruction.result_types(), [&](const Type& type) { print_type(type); });
}

void Printer::print_callees(const ValueNames& names, const Instruction& instruction) {
  out_ += ' ';
  print_list(instruction.callees(), [&](const Callee& callee) {
    out_ += '@';
    out_ += callee.name;
    print_sizes(callee.sizes);
  });
  out_ += '(';
  print_values(names, instruction.operands());
  out_ += ')';
}

void Printer::print_attributes(const Attributes& attributes) {
  bool first = true;
  attributes.for_each_stated([&](const AttributeField& field, const void* value) {
    out_ += first ? " {" : ", ";
    first = false;
    out_ += field.name;
    out_ += " = ";
    if (field.ops == &attribute_value_ops<Literal>()) {
      print_literal(*static_cast<const Literal*>(value));
    } else {
      field.ops->print(out_, value);
    }
  });
  if (!first) out_ += '}';
}

void Printer::print_literal(const Literal& literal) {
  if (literal.is_splat() || literal.element_count() <= options_.literal_elements) {
    out_ += literal.text();
    return;
  }
  out_ += name_of(literal.dtype());
  out_ += '[';
  print_list(literal.sizes(), [&](int64_t size) { print_number(out_, size); });
  out_ += "](...)";
}

void Printer::print_values(const ValueNames& names, std::span<const ValueId> values) {
  print_list(values, [&](ValueId value) { names.print(out_, value); });
}

void Printer::print_type(const Type& type) {
  const auto [place, is_new] = type_texts_.try_emplace(type);
  if (is_new) place->second = type.text();
  out_ += place->second;
}

void Printer::print_sizes(std::span<const Dim> sizes) {
  if (sizes.empty()) return;
  out_ += '<';
  print_list(sizes, [&](Dim size) { print_value(out_, size); });
  out_ += '>';
}

void Printer::print_place(Location location, size_t line_start) {
  if (!options_.locations || !location.known()) return;
  const size_t end = out_.size(), width = end - line_start;
  out_.append(std::max(kLocationColumn, width + 1) - width, ' ');
  out_ += "; ";
  const size_t begin = out_.size();
  print_location(out_, location);
  if (out_.size() == begin) out_.resize(end);  // the location is unknown
}

}  // namespace

std::string print(const Program& program, const PrintOptions& options) {
  Printer printer(options);
  printer.print(program);
  return printer.take();
}

std::string print(const Function& function, const PrintOptions& options) {
  Printer printer(options);
  printer.print(function);
  return printer.take();
}

std::string print(const Instruction& instruction, const PrintOptions& options) {
  Printer printer(options);
  printer.print(ValueNames(instruction.function()), instruction);
  std::string line = printer.take();
  if (options.locations && instruction.location().known()) {
    std::string place;
    print_location(place, instruction.location());
    if (!place.empty()) line += "  ; " + place;
  }
  return line;
}

std::string value_name(const Function& function, ValueId value) {
  std::string name;
  ValueNames(function).print(name, value);
  return name;
}

bool is_unlabelled_name(std::string_view written, size_t parameter) {
  while (written.ends_with('_')) written.remove_suffix(1);
  return written == fmt::format("p{}", parameter);
}

std::string Program::text() const { return print(*this); }

}  // namespace plait::ir
