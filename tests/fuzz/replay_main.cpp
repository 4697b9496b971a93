// Runs a fuzz target on given inputs once, without a fuzzer: `replay FILE_OR_FOLDER...`.
#include <cstddef>
#include <cstdint>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/core.h>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> inputs_of(const fs::path& place) {
  if (!fs::is_directory(place)) return {place};
  std::vector<fs::path> inputs;
  for (const auto& entry : fs::recursive_directory_iterator(place)) {
    if (entry.is_regular_file()) inputs.push_back(entry.path());
  }
  return inputs;
}

// True when the target took the input. A crash ends the program with the input named last.
bool replay(const fs::path& input) {
  std::ifstream file(input, std::ios::binary);
  if (!file) {
    std::cerr << fmt::format("{}: cannot be read\n", input.string());
    return false;
  }
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  std::cout << input.filename().string() << std::endl;
  try {
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  } catch (const std::exception& failure) {
    std::cerr << fmt::format("{}: {}\n", input.string(), failure.what());
    return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  size_t total = 0, failed = 0;
  for (int i = 1; i < argc; ++i) {
    for (const fs::path& input : inputs_of(argv[i])) {
      ++total;
      if (!replay(input)) ++failed;
    }
  }
  std::cout << fmt::format("{} inputs, {} failed\n", total, failed);
  if (total == 0) std::cerr << "no inputs: an empty corpus tests nothing\n";
  return failed == 0 && total > 0 ? 0 : 1;
}
