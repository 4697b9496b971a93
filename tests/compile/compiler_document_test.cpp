// docs/compiler.md: the program in it, and the output of each pass.
#include <fstream>
#include <map>
#include <sstream>

#include <gtest/gtest.h>

#include "plait/compile/inside/plans/plan.h"
#include "plait/compile/pass.h"
#include "plait/ir/text/printer.h"
#include "plait/ops/register_all.h"

namespace plait::compile {
namespace {

// The first block under each third-level heading; the program itself under "".
std::map<std::string, std::string> dumps() {
  const std::string path = std::string(PLAIT_SOURCE_DIR) + "/docs/compiler.md";
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  std::map<std::string, std::string> blocks;
  std::string heading, text;
  bool inside = false;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("### ")) {
      heading = line.substr(4);
    } else if (line == "```plait" || line == "```text") {
      inside = true;
    } else if (line.starts_with("```")) {
      if (inside) blocks.emplace(heading, text);
      inside = false;
      text.clear();
    } else if (inside) {
      text += line + "\n";
    }
  }
  return blocks;
}

std::string text_of(const ir::Program& program) {
  const std::string text = ir::print(program, {.locations = false});
  return text.substr(text.find("func"));
}

TEST(CompilerDocument, ShowsWhatThePassesMake) {
  if (find_target(Device::Kind::cpu) == nullptr)
    GTEST_SKIP() << "no code is generated in this build";
  register_all();
  const auto shown = dumps();
  ir::Program program = ir::Program::parse(shown.at(""));
  for (const Pass& pass : passes()) {
    if (pass.run == nullptr) continue;
    program = pass.run(program);
    EXPECT_EQ(text_of(program), shown.at(std::string(pass.name))) << pass.name;
  }
  EXPECT_EQ(plan_of(program, find_target(Device::Kind::cpu)).text(), shown.at("plan"));
}

}  // namespace
}  // namespace plait::compile
