// plait-ir: parses programs, and prints, checks, rewrites, draws, evaluates and compiles them.
#include <cstdio>
#include <exception>
#include <string>

#include "plait/core/error.h"
#include "plait/core/version.h"
#include "plait/ops/register_all.h"

#include "commands.h"

namespace {

constexpr int kFailure = 1, kWrongUse = 2;

int parse_and_run(int count, char** arguments) {
  CLI::App app(
      "Reads programs of the IR, and prints, checks, rewrites, draws, evaluates and compiles them.",
      "plait-ir");
  app.require_subcommand(1);
  app.set_version_flag("--version", "plait-ir " + std::string(plait::version()));
  app.footer(
      "`plait-ir COMMAND --help` describes each command.\nExample: plait-ir verify "
      "model.plait");
  std::function<void()> chosen;
  add_commands(app, chosen);
  try {
    app.parse(count, arguments);
    chosen();
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUse;
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    plait::register_all();
    return parse_and_run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plait-ir: %s\n", error.what());
    return kFailure;
  }
}
