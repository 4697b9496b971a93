// Logs as CSV files (RFC 4180): a header, and one row a step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "plait/io/logs/run_log.h"

namespace plait {

// The first column is the step; the others are the names of values, in the order in which they are
// first logged. A name that comes later makes a column: the file is written again with it, and is
// replaced atomically. A value that is not logged in a step is an empty cell. NaN and infinities
// are nan, inf and -inf, which NumPy and pandas read. Steps ascend: a step that is not after the
// last one is a ValueError.
class CsvLog final : public Log {
 public:
  // Begins a file; IoError if it has rows already. With `from_step` the file that is there
  // continues: its rows of this step and later ones are cut off, and so is an unfinished last row.
  // IoError while another log writes to the file.
  explicit CsvLog(const std::string& path, std::optional<int64_t> from_step = {});
  ~CsvLog() override;

  using Log::log;
  void log(int64_t step, std::span<const LogEntry> entries) override;
  void flush() override;
  void close() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plait
