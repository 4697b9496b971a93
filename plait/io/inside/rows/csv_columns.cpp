#include "plait/io/inside/rows/csv_columns.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/rows/csv_numbers.h"
#include "plait/io/inside/utf8.h"

namespace plait {
namespace {

constexpr int64_t kMostExact = int64_t{1} << 53;  // f64 has all integers up to this
constexpr size_t kMostShown = 80;

struct AsColumn {
  template <class T>
  CsvColumn operator()(std::vector<T>& cells) const {
    return Array::of(std::span<const T>(cells), {static_cast<int64_t>(cells.size())});
  }
  CsvColumn operator()(std::vector<std::string>& cells) const { return std::move(cells); }
};

}  // namespace

void refuse_column(std::string_view name, std::span<const std::string> names) {
  const std::string near = nearest_name(name, names);
  throw KeyError("csv: unknown column {}", in_quotes(name))
      .hint(near.empty() ? "" : "did you mean " + near + "?");
}

void CsvTypeOfCells::add(std::string_view cell) {
  if (const auto integer = csv_integer(cell)) {
    has_integer_ = true;
    has_inexact_ = has_inexact_ || *integer > kMostExact || *integer < -kMostExact;
  } else if (!has_integer_form(cell) && csv_float(cell)) {
    has_float_ = true;
  } else {
    has_text_ = true;
  }
}

CsvType CsvTypeOfCells::type() const {
  if (has_text_) return CsvType::text;
  if (has_integer_ && !has_float_ && !has_missing_) return CsvType::i64;
  return has_inexact_ ? CsvType::text : CsvType::f64;
}

CsvMissing::CsvMissing(std::vector<std::string> words) : words_(std::move(words)) {
  for (const std::string& word : words_) may_begin_[static_cast<unsigned char>(word[0])] = true;
}

bool CsvMissing::is_word(std::string_view cell) const {
  return std::ranges::find(words_, cell) != words_.end();
}

CsvColumns::CsvColumns(std::vector<CsvColumnPlace> places, const CsvMissing& missing)
    : places_(std::move(places)), missing_(missing) {
  for (const CsvColumnPlace& place : places_) columns_.push_back(cells_of(place.type));
}

CsvColumns::Cells CsvColumns::cells_of(CsvType type) {
  switch (type) {
    case CsvType::i64: return std::vector<int64_t>();
    case CsvType::f64: return std::vector<double>();
    case CsvType::text: return std::vector<std::string>();
  }
  throw ValueError("csv: an unknown type of columns, {}", static_cast<int>(type));
}

std::optional<CsvProblem> CsvColumns::add(const CsvCells& row) {
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string_view cell = row.cells[places_[i].cell];
    if (add_cell(columns_[i], cell)) continue;
    drop_unfinished_row();
    return problem(places_[i], cell);
  }
  ++row_count_;
  return std::nullopt;
}

bool CsvColumns::add_cell(Cells& column, std::string_view cell) const {
  if (auto* integers = std::get_if<std::vector<int64_t>>(&column)) {
    const auto value = csv_integer(cell);
    if (value) integers->push_back(*value);
    return value.has_value();
  }
  if (auto* floats = std::get_if<std::vector<double>>(&column)) {
    const auto value =
        missing_.has(cell) ? std::numeric_limits<double>::quiet_NaN() : csv_float(cell);
    if (value) floats->push_back(*value);
    return value.has_value();
  }
  if (!is_valid_utf8(cell)) return false;
  std::get<std::vector<std::string>>(column).emplace_back(cell);
  return true;
}

void CsvColumns::drop_unfinished_row() {
  for (Cells& column : columns_) {
    std::visit([this](auto& cells) { cells.resize(static_cast<size_t>(row_count_)); }, column);
  }
}

CsvProblem CsvColumns::problem(const CsvColumnPlace& place, std::string_view cell) const {
  const bool is_integer = place.type == CsvType::i64, is_number = place.type != CsvType::text;
  const std::string_view expected = is_integer ? "an i64" : is_number ? "a number" : "UTF-8";
  CsvProblem problem{fmt::format("column {}: expected {}, found {}", in_quotes(place.name),
                                 expected, in_quotes(cell.substr(0, kMostShown))),
                     {}};
  if (!is_number) return problem;
  const bool is_missing = missing_.has(cell);
  const bool fits_float = is_missing || (!has_integer_form(cell) && csv_float(cell));
  problem.hint = fmt::format("{}types={{{}: \"{}\"}}", is_missing ? "missing cells need f64: " : "",
                             in_quotes(place.name), is_integer && fits_float ? "f64" : "text");
  return problem;
}

CsvTable CsvColumns::table() {
  CsvTable table{.row_count = row_count_};
  for (size_t i = 0; i < columns_.size(); ++i) {
    table.names.push_back(places_[i].name);
    table.columns.push_back(std::visit(AsColumn(), columns_[i]));
  }
  return table;
}

}  // namespace plait
