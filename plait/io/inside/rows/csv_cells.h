// The cells of CSV files (RFC 4180).
#pragma once

#include <cstddef>
#include <forward_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plait/io/inside/rows/row_index.h"

namespace plait {

struct CsvDialect {
  char separator = ',';
  char quote = '"';  // 0: none
};

struct CsvCells {
  std::vector<std::string_view> cells = {};      // cells of the text, or of `unquoted`
  std::forward_list<std::string> unquoted = {};  // texts of cells with quotes inside
  bool is_terminated = false;                    // an end of line follows
  size_t next = 0;                               // where the next row begins
};

// Reads the row at a position. A row ends with \n, \r\n or \r, or with the text. A quoted cell may
// contain these and separators; a quote in it is doubled. A quote later in a cell is an ordinary
// character. ParseErrors name the line: text after the closing quote, where the row ends with the
// line; a missing closing quote, where it ends with the text.
void read_csv_cells(std::string_view text, size_t position, const CsvDialect& dialect,
                    CsvCells& row);

// Where the next row begins at a position or after it, since empty lines are none; nothing at the
// end.
std::optional<size_t> csv_row_begin(std::string_view text, size_t position);
// The same, with the place of the row after it.
std::optional<RowPlace> find_csv_row(std::string_view text, size_t position,
                                     const CsvDialect& dialect);

}  // namespace plait
