#include "arguments.h"

#include <cstdlib>

#include <CLI/CLI.hpp>

namespace plait::examples {

struct Arguments::Parser {
  explicit Parser(const std::string& description) : app(description) {}
  CLI::App app;
};

Arguments::Arguments(const std::string& description)
    : parser_(std::make_unique<Parser>(description)) {}
Arguments::~Arguments() = default;

Arguments& Arguments::text(const std::string& name, std::string& variable,
                           const std::string& description) {
  parser_->app.add_option(name, variable, description)->capture_default_str();
  return *this;
}

Arguments& Arguments::number(const std::string& name, double& variable,
                             const std::string& description) {
  parser_->app.add_option(name, variable, description)->capture_default_str();
  return *this;
}

Arguments& Arguments::whole(const std::string& name, int64_t& variable,
                            const std::string& description, int64_t least, int64_t most) {
  parser_->app.add_option(name, variable, description)
      ->capture_default_str()
      ->check(CLI::Range(least, most));
  return *this;
}

Arguments& Arguments::one_of(const std::string& name, int64_t& variable,
                             const std::string& description, const std::vector<int64_t>& values) {
  parser_->app.add_option(name, variable, description)
      ->capture_default_str()
      ->check(CLI::IsMember(values));
  return *this;
}

void Arguments::parse(int argc, char** argv) {
  try {
    parser_->app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(parser_->app.exit(error));
  }
}

}  // namespace plait::examples
