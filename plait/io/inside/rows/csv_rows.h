// The rows of a CSV file in memory.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/inside/system/with_path.h"
#include "plait/io/inside/compressed/file_content.h"
#include "plait/io/inside/rows/csv_cells.h"
#include "plait/io/inside/rows/csv_columns.h"
#include "plait/io/inside/rows/row_index.h"
#include "plait/io/rows/csv.h"

namespace plait {

// ValueError for a separator or a quote that is not a character of a line.
CsvDialect dialect_of(const CsvOptions& options);

// Rows in order: a table, and where the search for each row begins, and for the row after the last.
struct CsvPiece {
  CsvTable table = {};
  std::vector<size_t> places = {};
};

// Borrows the text. ParseErrors name the line.
class CsvRows {
 public:
  CsvRows(std::string_view text, CsvOptions options);

  const std::vector<std::string>& names() const { return names_; }  // only columns that are read
  const std::vector<std::string>& all_names() const { return all_names_; }
  int64_t size() { return index_.count(); }
  const std::vector<CsvType>& types();
  // Instead of those that would be found. Before types() is called.
  void set_types(std::vector<CsvType> types);
  // Nothing past the last row.
  std::optional<std::vector<std::string>> row(int64_t i);
  CsvTable rows(int64_t begin, int64_t end);
  CsvTable all() { return rows(0, INT64_MAX); }

  // Without the index: where the first row is searched for, and whether a row may begin at a place.
  size_t begin() const { return first_row_; }
  bool has_rows() const { return csv_row_begin(text_, first_row_).has_value(); }
  bool may_begin_at(size_t position) const;
  // At most so many rows from a position on, which becomes that of the next row. A row that cannot
  // be read ends a piece. At the beginning of one it is an error, after which the position is that
  // of the row after it.
  CsvPiece piece(size_t& position, int64_t most);

 private:
  void read_names();
  void choose_columns();
  std::vector<CsvType> found_types() const;
  void narrow(std::vector<CsvTypeOfCells>& found,
              const std::vector<std::optional<CsvType>>& given) const;
  CsvColumns columns();
  void read(size_t position, CsvCells& row) const;
  void add_row(size_t position, CsvCells& row, CsvColumns& columns) const;
  [[noreturn]] void fail(size_t position, std::string_view message, std::string hint = {}) const;

  std::string_view text_;
  CsvOptions options_;
  CsvDialect dialect_;
  CsvMissing missing_;
  std::vector<std::string> all_names_, names_;
  std::vector<size_t> cells_;  // number of the cell of each column that is read
  size_t first_row_ = 0;
  RowIndex index_;
  std::once_flag are_types_found_;
  std::vector<CsvType> types_;
};

// A file, and its rows.
struct OpenCsv {
  OpenCsv(const std::string& place, CsvOptions options);

  std::string path;
  FileContent file;
  std::unique_ptr<CsvRows> rows;
};

}  // namespace plait
