// The lines of a text file, by their number.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace plait {

// Lines end with \n or \r\n, which are not part of them; the last one may have no end. The file is
// mapped, and searched for lines when they are first asked for. Functions may be called by several
// threads. The content of a file that is compressed by gzip is kept in memory.
class TextLines {
 public:
  explicit TextLines(const std::string& path);
  ~TextLines();
  TextLines(TextLines&&) noexcept;
  TextLines& operator=(TextLines&&) noexcept;

  int64_t size() const;  // searches the whole file
  // Valid as long as this object is. IndexError past the last line; ParseError with file and line
  // if it is not UTF-8.
  std::string_view line(int64_t i) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plait
