// CSV files (RFC 4180): the columns as arrays, or rows by their number.
//
// A row is a line; a cell in quotes may contain separators, ends of lines and doubled quotes. Empty
// lines are skipped. Each row must have as many cells as the first one. ParseErrors name file and
// line.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "plait/tensor/memory/array.h"

namespace plait {

enum class CsvType { i64, f64, text };

struct CsvOptions {
  char separator = ',';
  char quote = '"';                           // 0: none
  bool has_header = true;                     // the first row has the names of the columns
  std::vector<std::string> names = {};        // instead of those; "0", "1", … without any
  std::map<std::string, CsvType> types = {};  // types of columns by name; the others are found
  std::vector<std::string> missing = {"", "NA", "N/A", "NaN", "nan", "null"};  // NaN in f64
  std::vector<std::string> columns = {};  // that are read, in this order; all without any
};

using CsvColumn = std::variant<Array, std::vector<std::string>>;

struct CsvTable {
  std::vector<std::string> names = {};
  std::vector<CsvColumn> columns = {};
  int64_t row_count = 0;

  const CsvColumn& at(std::string_view name) const;  // KeyError
};

// A file that is read in pieces, or row by row. It is mapped, and searched for rows when they are
// first asked for. Functions may be called by several threads. The content of a file that is
// compressed by gzip is kept in memory.
class CsvFile {
 public:
  explicit CsvFile(const std::string& path, CsvOptions options = {});
  ~CsvFile();
  CsvFile(CsvFile&&) noexcept;
  CsvFile& operator=(CsvFile&&) noexcept;

  const std::vector<std::string>& names() const;  // only columns that are read
  int64_t size() const;                           // searches the whole file
  // Reads the whole file, unless the options have the types of all columns. A column of integers is
  // i64. One of numbers, or with missing cells, is f64, and those are NaN. Any other is text; so is
  // one of integers that would lose digits: past 2^63, or past 2^53 in f64. Rows that cannot be
  // read are left out here, and are errors where they are read.
  const std::vector<CsvType>& types() const;

  std::vector<std::string> row(int64_t i) const;  // IndexError past the last row
  // The rows from `begin` to before `end`, or to the last row if that is earlier.
  CsvTable rows(int64_t begin, int64_t end) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

CsvTable load_csv(const std::string& path, const CsvOptions& options = {});
// The same, from the bytes of a file.
CsvTable read_csv(std::span<const std::byte> bytes, const CsvOptions& options = {});

}  // namespace plait
