#include "files.h"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plait/core/error.h"

namespace {

using plait::IoError;

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, Close>;

[[noreturn]] void fail(std::string_view path, std::string_view what) {
  throw IoError("{}: {}: {}", path, what, std::strerror(errno));
}

std::string read_from(std::FILE* file, const std::string& path) {
  std::string content;
  char buffer[65536];
  while (size_t count = std::fread(buffer, 1, sizeof buffer, file)) content.append(buffer, count);
  if (std::ferror(file)) fail(path, "cannot read");
  return content;
}

void write_to(std::FILE* file, const std::string& path, std::string_view content) {
  if (std::fwrite(content.data(), 1, content.size(), file) != content.size() ||
      std::fflush(file) != 0)
    fail(path, "cannot write");
}

// A temporary file for another program, removed on destruction.
class TemporaryFile {
 public:
  TemporaryFile() : path_((std::filesystem::temp_directory_path() / "plait-ir-XXXXXX").string()) {
    int descriptor = mkstemp(path_.data());
    if (descriptor < 0) fail(path_, "cannot create a temporary file");
    close(descriptor);
  }
  ~TemporaryFile() { std::remove(path_.c_str()); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace

std::string read_all(const std::string& path) {
  if (path == "-") return read_from(stdin, "standard input");
  if (std::filesystem::is_directory(path)) throw IoError("{} is a directory", path);
  File file(std::fopen(path.c_str(), "rb"));
  if (!file) fail(path, "cannot open");
  return read_from(file.get(), path);
}

void write_all(const std::string& path, std::string_view content) {
  if (path.empty() || path == "-") return write_to(stdout, "standard output", content);
  File file(std::fopen(path.c_str(), "wb"));
  if (!file) fail(path, "cannot open");
  write_to(file.get(), path, content);
}

plait::ir::Program read_program(const std::string& path) {
  std::string content = read_all(path);
  try {
    if (content.starts_with("PLIR")) return plait::ir::Program::from_bytes(content);
    return plait::ir::Program::parse(content);
  } catch (plait::Error& error) {
    std::string hint = "in " + (path == "-" ? "standard input" : path);
    error.set_hint(error.hint().empty() ? hint : hint + "; " + error.hint());
    throw;
  }
}

std::string svg_of(const std::string& dot) {
  TemporaryFile graph, drawing;
  write_all(graph.path(), dot);
  std::string arguments[] = {"dot", "-Tsvg", "-o", drawing.path(), graph.path()};
  char* pointers[] = {arguments[0].data(), arguments[1].data(), arguments[2].data(),
                      arguments[3].data(), arguments[4].data(), nullptr};
  pid_t process = 0;
  errno = posix_spawnp(&process, "dot", nullptr, nullptr, pointers, environ);
  if (errno != 0)
    throw IoError("cannot run Graphviz's `dot`: {}", std::strerror(errno))
        .hint("install graphviz, or print the graph itself: plait-ir dot");
  int status = 0;
  while (waitpid(process, &status, 0) < 0)
    if (errno != EINTR) fail("dot", "cannot wait for it");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
    throw IoError("Graphviz's `dot` failed with status {}", status);
  return read_all(drawing.path());
}
