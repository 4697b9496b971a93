#include "plait/io/logs/jsonl_log.h"

#include <cmath>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/json.h"
#include "plait/io/inside/logs/log_entries.h"
#include "plait/io/inside/logs/row_log_file.h"

namespace plait {
namespace {

struct AsJson {
  std::string operator()(double value) const {
    if (std::isnan(value)) return "null";
    if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    return number_text(value);
  }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(const std::string& value) const { return json_string(value); }
};

std::string json_row(int64_t step, std::span<const LogEntry> entries) {
  std::string row = fmt::format("{{\"{}\":{}", kStepColumn, step);
  for (const LogEntry& entry : entries) {
    row += ',' + json_string(entry.name) + ':' + std::visit(AsJson(), entry.value.any());
  }
  return row + "}\n";
}

}  // namespace

struct JsonlLog::State {
  RowLogFile file;
};

JsonlLog::JsonlLog(const std::string& path, std::optional<int64_t> from_step) {
  if (from_step) expect_step(*from_step);
  state_.reset(new State{.file = {path, from_step.has_value()}});  // NOLINT(modernize-make-unique)
  state_->file.open(from_step ? cut_of_file(path, *from_step, jsonl_cut) : RowCut());
}
JsonlLog::~JsonlLog() = default;

void JsonlLog::log(int64_t step, std::span<const LogEntry> entries) {
  expect_entries(entries);
  expect_no_step(entries);
  const std::lock_guard guard(state_->file.mutex);
  state_->file.expect_next(step);
  state_->file.append(step, json_row(step, entries));
}

void JsonlLog::flush() {
  const std::lock_guard guard(state_->file.mutex);
  state_->file.sync();
}

void JsonlLog::close() {
  const std::lock_guard guard(state_->file.mutex);
  state_->file.close();
}

}  // namespace plait
