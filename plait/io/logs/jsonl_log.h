// Logs as JSON objects, one a line: {"step":3,"loss":0.5}
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "plait/io/logs/run_log.h"

namespace plait {

// JSON has no NaN and no infinities: NaN is null, and infinities are "Infinity" and "-Infinity",
// which pandas reads as the numbers that they are. Steps ascend: a step that is not after the last
// one is a ValueError.
class JsonlLog final : public Log {
 public:
  // Begins a file; IoError if it has rows already. With `from_step` the file that is there
  // continues: its rows of this step and later ones are cut off, and so is an unfinished last row.
  // IoError while another log writes to the file.
  explicit JsonlLog(const std::string& path, std::optional<int64_t> from_step = {});
  ~JsonlLog() override;

  using Log::log;
  void log(int64_t step, std::span<const LogEntry> entries) override;
  void flush() override;
  void close() override;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace plait
