#include "tests/cuda_emulator/libraries/compiler.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <dlfcn.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cuda_emulator/libraries/text.h"

extern char** environ;

namespace emulator {
namespace {

// A folder for the files of one compilation; removed with what is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "plait_emulator_XXXXXX").string();
    if (mkdtemp(pattern.data())) path_ = pattern;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  bool exists() const { return !path_.empty(); }
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

void write_file(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << text;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Runs a program with its messages in a file; true if it succeeds.
bool run_program(const std::vector<std::string>& words, const std::string& messages) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 2, messages.c_str(), O_WRONLY | O_CREAT | O_APPEND,
                                   0600);
  pid_t child = 0;
  const int failed =
      posix_spawnp(&child, arguments[0], &actions, nullptr, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed) {
    write_file(messages, "error: cannot run " + words[0] + "\n");
    return false;
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string compiler() {
  const char* chosen = std::getenv("PLAIT_EMULATED_COMPILER");
  return chosen && *chosen ? chosen : "g++";
}

// The path of this library, noted when it is loaded: a relative one is right only then.
const std::string& own_path() {
  static const std::string path = [] {
    Dl_info info;
    std::error_code ignored;
    if (!dladdr(reinterpret_cast<void*>(&compiler), &info)) return std::string();
    return std::filesystem::absolute(info.dli_fname, ignored).string();
  }();
  return path;
}
[[maybe_unused]] const bool kNotedAtLoad = !own_path().empty();

// Messages as NVRTC writes them, name(line): error: ..., without those of the text that the
// emulator puts before.
std::string readable_log(const std::string& messages) {
  std::istringstream lines(messages);
  std::string log;
  for (std::string line; std::getline(lines, line);) {
    size_t kind = std::string::npos;
    for (const char* word : {": error: ", ": warning: ", ": fatal error: "})
      kind = std::min(kind, line.find(word));
    if (kind == std::string::npos) continue;
    const std::string place = line.substr(0, kind);
    const size_t column = place.rfind(':');
    const size_t number =
        column == std::string::npos ? std::string::npos : place.rfind(':', column - 1);
    if (number == std::string::npos) {
      log += line + "\n";
      continue;
    }
    const std::string text = line.substr(line.find(' ', kind) + 1);
    log += place.substr(0, number) + "(" + place.substr(number + 1, column - number - 1) +
           "): " + text + "\n";
  }
  return log;
}

std::vector<std::string> preprocessing(const CompileRequest& request,
                                       const TemporaryFolder& folder) {
  const std::string architecture = std::to_string(request.architecture) + "0";
  std::vector<std::string> words = {compiler(),
                                    "-E",
                                    "-x",
                                    "c++",
                                    "-std=" + request.standard,
                                    "-nostdinc",
                                    "-D__CUDACC__=1",
                                    "-D__CUDACC_RTC__=1",
                                    "-D__NVCC__=1",
                                    "-D__CUDACC_VER_MAJOR__=12",
                                    "-D__CUDACC_VER_MINOR__=4",
                                    "-D__CUDA_ARCH__=" + architecture,
                                    "-I" + folder.file("include")};
  words.insert(words.end(), request.options.begin(), request.options.end());
  words.insert(words.end(), {folder.file("text.cu"), "-o", folder.file("text.ii")});
  return words;
}

// No contraction of products and sums, no exceptions; accesses in the order of the text.
std::vector<std::string> compiling(const CompileRequest& request, const TemporaryFolder& folder) {
  const bool gnu = request.standard.starts_with("c++");
  return {compiler(),
          "-shared",
          "-fPIC",
          "-O1",
          "-g1",
          "-gdwarf-4",
          gnu ? "-std=gnu" + request.standard.substr(1) : "-std=gnu++17",
          "-fsanitize=thread,alignment",
          "--param",
          "tsan-instrument-func-entry-exit=0",
          "-nostdlib",
          "-nostdinc",
          "-fno-exceptions",
          "-fno-gnu-unique",
          "-fno-rtti",
          "-fno-strict-aliasing",
          "-fwrapv",
          "-ffp-contract=off",
          "-fno-ipa-reference",
          "-fno-math-errno",
          "-fmax-errors=20",
          "-fno-diagnostics-show-caret",
          "-fdiagnostics-color=never",
          "-Wno-attributes",
          "-Wl,-Bsymbolic",
          "-Wl,--build-id=none",
          "-Wl,-z,noseparate-code",
          "-x",
          "c++",
          folder.file("unit.cpp"),
          "-x",
          "none",
          own_path(),
          "-o",
          folder.file("kernel.so")};
}

void write_inputs(const CompileRequest& request, const TemporaryFolder& folder) {
  write_file(folder.file("text.cu"), "# 1 \"" + request.name + "\"\n" + request.text);
  for (const char* name : {"cuda_fp16.h", "cuda_bf16.h", "cuda_runtime.h"})
    write_file(folder.file("include/") + name, "");
  for (const auto& [name, text] : request.headers) write_file(folder.file("include/") + name, text);
}

std::string short_file_names(std::string log, const TemporaryFolder& folder) {
  for (size_t at; (at = log.find(folder.file(""))) != std::string::npos;)
    log.erase(at, folder.file("").size());
  return log;
}

}  // namespace

Compiled compile(const CompileRequest& request) {
  Compiled result;
  const TemporaryFolder folder;
  const std::string messages = folder.file("messages");
  if (!folder.exists()) {
    result.log = "error: no folder for temporary files\n";
    return result;
  }
  write_inputs(request, folder);
  bool succeeds = run_program(preprocessing(request, folder), messages);
  if (succeeds) {
    HostText host = host_text(read_file(folder.file("text.ii")));
    write_file(folder.file("unit.cpp"), std::string(shim_language()) + std::string(shim_numbers()) +
                                            std::string(shim_math()) + host.text +
                                            kernel_table(host.kernels, request.architecture));
    succeeds = run_program(compiling(request, folder), messages);
  }
  const std::string said = short_file_names(read_file(messages), folder);
  result.log = readable_log(said);
  if (!succeeds && result.log.empty()) result.log = said;
  result.image = succeeds ? read_file(folder.file("kernel.so")) : "";
  result.is_compiled = succeeds && !result.image.empty();
  return result;
}

}  // namespace emulator
