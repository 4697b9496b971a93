#include "run.h"

#include <charconv>

#include "plait/core/element_text.h"
#include "plait/core/error.h"
#include "plait/ir/evaluator.h"

#include "tests/support/scalar_machine.h"

using namespace plait;
using namespace plait::ir;

namespace {

double read_element(TextReader& reader, DType dtype) {
  if (dtype == DType::boolean) {
    if (reader.accept_word("true")) return 1;
    if (reader.accept_word("false")) return 0;
    reader.fail("expected true or false, found {}", reader.found());
  }
  return is_integer(dtype) ? static_cast<double>(reader.integer()) : read_real(reader);
}

Value read_array(TextReader& reader, const Type& type, ScalarMachine& machine) {
  if (reader.accept("[")) {
    std::vector<double> elements;
    if (!reader.accept("]")) {
      do elements.push_back(read_element(reader, type.dtype()));
      while (reader.accept(","));
      reader.expect("]");
    }
    return machine.vector(type.dtype(), std::move(elements));
  }
  bool is_literal = reader.next_is_name() && !reader.next_is_word("true") &&
                    !reader.next_is_word("false") && !reader.next_is_word("inf") &&
                    !reader.next_is_word("nan");
  if (is_literal) return machine.literal(parse_literal(reader));
  return machine.scalar(type.dtype(), read_element(reader, type.dtype()));
}

Value read_value(TextReader& reader, const Type& type, ScalarMachine& machine) {
  if (type.is_optional()) {
    if (reader.accept_word("absent")) return Value::absent();
    return Value::present(read_value(reader, type.element(), machine));
  }
  if (!type.is_array())
    throw ValueError("an argument of type {} can't be written on the command line", type.text());
  return read_array(reader, type, machine);
}

Value parse_argument(const std::string& text, const Type& type, ScalarMachine& machine) {
  TextReader reader(text);
  Value value = read_value(reader, type, machine);
  if (!reader.at_end()) reader.fail("expected the end of the argument, found {}", reader.found());
  return value;
}

void set_size(SymbolMap<int64_t>& sizes, const std::string& text) {
  size_t equals = text.find('=');
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const char* number = text.data() + (equals == std::string::npos ? text.size() : equals + 1);
  auto [stop, error] = std::from_chars(number, end, value);
  if (equals == std::string::npos || error != std::errc() || stop != end || value < 0)
    throw ValueError("--size {}: expected name=number", text);
  sizes.set(Dim::symbol(text.substr(0, equals)), value);
}

}  // namespace

std::string run(const Program& program, const RunOptions& options) {
  const Function& function =
      options.function.empty() ? program.entry() : program.function(options.function);
  const std::vector<Type>& parameters = function.signature().parameters;
  if (options.arguments.size() != parameters.size())
    throw ValueError("@{} takes {} arguments, {} are given", function.name(), parameters.size(),
                     options.arguments.size());
  ScalarMachine machine;
  std::vector<Value> arguments;
  for (size_t i = 0; i < parameters.size(); ++i) {
    try {
      arguments.push_back(parse_argument(options.arguments[i], parameters[i], machine));
    } catch (Error& error) {
      error.set_hint(
          fmt::format("argument {} of @{} is {}", i, function.name(), parameters[i].text()));
      throw;
    }
  }
  EvaluatorOptions evaluation{.check_types = true};
  for (const std::string& size : options.sizes) set_size(evaluation.sizes, size);
  Evaluated evaluated = evaluate_function(program, function.name(), machine, arguments, evaluation);
  std::string out;
  for (const std::string& line : machine.printed()) out += line + "\n";
  for (size_t i = 0; i < evaluated.sizes.size(); ++i)
    out +=
        fmt::format("{} = {}\n", function.signature().result_sizes[i].text(), evaluated.sizes[i]);
  for (const Value& value : evaluated.results) out += ScalarMachine::text(value) + "\n";
  return out;
}
