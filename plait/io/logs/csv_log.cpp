#include "plait/io/logs/csv_log.h"

#include <algorithm>
#include <vector>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/logs/log_entries.h"
#include "plait/io/inside/logs/row_log_file.h"
#include "plait/io/inside/rows/csv_cells.h"

namespace plait {
namespace {

constexpr std::string_view kQuoted = ",\"\n\r";  // cells with one of these are quoted

constexpr size_t kMostBuffered = size_t{1} << 20;

// Empty text is quoted, since an empty cell is a missing value; so is text with blanks at its ends,
// which some readers remove.
std::string cell_of(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t'; };
  if (!text.empty() && text.find_first_of(kQuoted) == std::string_view::npos &&
      !is_blank(text.front()) && !is_blank(text.back())) {
    return std::string(text);
  }
  std::string cell = "\"";
  for (const char c : text) cell.append(c == '"' ? 2 : 1, c);
  return cell + '"';
}

struct AsCell {
  std::string operator()(double value) const { return number_text(value); }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(bool value) const { return value ? "True" : "False"; }  // as pandas
  std::string operator()(const std::string& value) const { return cell_of(value); }
};

std::string header_of(std::span<const std::string> columns) {
  std::string header(kStepColumn);
  for (const std::string& column : columns) header += ',' + cell_of(column);
  return header + '\n';
}

std::string csv_row(int64_t step, std::span<const LogEntry> entries,
                    std::span<const std::string> columns) {
  std::string row = std::to_string(step);
  for (const std::string& column : columns) {
    row += ',';
    const auto found = std::ranges::find(entries, column, &LogEntry::name);
    if (found != entries.end()) row += std::visit(AsCell(), found->value.any());
  }
  return row + '\n';
}

// The rows with empty cells added.
void write_wider(OutputFile& output, std::string_view text, size_t added) {
  const std::string end = std::string(added, ',') + '\n';
  std::string rows;
  std::optional<RowPlace> place = find_csv_row(text, 0, {});
  for (; place; place = find_csv_row(text, place->next, {})) {
    std::string_view row = text.substr(place->begin, place->next - 1 - place->begin);
    if (row.ends_with('\r')) row.remove_suffix(1);
    rows.append(row).append(end);
    if (rows.size() < kMostBuffered) continue;
    output.write(bytes_of(std::string_view(rows)));
    rows.clear();
  }
  output.write(bytes_of(std::string_view(rows)));
}

}  // namespace

struct CsvLog::State {
  // The columns with those of the entries that are new.
  std::vector<std::string> columns_with(std::span<const LogEntry> entries) const {
    std::vector<std::string> wider = columns;
    for (const LogEntry& entry : entries) {
      if (std::ranges::find(columns, entry.name) == columns.end()) wider.push_back(entry.name);
    }
    return wider;
  }

  void widen(const std::vector<std::string>& wider) {
    const InputFile former(file.path());
    const std::string_view text = characters_of(former.bytes());
    const size_t rows = find_csv_row(text, 0, {})->next;
    OutputFile output(file.path());
    output.write(bytes_of(std::string_view(header_of(wider))));
    write_wider(output, text.substr(rows), wider.size() - columns.size());
    output.finish();
    file.reopen();
    columns = wider;
  }

  RowLogFile file;
  bool has_header = false;
  std::vector<std::string> columns = {};
};

CsvLog::CsvLog(const std::string& path, std::optional<int64_t> from_step) {
  if (from_step) expect_step(*from_step);
  state_.reset(new State{.file = {path, from_step.has_value()}});  // NOLINT(modernize-make-unique)
  const CsvCut cut = from_step ? cut_of_file(path, *from_step, csv_cut) : CsvCut();
  state_->file.open(cut);
  state_->has_header = cut.size > 0;
  state_->columns = cut.columns;
}
CsvLog::~CsvLog() = default;

void CsvLog::log(int64_t step, std::span<const LogEntry> entries) {
  expect_entries(entries);
  expect_no_step(entries);
  const std::lock_guard guard(state_->file.mutex);
  state_->file.expect_next(step);
  const std::vector<std::string> columns = state_->columns_with(entries);
  const std::string row = csv_row(step, entries, columns);
  if (!state_->has_header) {
    state_->file.append(step, header_of(columns) + row);
    state_->has_header = true;
    state_->columns = columns;
    return;
  }
  if (columns.size() > state_->columns.size()) state_->widen(columns);
  state_->file.append(step, row);
}

void CsvLog::flush() {
  const std::lock_guard guard(state_->file.mutex);
  state_->file.sync();
}

void CsvLog::close() {
  const std::lock_guard guard(state_->file.mutex);
  state_->file.close();
}

}  // namespace plait
