// The rows of a CSV file in memory.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plait/io/inside/rows/csv_cells.h"
#include "plait/io/inside/rows/row_index.h"
#include "plait/io/rows/csv.h"

namespace plait {

// Borrows the text. ParseErrors name the line.
class CsvRows {
 public:
  CsvRows(std::string_view text, CsvOptions options);

  const std::vector<std::string>& names() const { return names_; }
  int64_t size() { return index_.count(); }
  const std::vector<CsvType>& types();
  // Nothing past the last row.
  std::optional<std::vector<std::string>> row(int64_t i);
  CsvTable rows(int64_t begin, int64_t end);
  CsvTable all() { return rows(0, INT64_MAX); }

 private:
  void read_names();
  void check_types() const;
  void read(size_t position, CsvCells& row) const;
  bool is_missing(std::string_view cell) const;
  std::vector<CsvType> found_types() const;
  [[noreturn]] void fail(size_t position, std::string_view message) const;

  std::string_view text_;
  CsvOptions options_;
  CsvDialect dialect_;
  std::vector<std::string> names_;
  size_t first_row_ = 0;
  RowIndex index_;
  std::once_flag are_types_found_;
  std::vector<CsvType> types_;
};

}  // namespace plait
