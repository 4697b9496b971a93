// Columns of the cells of CSV files: the types that fit, and the numbers and texts.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plait/io/inside/rows/csv_cells.h"
#include "plait/io/rows/csv.h"

namespace plait {

// KeyError for a column that is none of the names.
[[noreturn]] void refuse_column(std::string_view name, std::span<const std::string> names);

// Narrows the types that a column may have, cell by cell.
class CsvTypeOfCells {
 public:
  void add(std::string_view cell);  // not a missing one
  void add_missing() { has_missing_ = true; }
  bool is_text() const { return has_text_; }
  CsvType type() const;

 private:
  bool has_missing_ = false, has_float_ = false, has_inexact_ = false, has_text_ = false;
  bool has_integer_ = false;
};

// A column that is read: its name, the number of its cell in a row, and its type.
struct CsvColumnPlace {
  std::string name;
  size_t cell = 0;
  CsvType type = CsvType::text;
};

// The cells that are missing. Most cells begin with another character than these.
class CsvMissing {
 public:
  explicit CsvMissing(std::vector<std::string> words);

  bool has(std::string_view cell) const {
    const size_t first = cell.empty() ? 0 : static_cast<unsigned char>(cell[0]);
    return may_begin_[first] && is_word(cell);
  }

 private:
  bool is_word(std::string_view cell) const;

  std::vector<std::string> words_;
  std::array<bool, 256> may_begin_{};  // the first one also for an empty cell
};

struct CsvProblem {
  std::string message, hint;
};

// Adds the cells of rows to columns of known types.
class CsvColumns {
 public:
  CsvColumns(std::vector<CsvColumnPlace> places, const CsvMissing& missing);

  // Adds a row, or nothing if a cell does not fit its column.
  std::optional<CsvProblem> add(const CsvCells& row);
  int64_t row_count() const { return row_count_; }
  CsvTable table();

 private:
  using Cells = std::variant<std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

  static Cells cells_of(CsvType type);
  bool add_cell(Cells& column, std::string_view cell) const;  // false if it does not fit
  CsvProblem problem(const CsvColumnPlace& place, std::string_view cell) const;
  void drop_unfinished_row();

  std::vector<CsvColumnPlace> places_;
  const CsvMissing& missing_;
  std::vector<Cells> columns_;
  int64_t row_count_ = 0;
};

}  // namespace plait
