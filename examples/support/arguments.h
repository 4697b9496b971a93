// What an example is told at the command line: options, each with a default, and --help.
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

  // An option that sets a variable, whose value is the default.
  Arguments& text(const std::string& name, std::string& variable, const std::string& description);
  Arguments& number(const std::string& name, double& variable, const std::string& description);
  Arguments& whole(const std::string& name, int64_t& variable, const std::string& description,
                   int64_t least = 0, int64_t most = 1'000'000);
  Arguments& one_of(const std::string& name, int64_t& variable, const std::string& description,
                    const std::vector<int64_t>& values);

  // Ends the program where help is asked for, or an option is wrong.
  void parse(int argc, char** argv);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace plait::examples
