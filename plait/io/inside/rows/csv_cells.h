// The cells of CSV files (RFC 4180).
#pragma once

#include <cstddef>
#include <deque>
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
  std::vector<std::string_view> cells = {};  // of the text, or of `unquoted`
  std::deque<std::string> unquoted = {};     // of cells with quotes inside
  bool is_terminated = false;                // an end of line follows
  size_t next = 0;                           // where the next row begins
};

// Reads the row at a position. A row ends with \n, \r\n or \r, or with the text. A quoted cell may
// contain these and separators; a quote in it is doubled. A quote later in a cell is an ordinary
// character. ParseErrors name the line: text after the closing quote, a missing closing quote.
void read_csv_cells(std::string_view text, size_t position, const CsvDialect& dialect,
                    CsvCells& row);

// The next row at a position or after it that is not an empty line.
std::optional<RowPlace> find_csv_row(std::string_view text, size_t position,
                                     const CsvDialect& dialect);

}  // namespace plait
