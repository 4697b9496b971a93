// Where the rows of a text file begin, found when they are first asked for.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

namespace plait {

// A row of a file: from `begin`, and the place where the search for the next one begins.
struct RowPlace {
  size_t begin = 0, next = 0;
};

// Functions may be called by several threads. The place of one row in eight is kept, so that the
// index is at most as large as the file; the search begins there.
class RowIndex {
 public:
  // The first row at a position or after it; nothing if there are no more.
  using Find = std::function<std::optional<RowPlace>(size_t position)>;

  RowIndex(size_t begin, Find find) : find_(std::move(find)), position_(begin) {}

  int64_t count();  // searches to the end of the file
  // Where row i begins; nothing if there are not that many. Searches up to there.
  std::optional<size_t> place(int64_t i);

 private:
  bool extend();  // by one row; false at the end

  Find find_;
  std::mutex mutex_;
  std::vector<size_t> places_;
  size_t position_;
  int64_t found_ = 0;
  bool is_complete_ = false;
};

// The line that begins at a position, without its end.
std::string_view line_at(std::string_view text, size_t position);
// The next line; with `skips_blank` one that has more than spaces.
std::optional<RowPlace> find_line(std::string_view text, size_t position, bool skips_blank);
// True if a line has nothing but spaces, tabs and its end.
bool is_blank(std::string_view line);
// The number of the line at a position, from 1.
size_t line_number(std::string_view text, size_t position);
// The length of a byte order mark at the beginning: 3 or 0.
size_t mark_bytes(std::string_view text);

}  // namespace plait
