// Compiles CUDA C++ for the emulator with the host's compiler.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace emulator {

struct CompileRequest {
  std::string text;
  std::string name;                                          // names the text in messages
  std::vector<std::pair<std::string, std::string>> headers;  // names and texts
  std::vector<std::string> options;                          // -D, -U and -I
  std::string standard = "c++17";
  int architecture = 90;
};

struct Compiled {
  bool is_compiled = false;
  std::string log;
  std::string image;  // a shared object
};

Compiled compile(const CompileRequest& request);

}  // namespace emulator
