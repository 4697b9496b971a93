#include "plait/io/inside/rows/csv_cells.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/core/text.h"

namespace plait {
namespace {

constexpr auto kNotFound = std::string_view::npos;
constexpr size_t kMostSearchedForEnd = size_t{1} << 16;

class CellCursor {
 public:
  CellCursor(std::string_view text, size_t position, const CsvDialect& dialect)
      : text_(text), position_(position), dialect_(dialect) {}

  size_t position() const { return position_; }
  bool at_end() const { return position_ >= text_.size(); }
  bool at_line_end() const {
    return at_end() || text_[position_] == '\n' || text_[position_] == '\r';
  }
  bool at_quote() const {
    return !at_end() && dialect_.quote != 0 && text_[position_] == dialect_.quote;
  }

  bool accept_separator() {
    if (at_end() || text_[position_] != dialect_.separator) return false;
    ++position_;
    return true;
  }

  // False at the end of the text.
  bool accept_line_end() {
    if (at_end()) return false;
    const char first = text_[position_++];
    if (first == '\r' && !at_end() && text_[position_] == '\n') ++position_;
    return true;
  }

  // After an error: to the end of the line, or of the text if the closing quote is missing.
  void pass_line() {
    position_ = std::min(text_.find_first_of("\r\n", position_), text_.size());
    accept_line_end();
  }

  std::string_view plain_cell() {
    const size_t begin = position_;
    const char separator = dialect_.separator;
    while (position_ < text_.size()) {
      const char next = text_[position_];
      if (next == separator || next == '\n' || next == '\r') break;
      ++position_;
    }
    return text_.substr(begin, position_ - begin);
  }

  // Between the quotes. `doubled` says whether quotes in it are doubled.
  std::string_view quoted_cell(bool& doubled) {
    const size_t opening = position_++;
    doubled = false;
    for (;;) {
      position_ = text_.find(dialect_.quote, position_);
      if (position_ == kNotFound) fail(opening, "the cell that begins here has no closing quote");
      if (position_ + 1 >= text_.size() || text_[position_ + 1] != dialect_.quote) break;
      doubled = true;
      position_ += 2;
    }
    const std::string_view cell = text_.substr(opening + 1, position_ - opening - 1);
    ++position_;
    if (!at_line_end() && text_[position_] != dialect_.separator) {
      fail(position_,
           fmt::format("expected {} or the end of the line after a closing quote, found {}",
                       in_quotes({&dialect_.separator, 1}), in_quotes(text_.substr(position_, 1))));
    }
    return cell;
  }

 private:
  [[noreturn]] void fail(size_t position, std::string_view message) const {
    throw ParseError("line {}: {}", line_number(text_, position), message);
  }

  std::string_view text_;
  size_t position_;
  const CsvDialect& dialect_;
};

std::string with_single_quotes(std::string_view cell, char quote) {
  std::string text;
  text.reserve(cell.size());
  for (size_t i = 0; i < cell.size(); ++i) {
    text += cell[i];
    if (cell[i] == quote) ++i;
  }
  return text;
}

// Where the next row begins, if this one has no quotes and ends with \n: the usual one, found by
// searching for bytes. The search is short, since a text may have no \n at all.
std::optional<size_t> simple_end(std::string_view text, size_t position, char quote) {
  const size_t length = text.substr(position, kMostSearchedForEnd).find('\n');
  if (length == kNotFound) return std::nullopt;
  const std::string_view line = text.substr(position, length);
  const size_t carriage = line.find('\r');
  if (carriage != kNotFound && carriage + 1 != line.size()) return std::nullopt;
  if (quote != 0 && line.find(quote) != kNotFound) return std::nullopt;
  return position + length + 1;
}

}  // namespace

void read_csv_cells(std::string_view text, size_t position, const CsvDialect& dialect,
                    CsvCells& row) {
  row.cells.clear();
  row.unquoted.clear();
  CellCursor cursor(text, position, dialect);
  try {
    do {
      if (!cursor.at_quote()) {
        row.cells.push_back(cursor.plain_cell());
        continue;
      }
      bool doubled = false;
      const std::string_view cell = cursor.quoted_cell(doubled);
      if (doubled) row.unquoted.push_front(with_single_quotes(cell, dialect.quote));
      row.cells.push_back(doubled ? std::string_view(row.unquoted.front()) : cell);
    } while (cursor.accept_separator());
  } catch (const ParseError&) {
    cursor.pass_line();
    row.next = cursor.position();
    throw;
  }
  row.is_terminated = cursor.accept_line_end();
  row.next = cursor.position();
}

std::optional<size_t> csv_row_begin(std::string_view text, size_t position) {
  while (position < text.size() && (text[position] == '\n' || text[position] == '\r')) ++position;
  return position < text.size() ? std::optional(position) : std::nullopt;
}

std::optional<RowPlace> find_csv_row(std::string_view text, size_t position,
                                     const CsvDialect& dialect) {
  const auto begin = csv_row_begin(text, position);
  if (!begin) return std::nullopt;
  if (const auto end = simple_end(text, *begin, dialect.quote)) return RowPlace{*begin, *end};
  CellCursor cursor(text, *begin, dialect);
  do {
    bool doubled = false;
    cursor.at_quote() ? cursor.quoted_cell(doubled) : cursor.plain_cell();
  } while (cursor.accept_separator());
  cursor.accept_line_end();
  return RowPlace{*begin, cursor.position()};
}

}  // namespace plait
