#include "plait/io/inside/logs/row_cuts.h"

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/json.h"
#include "plait/io/inside/rows/csv_cells.h"
#include "plait/io/inside/rows/csv_numbers.h"
#include "plait/io/inside/rows/row_index.h"

namespace plait {
namespace {

constexpr const char* kHowToContinue = "move the file away to continue without its rows";

[[noreturn]] void fail_at(std::string_view text, size_t position, std::string_view message) {
  throw ParseError("line {}: {}", line_number(text, position), message).hint(kHowToContinue);
}

[[noreturn]] void fail_to_ascend(std::string_view text, size_t position, int64_t step,
                                 int64_t before) {
  fail_at(text, position,
          fmt::format("step {} after step {}, expected ascending steps", step, before));
}

int64_t step_of_json(std::string_view text, size_t position, std::string_view line) {
  try {
    return Json::parse(line).at(kStepColumn).as<int64_t>(kStepColumn);
  } catch (const ParseError& error) {
    fail_at(text, position, error.message());
  }
}

bool is_json(std::string_view line) {
  try {
    Json::parse(line);
    return true;
  } catch (const ParseError&) {
    return false;
  }
}

std::vector<std::string> columns_of(std::string_view text, const CsvCells& header) {
  if (header.cells[0] != kStepColumn) {
    fail_at(text, 0,
            fmt::format("the first column is {}, expected {}", in_quotes(header.cells[0]),
                        in_quotes(kStepColumn)));
  }
  return {header.cells.begin() + 1, header.cells.end()};
}

// True if the row is one that is cut off, by its first cell.
bool is_late_row(std::string_view text, size_t position, int64_t from_step) {
  const std::string_view line = line_at(text, position);
  const auto step = csv_integer(line.substr(0, line.find(',')));
  return step && *step >= from_step;
}

// Nothing if the text ends within the row, or in a row that is cut off anyway.
std::optional<CsvCells> whole_row(std::string_view text, size_t position, int64_t from_step) {
  CsvCells row;
  try {
    read_csv_cells(text, position, {}, row);
  } catch (ParseError& error) {
    const bool is_last = line_at(text, position).size() + position >= text.size();
    if (is_last || is_late_row(text, position, from_step)) return std::nullopt;
    error.set_hint(kHowToContinue);
    throw;
  }
  return row.is_terminated ? std::optional(std::move(row)) : std::nullopt;
}

}  // namespace

RowCut jsonl_cut(std::string_view text, int64_t from_step) {
  size_t end = text.size();
  std::optional<int64_t> later;  // the step of the row after this one
  while (end > 0) {
    const bool is_terminated = text[end - 1] == '\n';
    const size_t newline = end < 2 ? std::string_view::npos : text.rfind('\n', end - 2);
    const size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
    const std::string_view line = line_at(text, begin);
    if (is_terminated || is_json(line)) {
      const int64_t step = step_of_json(text, begin, line);
      if (later && step >= *later) fail_to_ascend(text, end, *later, step);
      if (step < from_step) return {end, step, !is_terminated};
      later = step;
    }
    end = begin;
  }
  return {};
}

CsvCut csv_cut(std::string_view text, int64_t from_step) {
  CsvCut cut;
  std::optional<CsvCells> row = text.empty() ? std::nullopt : whole_row(text, 0, from_step);
  if (!row) return cut;
  std::vector<std::string> columns = columns_of(text, *row);
  while (row->next < text.size()) {
    const size_t position = row->next;
    row = whole_row(text, position, from_step);
    if (!row) break;
    const std::optional<int64_t> step = csv_integer(row->cells[0]);
    if (!step) fail_at(text, position, "the first cell is not a step");
    if (row->cells.size() != columns.size() + 1) {
      fail_at(
          text, position,
          fmt::format("the row has {} cells, expected {}", row->cells.size(), columns.size() + 1));
    }
    if (cut.last_step && *step <= *cut.last_step) {
      fail_to_ascend(text, position, *step, *cut.last_step);
    }
    if (*step >= from_step) break;
    cut.last_step = step;
    cut.size = row->next;
  }
  if (cut.last_step) cut.columns = std::move(columns);
  return cut;
}

}  // namespace plait
