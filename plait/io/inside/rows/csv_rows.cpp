#include "plait/io/inside/rows/csv_rows.h"

#include <algorithm>
#include <unordered_set>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/compressed/compression.h"
#include "plait/io/inside/utf8.h"

namespace plait {
namespace {

constexpr size_t kMostBytesOfPiece = size_t{1} << 20;

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

}  // namespace

CsvDialect dialect_of(const CsvOptions& options) {
  const char separator = options.separator, quote = options.quote;
  if (separator == quote || separator == 0 || is_line_end(separator) || is_line_end(quote)) {
    throw ValueError(
        "csv: the separator is {} and the quote is {}, expected two characters of a line",
        in_quotes({&separator, 1}), in_quotes({&quote, 1}));
  }
  return {separator, quote};
}

CsvRows::CsvRows(std::string_view text, CsvOptions options)
    : text_(text),
      options_(std::move(options)),
      dialect_(dialect_of(options_)),
      missing_(options_.missing),
      index_(0, [this](size_t at) {
        return find_csv_row(text_, std::max(at, first_row_), dialect_);
      }) {
  expect_not_compressed(bytes_of(text));
  read_names();
  choose_columns();
}

void CsvRows::fail(size_t position, std::string_view message, std::string hint) const {
  throw ParseError("line {}: {}", line_number(text_, position), message).hint(std::move(hint));
}

void CsvRows::read_names() {
  first_row_ = mark_bytes(text_);
  const auto place = csv_row_begin(text_, first_row_);
  if (!place && options_.has_header) throw ParseError("line 1: expected the names of columns");
  CsvCells row;
  if (place) read_csv_cells(text_, *place, dialect_, row);
  all_names_ = options_.names;
  if (options_.has_header) {
    first_row_ = row.next;
    if (all_names_.empty()) all_names_.assign(row.cells.begin(), row.cells.end());
  }
  for (size_t i = 0; all_names_.size() < row.cells.size() && options_.names.empty(); ++i) {
    all_names_.push_back(std::to_string(i));
  }
  if (place && all_names_.size() != row.cells.size()) {
    throw ValueError("csv: {} names are given for {} columns", all_names_.size(), row.cells.size());
  }
  std::unordered_set<std::string_view> distinct;
  for (const std::string& name : all_names_) {
    if (!is_valid_utf8(name)) fail(place.value_or(0), "the name of a column is not UTF-8");
    if (distinct.insert(name).second) continue;
    fail(place.value_or(0), fmt::format("two columns are named {}", in_quotes(name)));
  }
}

void CsvRows::choose_columns() {
  names_ = options_.columns.empty() ? all_names_ : options_.columns;
  std::unordered_set<std::string_view> distinct;
  for (const std::string& name : names_) {
    const auto found = std::ranges::find(all_names_, name);
    if (found == all_names_.end()) refuse_column(name, all_names_);
    if (!distinct.insert(name).second) {
      throw ValueError("csv: column {} is chosen twice", in_quotes(name));
    }
    cells_.push_back(static_cast<size_t>(found - all_names_.begin()));
  }
  for (const auto& [name, type] : options_.types) {
    if (std::ranges::find(all_names_, name) == all_names_.end()) refuse_column(name, all_names_);
  }
}

void CsvRows::read(size_t position, CsvCells& row) const {
  read_csv_cells(text_, position, dialect_, row);
  if (row.cells.size() != all_names_.size()) {
    fail(position,
         fmt::format("the row has {} cells, expected {}", row.cells.size(), all_names_.size()));
  }
}

std::vector<CsvType> CsvRows::found_types() const {
  std::vector<CsvTypeOfCells> found(names_.size());
  std::vector<std::optional<CsvType>> given(names_.size());
  for (size_t i = 0; i < names_.size(); ++i) {
    const auto type = options_.types.find(names_[i]);
    if (type != options_.types.end()) given[i] = type->second;
  }
  if (!std::ranges::all_of(given, [](const auto& type) { return type.has_value(); })) {
    narrow(found, given);
  }
  std::vector<CsvType> types;
  for (size_t i = 0; i < names_.size(); ++i) types.push_back(given[i].value_or(found[i].type()));
  return types;
}

void CsvRows::narrow(std::vector<CsvTypeOfCells>& found,
                     const std::vector<std::optional<CsvType>>& given) const {
  CsvCells row;
  for (size_t at = first_row_;; at = row.next) {
    const auto place = csv_row_begin(text_, at);
    if (!place) return;
    try {
      read_csv_cells(text_, *place, dialect_, row);
    } catch (const ParseError&) {  // is thrown again where the row is read
      continue;
    }
    if (row.cells.size() != all_names_.size()) continue;
    for (size_t i = 0; i < names_.size(); ++i) {
      if (given[i] || found[i].is_text()) continue;
      const std::string_view cell = row.cells[cells_[i]];
      missing_.has(cell) ? found[i].add_missing() : found[i].add(cell);
    }
  }
}

const std::vector<CsvType>& CsvRows::types() {
  std::call_once(are_types_found_, [this] { types_ = found_types(); });
  return types_;
}

void CsvRows::set_types(std::vector<CsvType> types) {
  std::call_once(are_types_found_, [&] { types_ = std::move(types); });
}

std::optional<std::vector<std::string>> CsvRows::row(int64_t i) {
  const auto place = index_.place(i);
  if (!place) return std::nullopt;
  CsvCells row;
  read(*place, row);
  std::vector<std::string> texts;
  for (const size_t number : cells_) {
    if (!is_valid_utf8(row.cells[number])) fail(*place, "a cell is not UTF-8");
    texts.emplace_back(row.cells[number]);
  }
  return texts;
}

CsvColumns CsvRows::columns() {
  types();
  std::vector<CsvColumnPlace> places;
  for (size_t i = 0; i < names_.size(); ++i) places.push_back({names_[i], cells_[i], types_[i]});
  return {std::move(places), missing_};
}

void CsvRows::add_row(size_t position, CsvCells& row, CsvColumns& columns) const {
  read(position, row);
  const auto problem = columns.add(row);
  if (problem) fail(position, problem->message, problem->hint);
}

CsvTable CsvRows::rows(int64_t begin, int64_t end) {
  if (begin < 0 || end < begin) {
    throw IndexError("csv: the rows from {} to before {} are not a range", begin, end);
  }
  CsvColumns columns = this->columns();
  std::optional<size_t> place = begin == end ? std::nullopt : index_.place(begin);
  CsvCells row;
  for (int64_t i = begin; place && i < end; ++i) {
    add_row(*place, row, columns);
    place = csv_row_begin(text_, row.next);
  }
  return columns.table();
}

bool CsvRows::may_begin_at(size_t position) const {
  if (position <= first_row_ || position >= text_.size()) {
    return position == first_row_ || position == text_.size();
  }
  return is_line_end(text_[position - 1]);
}

CsvPiece CsvRows::piece(size_t& position, int64_t most) {
  CsvColumns columns = this->columns();
  CsvPiece piece{.places = {position}};
  const size_t begin = position;
  CsvCells row;
  while (columns.row_count() < most && position - begin < kMostBytesOfPiece) {
    const auto place = csv_row_begin(text_, position);
    if (!place) break;
    try {
      add_row(*place, row, columns);
    } catch (const ParseError&) {
      if (columns.row_count() > 0) break;
      position = row.next;
      throw;
    }
    position = row.next;
    piece.places.push_back(position);
  }
  piece.table = columns.table();
  return piece;
}

OpenCsv::OpenCsv(const std::string& place, CsvOptions options)
    : path(place), file(place), rows(with_path(path, [&] {
        return std::make_unique<CsvRows>(characters_of(file.bytes()), std::move(options));
      })) {}

}  // namespace plait
