// The examples of docs/ir.md: each parses, verifies, prints and parses back; each instruction of
// the IR has one. The commands of docs/compiler.md, which give what stands below them.
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "plait/compile/inside/targets/target.h"
#include "plait/ir/primitive.h"
#include "plait/ir/program.h"
#include "plait/ir/text/printer.h"
#include "plait/ops/register_all.h"

#include "tests/support/scalar_ops.h"
#include "tests/tools/plait_ir.h"

namespace plait::ir {
namespace {

// Contents of the blocks of a document that are in this language.
std::vector<std::string> examples_of(const std::string& path,
                                     const std::string& language = "plait") {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::vector<std::string> examples;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("```")) {
      inside = line == "```" + language;
      if (inside) examples.emplace_back();
    } else if (inside) {
      examples.back() += line + "\n";
    }
  }
  return examples;
}

// The table of operations, and from the tests' own primitives the collective.
void register_primitives() {
  register_all();
  register_scalar_ops();
}

const std::string kDocument = std::string(PLAIT_SOURCE_DIR) + "/docs/ir.md";

TEST(IrDocument, ExamplesRoundTrip) {
  register_primitives();
  std::vector<std::string> examples = examples_of(kDocument);
  EXPECT_GE(examples.size(), 8u);
  for (const std::string& example : examples) {
    SCOPED_TRACE(example);
    Program program = Program::parse(example);
    std::string text = program.text();
    EXPECT_EQ(Program::parse(text).text(), text);
    EXPECT_EQ(Program::from_bytes(program.bytes()).text(), text);
  }
}

TEST(IrDocument, EveryInstructionHasAnExample) {
  register_primitives();
  std::set<std::string> shown;
  for (const std::string& example : examples_of(kDocument)) {
    Program program = Program::parse(example);
    for (const auto& function : program.functions()) {
      for (Instruction i : function->instructions()) shown.insert(i.primitive().name);
    }
  }
  for (const Primitive* p : primitives()) {
    EXPECT_TRUE(p->structure == Structure::machine || shown.contains(p->name)) << p->name;
  }
}

// With the first program of the document in layer.plait.
TEST_F(PlaitIr, GivesWhatTheCompilersDocumentSays) {
  if (compile::find_target(Device::Kind::cpu) == nullptr)
    GTEST_SKIP() << "no code is generated in this build";
  const std::string document = std::string(PLAIT_SOURCE_DIR) + "/docs/compiler.md";
  file("layer.plait", examples_of(document).at(0));
  const std::vector<std::string> blocks = examples_of(document, "console");
  ASSERT_FALSE(blocks.empty());
  std::string expected, found;
  for (const std::string& block : blocks) {
    expected += block;
    std::istringstream lines(block);
    for (std::string line; std::getline(lines, line);) {
      const std::string prompt = "$ plait-ir ";
      if (!line.starts_with(prompt)) continue;
      const Outcome done = run(line.substr(prompt.size()), "cd " + folder.string() + " && ");
      found += line + "\n" + done.output + done.errors;
    }
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace plait::ir
