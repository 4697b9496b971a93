// Random programs: after any conversion or rewriting they are the same program and compute the same
// results.
#include <cstring>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "plait/ir/analysis/identity.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/evaluation/evaluator.h"
#include "plait/ir/rewriting/pattern.h"
#include "plait/ir/rewriting/prune.h"
#include "plait/ir/rewriting/rewrite.h"

#include "tests/support/programs/outlined.h"
#include "tests/support/programs/random_program.h"
#include "tests/support/scalar_machine.h"

namespace plait::ir {
namespace {

Program drawn_program() {
  uint64_t seed = *rc::gen::arbitrary<uint64_t>();
  int size = *rc::gen::inRange(1, 40);
  return random_program(seed, size);
}

// The results' bits, as text.
std::string outcome(const Program& program, const std::vector<double>& vector) {
  ScalarMachine machine;
  std::vector<Value> arguments{machine.scalar(DType::f64, 0.75), machine.vector(DType::f64, vector),
                               machine.from_boolean(vector.size() % 2 == 0)};
  std::string bits;
  for (const Value& value : evaluate(program, machine, arguments, {.check_types = true})) {
    for (double element : ScalarMachine::elements(value)) {
      uint64_t word;
      std::memcpy(&word, &element, sizeof word);
      bits += std::isnan(element) ? "nan " : fmt::format("{:x} ", word);
    }
    bits += "| ";
  }
  return bits;
}

void expect_same_outcome(const Program& a, const Program& b) {
  for (size_t n : {0, 1, 5}) {
    std::vector<double> vector;
    for (size_t i = 0; i < n; ++i) vector.push_back(1.5 - static_cast<double>(i));
    RC_ASSERT(outcome(a, vector) == outcome(b, vector));
  }
}

RC_GTEST_PROP(RandomProgram, PrintsAndParsesToItself, ()) {
  Program program = drawn_program();
  verify(program);
  std::string text = program.text();
  Program again = Program::parse(text);
  RC_ASSERT(again.text() == text);
  RC_ASSERT(same(program, 0, again, 0));
  expect_same_outcome(program, again);
}

RC_GTEST_PROP(RandomProgram, WritesAndReadsItself, ()) {
  Program program = drawn_program();
  Program again = Program::from_bytes(program.bytes());
  RC_ASSERT(again.text() == program.text());
  RC_ASSERT(same(program, 0, again, 0));
}

RC_GTEST_PROP(RandomProgram, PruningKeepsResults, ()) {
  Program program = drawn_program();
  Program pruned = prune(program);
  verify(pruned, "prune");
  RC_ASSERT(pruned.entry().size() <= program.entry().size());
  expect_same_outcome(program, pruned);
}

RC_GTEST_PROP(RandomProgram, RewritingByTrueRulesKeepsResults, ()) {
  Program program = drawn_program();
  Rewriter rewriter({parse_rule("subtract(?x, ?y) => add(?x, negate(?y))"),
                     parse_rule("negate(negate(?x)) => ?x")});
  Program rewritten = rewriter.rewrite(program);
  verify(rewritten, "rewrite");
  for (const auto& function : rewritten.functions()) {
    for (Instruction i : function->instructions()) RC_ASSERT(i.primitive().name != "subtract");
  }
  expect_same_outcome(program, rewritten);
}

// Random parts that are disjoint or nested.
std::vector<Part> drawn_parts(size_t begin, size_t end) {
  std::vector<Part> parts;
  while (begin < end) {
    const size_t first = *rc::gen::inRange(begin, end);
    const size_t behind = *rc::gen::inRange(first, end + 1);
    if (behind > first && behind - first < end - begin) {
      const std::vector<Part> within = drawn_parts(first, behind);
      parts.insert(parts.end(), within.begin(), within.end());
    }
    if (behind > first) parts.push_back({first, behind, "part"});
    begin = behind + 1;
  }
  return parts;
}

RC_GTEST_PROP(RandomProgram, PartsBecomeFunctions, ()) {
  Program program = drawn_program();
  const Program decomposition = outlined(program, drawn_parts(0, program.entry().size()));
  verify(decomposition, "outline");
  expect_same_outcome(program, decomposition);
}

}  // namespace
}  // namespace plait::ir
