// Command-line options of the examples, each with a default, and --help.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace plait::examples {

class Arguments {
 public:
  explicit Arguments(const std::string& description);
  ~Arguments();

  // Adds an option that sets a variable. The variable's value is the default.
  Arguments& text(const std::string& name, std::string& variable, const std::string& description);
  Arguments& number(const std::string& name, double& variable, const std::string& description);
  Arguments& whole(const std::string& name, int64_t& variable, const std::string& description,
                   int64_t least = 0, int64_t most = 1'000'000);
  Arguments& one_of(const std::string& name, int64_t& variable, const std::string& description,
                    const std::vector<int64_t>& values);

  // Exits after --help or an invalid option.
  void parse(int argc, char** argv);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace plait::examples
