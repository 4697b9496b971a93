// The values of a JSONL file, one a line, by their number.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace plait {

class Json;

// Blank lines are skipped. The file is mapped, and searched for lines when they are first asked
// for. Functions may be called by several threads. The content of a file that is compressed by gzip
// is kept in memory.
class JsonlFile {
 public:
  explicit JsonlFile(const std::string& path);
  ~JsonlFile();
  JsonlFile(JsonlFile&&) noexcept;
  JsonlFile& operator=(JsonlFile&&) noexcept;

  int64_t size() const;  // searches the whole file
  // IndexError past the last row; ParseError with file and line if it is not JSON. The text is
  // valid as long as this object is.
  std::string_view text(int64_t i) const;
  Json value(int64_t i) const;  // for the sources of Plait

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plait
