#include "plait/io/inside/rows/csv_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/compressed/compression.h"
#include "plait/io/inside/rows/csv_numbers.h"
#include "plait/io/inside/utf8.h"

namespace plait {
namespace {

constexpr int64_t kMostExact = int64_t{1} << 53;  // f64 has all integers up to this

CsvDialect dialect_of(const CsvOptions& options) {
  const auto is_line_end = [](char c) { return c == '\n' || c == '\r'; };
  const char separator = options.separator, quote = options.quote;
  if (separator == quote || separator == 0 || is_line_end(separator) || is_line_end(quote)) {
    throw ValueError(
        "csv: the separator is {} and the quote is {}, expected two characters of a line",
        in_quotes({&separator, 1}), in_quotes({&quote, 1}));
  }
  return {separator, quote};
}

// Narrows the types that a column may have, cell by cell.
struct TypeOfCells {
  bool has_missing = false, has_float = false, has_inexact = false, has_text = false;
  bool has_integer = false;

  void add(std::string_view cell) {
    if (const auto integer = csv_integer(cell)) {
      has_integer = true;
      has_inexact = has_inexact || *integer > kMostExact || *integer < -kMostExact;
    } else if (!has_integer_form(cell) && csv_float(cell)) {
      has_float = true;
    } else {
      has_text = true;
    }
  }
  CsvType type() const {
    if (has_text) return CsvType::text;
    if (has_integer && !has_float && !has_missing) return CsvType::i64;
    return has_inexact ? CsvType::text : CsvType::f64;
  }
};

using Cells = std::variant<std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

Cells cells_of(CsvType type) {
  switch (type) {
    case CsvType::i64: return std::vector<int64_t>();
    case CsvType::f64: return std::vector<double>();
    case CsvType::text: return std::vector<std::string>();
  }
  throw ValueError("csv: an unknown type of columns, {}", static_cast<int>(type));
}

struct AsColumn {
  template <class T>
  CsvColumn operator()(std::vector<T>& cells) const {
    return Array::of(std::span<const T>(cells), {static_cast<int64_t>(cells.size())});
  }
  CsvColumn operator()(std::vector<std::string>& cells) const { return std::move(cells); }
};

}  // namespace

CsvRows::CsvRows(std::string_view text, CsvOptions options)
    : text_(text),
      options_(std::move(options)),
      dialect_(dialect_of(options_)),
      index_(0, [this](size_t at) {
        return find_csv_row(text_, std::max(at, first_row_), dialect_);
      }) {
  expect_not_compressed(bytes_of(text));
  read_names();
  check_types();
}

void CsvRows::fail(size_t position, std::string_view message) const {
  throw ParseError("line {}: {}", line_number(text_, position), message);
}

void CsvRows::read_names() {
  first_row_ = mark_bytes(text_);
  const auto place = csv_row_begin(text_, first_row_);
  if (!place && options_.has_header) throw ParseError("line 1: expected the names of columns");
  CsvCells row;
  if (place) read_csv_cells(text_, *place, dialect_, row);
  names_ = options_.names;
  if (options_.has_header) {
    first_row_ = row.next;
    if (names_.empty()) names_.assign(row.cells.begin(), row.cells.end());
  }
  for (size_t i = 0; names_.size() < row.cells.size() && options_.names.empty(); ++i) {
    names_.push_back(std::to_string(i));
  }
  if (place && names_.size() != row.cells.size()) {
    throw ValueError("csv: {} names are given for {} columns", names_.size(), row.cells.size());
  }
  std::unordered_set<std::string_view> distinct;
  for (const std::string& name : names_) {
    if (!is_valid_utf8(name)) fail(place.value_or(0), "the name of a column is not UTF-8");
    if (distinct.insert(name).second) continue;
    fail(place.value_or(0), fmt::format("two columns are named {}", in_quotes(name)));
  }
}

void CsvRows::check_types() const {
  for (const auto& [name, type] : options_.types) {
    if (std::ranges::find(names_, name) != names_.end()) continue;
    const std::string near = nearest_name(name, names_);
    throw KeyError("csv: unknown column {}", in_quotes(name))
        .hint(near.empty() ? "" : "did you mean " + near + "?");
  }
}

void CsvRows::read(size_t position, CsvCells& row) const {
  read_csv_cells(text_, position, dialect_, row);
  if (row.cells.size() != names_.size()) {
    fail(position,
         fmt::format("the row has {} cells, expected {}", row.cells.size(), names_.size()));
  }
}

bool CsvRows::is_missing(std::string_view cell) const {
  return std::ranges::find(options_.missing, cell) != options_.missing.end();
}

std::vector<CsvType> CsvRows::found_types() const {
  std::vector<TypeOfCells> found(names_.size());
  std::vector<std::optional<CsvType>> given(names_.size());
  bool is_all_given = true;
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto type = options_.types.find(names_[i]);
    if (type != options_.types.end()) given[i] = type->second;
    is_all_given = is_all_given && given[i];
  }
  CsvCells row;
  for (size_t at = first_row_; !is_all_given; at = row.next) {
    const auto place = csv_row_begin(text_, at);
    if (!place) break;
    read(*place, row);
    for (size_t i = 0; i < names_.size(); ++i) {
      if (given[i] || found[i].has_text) continue;
      if (is_missing(row.cells[i])) {
        found[i].has_missing = true;
      } else {
        found[i].add(row.cells[i]);
      }
    }
  }
  std::vector<CsvType> types;
  for (size_t i = 0; i < names_.size(); ++i) types.push_back(given[i].value_or(found[i].type()));
  return types;
}

const std::vector<CsvType>& CsvRows::types() {
  std::call_once(are_types_found_, [this] { types_ = found_types(); });
  return types_;
}

std::optional<std::vector<std::string>> CsvRows::row(int64_t i) {
  const auto place = index_.place(i);
  if (!place) return std::nullopt;
  CsvCells row;
  read(*place, row);
  for (const std::string_view cell : row.cells) {
    if (!is_valid_utf8(cell)) fail(*place, "a cell is not UTF-8");
  }
  return std::vector<std::string>(row.cells.begin(), row.cells.end());
}

// Adds the cells of rows to columns of known types.
class CsvColumns {
 public:
  CsvColumns(const std::vector<std::string>& names, const std::vector<CsvType>& types)
      : names_(names) {
    for (const CsvType type : types) columns_.push_back(cells_of(type));
  }

  // `is_missing` says it of a cell. Returns the message of an error; "" if there is none.
  template <class IsMissing>
  std::string add(const CsvCells& row, const IsMissing& is_missing) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      const std::string_view cell = row.cells[i];
      std::string_view expected;
      if (auto* integers = std::get_if<std::vector<int64_t>>(&columns_[i])) {
        const auto value = csv_integer(cell);
        if (!value) expected = "an i64";
        integers->push_back(value.value_or(0));
      } else if (auto* floats = std::get_if<std::vector<double>>(&columns_[i])) {
        const auto value =
            is_missing(cell) ? std::numeric_limits<double>::quiet_NaN() : csv_float(cell);
        if (!value) expected = "a number";
        floats->push_back(value.value_or(0));
      } else {
        if (!is_valid_utf8(cell)) expected = "UTF-8";
        std::get<std::vector<std::string>>(columns_[i]).emplace_back(cell);
      }
      if (expected.empty()) continue;
      return fmt::format("column {}: expected {}, found {}", in_quotes(names_[i]), expected,
                         in_quotes(cell.substr(0, 80)));
    }
    ++row_count_;
    return {};
  }

  CsvTable table() {
    CsvTable table{.names = names_, .row_count = row_count_};
    for (Cells& cells : columns_) table.columns.push_back(std::visit(AsColumn(), cells));
    return table;
  }

 private:
  const std::vector<std::string>& names_;
  std::vector<Cells> columns_;
  int64_t row_count_ = 0;
};

CsvTable CsvRows::rows(int64_t begin, int64_t end) {
  if (begin < 0 || end < begin) {
    throw IndexError("csv: the rows from {} to before {} are not a range", begin, end);
  }
  CsvColumns columns(names_, types());
  std::optional<size_t> place = begin == end ? std::nullopt : index_.place(begin);
  CsvCells row;
  for (int64_t i = begin; place && i < end; ++i) {
    read(*place, row);
    const std::string problem = columns.add(row, [this](auto cell) { return is_missing(cell); });
    if (!problem.empty()) fail(*place, problem);
    place = csv_row_begin(text_, row.next);
  }
  return columns.table();
}

}  // namespace plait
