// Type rules get unexpected operands and attributes: mutants of the valid ones in the fuzzers'
// corpus. Each is either accepted, and then every form of the program is the same program, or
// refused by an error of Plait.
//
// PLAIT_HOSTILE_PRIMITIVE=sort reports each attempt with that primitive; PLAIT_HOSTILE_SEED=2 makes
// other mutants.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/core/hash.h"
#include "plait/core/text.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/builder.h"
#include "plait/ir/evaluation/evaluator.h"
#include "plait/ir/primitive.h"
#include "plait/ops/effects/print.h"
#include "plait/ops/random/random.h"
#include "plait/ops/register_all.h"
#include "plait/tensor/array_machine.h"

#include "tests/support/files.h"

namespace plait {
namespace {

constexpr int kTries = 1500;  // per primitive
constexpr int64_t kMostElements = 10'000;

// An instruction without its program.
struct Example {
  const ir::Primitive* primitive = nullptr;
  std::vector<ir::Type> operands = {};
  std::string attributes = {};  // as text, with the closing brace
};
using Examples = std::map<std::string, std::vector<Example>>;  // by primitive

void add_examples(const ir::Function& function, Examples& examples) {
  for (const ir::Instruction instruction : function.instructions()) {
    const ir::Primitive& primitive = instruction.primitive();
    if (primitive.structure != ir::Structure::machine) continue;
    Example example{.primitive = &primitive};
    for (size_t i = 0; i < instruction.operands().size(); ++i) {
      example.operands.push_back(instruction.operand_type(i));
    }
    example.attributes = instruction.attributes().text() + "}";
    examples[primitive.name].push_back(std::move(example));
  }
}

const Examples& corpus() {
  static const Examples examples = [] {
    Examples found;
    const std::string folder = std::string(PLAIT_SOURCE_DIR) + "/tests/fuzz/corpus/text/ops";
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      const ir::Program program = ir::Program::parse(text_of_file(entry.path()));
      for (const auto& function : program.functions()) add_examples(*function, found);
    }
    return found;
  }();
  return examples;
}

class Mutator {
 public:
  explicit Mutator(uint64_t seed) : random_(seed) {}

  size_t below(size_t count) {
    return std::uniform_int_distribution<size_t>(0, count - 1)(random_);
  }
  bool chance(int percent) { return below(100) < static_cast<size_t>(percent); }
  template <class T>
  const T& one_of(const std::vector<T>& choices) {
    return choices[below(choices.size())];
  }

  Example mutated(const Example& example) {
    Example other = example;
    const size_t changes = 1 + below(3);
    for (size_t i = 0; i < changes; ++i) {
      if (other.attributes.size() > 1 && chance(60)) {
        other.attributes = mutated_attributes(std::move(other.attributes));
      } else {
        mutate_operands(other.operands);
      }
    }
    return other;
  }

 private:
  static const std::vector<Dim>& sizes() {
    static const Dim n = Dim::symbol("n"), m = Dim::symbol("m");
    static const std::vector<Dim> sizes = {0,         1,         2,         3,
                                           4,         5,         8,         1000,
                                           n,         m,         n + 1,     n * 2,
                                           n - 5,     m * n,     max(n, m), 1 << 16,
                                           1LL << 31, 1LL << 32, 1LL << 61, (1LL << 62) - 1};
    return sizes;
  }

  DType any_dtype() { return kDTypes[below(std::size(kDTypes))].dtype; }

  ir::Type any_type(const ir::Type& old) {
    switch (below(8)) {
      case 0: return ir::Type::tuple({old, old});
      case 1: return ir::Type::optional(old);
      case 2:
        return ir::Type::array(any_dtype(), Shape(std::vector<Dim>(below(9), one_of(sizes()))));
      default: break;
    }
    if (!old.is_array()) return ir::Type::scalar(any_dtype());
    if (chance(25)) return old.with_dtype(any_dtype());
    std::vector<Dim> dims(old.shape().begin(), old.shape().end());
    const size_t at = below(dims.size() + 1);
    const auto place = dims.begin() + static_cast<ptrdiff_t>(at);
    if (at == dims.size() || chance(20)) {
      dims.insert(place, one_of(sizes()));
    } else if (chance(25)) {
      dims.erase(place);
    } else {
      dims[at] = chance(30) ? dims[below(dims.size())] : one_of(sizes());
    }
    return ir::Type::array(old.dtype(), Shape(dims));
  }

  void mutate_operands(std::vector<ir::Type>& operands) {
    if (operands.empty() || chance(5)) {
      operands.push_back(operands.empty() ? ir::Type::scalar(DType::f32) : one_of(operands));
    } else if (chance(5)) {
      operands.erase(operands.begin() + static_cast<ptrdiff_t>(below(operands.size())));
    } else if (chance(10)) {
      std::swap(operands[0], operands[below(operands.size())]);
    } else {
      ir::Type& operand = operands[below(operands.size())];
      const ir::Type changed = any_type(operand);
      const ir::Type old = operand;
      for (ir::Type& each : operands) {  // equal types stay equal half of the time
        if (&each == &operand || (each == old && chance(50))) each = changed;
      }
    }
  }

  // Replaces a word of the text: a number, a name, or a list of these.
  std::string any_word(const std::string& old) {
    static const std::vector<std::string> words = {"0",
                                                   "1",
                                                   "2",
                                                   "3",
                                                   "-1",
                                                   "-2",
                                                   "5",
                                                   "64",
                                                   "65536",
                                                   "2147483648",
                                                   "4294967297",
                                                   "2305843009213693952",
                                                   "4611686018427387903",
                                                   "-4611686018427387904",
                                                   "9223372036854775807",
                                                   "-9223372036854775808",
                                                   "n",
                                                   "n - 3",
                                                   "2*n",
                                                   "m*n",
                                                   "n//2",
                                                   "true",
                                                   "false",
                                                   "[]",
                                                   "[0, 0]",
                                                   "[1, 0]",
                                                   "[-1]",
                                                   "[2147483648]",
                                                   "nan",
                                                   "inf",
                                                   "-1e300",
                                                   "f32",
                                                   "i64",
                                                   "key",
                                                   "bool",
                                                   "c64"};
    return chance(10) ? old + ", " + old : one_of(words);
  }

  std::string mutated_attributes(std::string text) {
    std::vector<std::pair<size_t, size_t>> words;  // begin and end of each value in the text
    for (size_t i = 0; i < text.size();) {
      const auto is_part = [&](size_t k) {
        return k < text.size() &&
               std::string_view(" ,[]{}=").find(text[k]) == std::string_view::npos;
      };
      size_t end = i;
      while (is_part(end)) ++end;
      if (end > i && text.compare(end, 2, " =") != 0) words.emplace_back(i, end);
      i = std::max(end, i + 1);
    }
    const size_t opening = text.find('['), closing = text.find(']');
    if (opening != std::string::npos && chance(15)) {
      return text.replace(opening, closing + 1 - opening, any_word("[]"));
    }
    if (words.empty()) return text;
    const auto [begin, end] = one_of(words);
    return text.replace(begin, end - begin, any_word(text.substr(begin, end - begin)));
  }

  std::mt19937_64 random_;
};

// A program of this instruction only; throws an error of Plait if it is refused.
ir::Program build(const Example& example) {
  ir::ProgramBuilder whole;
  ir::FunctionBuilder builder = whole.function("main");
  const auto declare_sizes = [&](Dim dim) {
    dim.for_each_symbol([&](Dim symbol) {
      if (!builder.has_size(std::string(symbol.name()))) builder.size_parameter(symbol.name());
    });
  };
  for (const char* name : {"n", "m"}) declare_sizes(Dim::symbol(name));
  ir::AxisSet axes;
  for (const ir::Type& type : example.operands) {
    type.for_each_dim(declare_sizes);
    axes.insert(type.all_varying());
  }
  for (const std::string& axis : axes) builder.axis(axis, 4);
  TextReader reader(example.attributes);
  ir::Attributes attributes;
  if (example.primitive->attributes != nullptr) {
    attributes = ir::Attributes::parse(example.primitive->attributes, reader);
  }
  std::vector<ir::ValueId> operands;
  for (const ir::Type& type : example.operands) operands.push_back(builder.parameter(type));
  builder.add({.primitive = *example.primitive, .operands = operands, .attributes = attributes});
  whole.add(builder.finish({}));
  ir::Program program = whole.finish();
  ir::verify(program);
  return program;
}

std::string example_text(const Example& example) {
  std::string text = example.primitive->name + "(";
  for (const ir::Type& type : example.operands) text += type.text() + ", ";
  return text + ") {" + example.attributes;
}

void expect_read_again(const ir::Program& program, const std::string& text) {
  try {
    if (ir::Program::parse(text).text() == text &&
        ir::Program::from_bytes(program.bytes()).text() == text) {
      return;
    }
  } catch (const Error& error) {
    throw std::logic_error(fmt::format("is not read again: {}\n{}", error.what(), text));
  }
  throw std::logic_error("another program when it is read again:\n" + text);
}

// Calls `check` with many mutants, and reports those for which it throws anything but an error of
// Plait.
template <class Check>
void for_each_mutant(int tries, Check check) {
  const char* const only = std::getenv("PLAIT_HOSTILE_PRIMITIVE");
  const char* const seed = std::getenv("PLAIT_HOSTILE_SEED");
  for (const auto& [name, examples] : corpus()) {
    if (only != nullptr && name != only) continue;
    Mutator mutator(hash_bytes(name) + (seed == nullptr ? 0 : std::stoull(seed)));
    for (int i = 0; i < tries; ++i) {
      const Example mutant = mutator.mutated(mutator.one_of(examples));
      if (only != nullptr) fprintf(stderr, "%s\n", example_text(mutant).c_str());
      try {
        check(mutant, mutator);
      } catch (const Error&) {
      } catch (const std::exception& other) {
        ADD_FAILURE() << example_text(mutant) << "\n" << other.what();
        break;
      }
    }
  }
}

// The table before tests declare their own primitives.
std::vector<const ir::Primitive*> table;
class Table : public testing::Environment {
 public:
  void SetUp() override {
    register_all();
    table = ir::primitives();
  }
};
const testing::Environment* const environment = testing::AddGlobalTestEnvironment(new Table);

TEST(Hostile, EveryPrimitiveHasAnExampleInTheCorpus) {
  for (const ir::Primitive* primitive : table) {
    if (primitive->structure != ir::Structure::machine) continue;
    EXPECT_TRUE(corpus().contains(primitive->name))
        << primitive->name << ": add one to tests/fuzz/corpus/text/ops";
  }
}

// Sizes are known to be nonnegative, or checked at run time.
void expect_sizes(const ir::Program& program) {
  for (const ir::Instruction instruction : program.entry().instructions()) {
    for (const ir::Type& type : instruction.result_types()) {
      type.for_each_dim([&](Dim size) {
        if (size.is_number() && size.number() < 0) throw std::logic_error("gives " + type.text());
      });
    }
  }
}

TEST(Hostile, TypeRulesTakeOrRefuse) {
  int taken = 0, all = 0;
  for_each_mutant(kTries, [&](const Example& mutant, Mutator&) {
    ++all;
    const ir::Program program = build(mutant);
    const std::string text = program.text();
    ++taken;
    expect_sizes(program);
    expect_read_again(program, text);
  });
  // The mutants are neither all nonsense nor all harmless.
  EXPECT_GT(taken, all / 10);
  EXPECT_LT(taken, all - all / 10);
}

// ---- Accepted programs are computed, or refused at run time.

// Also counts empty samples: each is printed.
void expect_small(const ir::Type& type, const SymbolMap<int64_t>& sizes) {
  int64_t count = 1;
  for (const int64_t size : type.shape().evaluate(sizes)) {
    if (size > kMostElements / count) throw ValueError("too large to be tried");
    count *= std::max<int64_t>(size, 1);
  }
}

Array array_of(const ir::Type& type, const SymbolMap<int64_t>& sizes, Mutator& random) {
  expect_small(type, sizes);
  const Sizes shape(type.shape().evaluate(sizes));
  Array numbers = Array::empty(DType::i64, shape);
  for (int64_t& number : numbers.writable_elements<int64_t>()) {
    number = static_cast<int64_t>(random.below(9)) - 3;
  }
  if (type.dtype() != DType::key) return numbers.converted(type.dtype());
  return random::key(Tensor(std::move(numbers))).array();
}

void expect_small_results(const ir::Program& program, const SymbolMap<int64_t>& sizes) {
  for (const ir::Instruction instruction : program.entry().instructions()) {
    if (!instruction.size_results().empty()) return;
    for (const ir::Type& type : instruction.result_types()) expect_small(type, sizes);
  }
}

TEST(Hostile, KernelsComputeOrRefuse) {
  const PrintSink former = set_print_sink([](std::string_view) {});
  TensorMachine machine;
  int computed = 0;
  for_each_mutant(kTries, [&](const Example& mutant, Mutator& random) {
    const ir::Program program = build(mutant);
    ir::EvaluatorOptions options{.check_types = true};
    for (const Dim size : program.entry().signature().size_parameters) {
      options.sizes.set(size, static_cast<int64_t>(random.below(8)));
    }
    expect_small_results(program, options.sizes);
    std::vector<ir::Value> arguments;
    for (const ir::Type& type : program.entry().signature().parameters) {
      arguments.push_back(TensorMachine::value_of(array_of(type, options.sizes, random)));
    }
    ir::evaluate(program, machine, arguments, options);
    ++computed;
  });
  EXPECT_GT(computed, 1000);
  set_print_sink(former);
}

}  // namespace
}  // namespace plait
