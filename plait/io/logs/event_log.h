// Logs that TensorBoard shows: scalars, histograms, images, text, hyperparameters and the graph of
// a program, in the files of one folder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "plait/io/logs/run_log.h"
#include "plait/ir/program.h"
#include "plait/tensor/memory/array.h"

namespace plait {

class EventLog final : public Log {
 public:
  // Begins a log in a folder, which is made if it is missing; IoError if it has events already.
  // With `from_step` the log that is there continues: its records of this step and later ones are
  // removed from the files. IoError while another log writes into the folder, ParseError if a file
  // is damaged elsewhere than at its end.
  explicit EventLog(const std::string& folder, std::optional<int64_t> from_step = {});
  ~EventLog() override;

  // Numbers are scalars, texts are texts.
  using Log::log;
  void log(int64_t step, std::span<const LogEntry> entries) override;
  void flush() override;
  void close() override { close(true); }
  // Also says how the run ended, where the hyperparameters are shown.
  void close(bool is_success);

  // Wall times are seconds since 1970; without one, it is now.
  using WallTime = std::optional<double>;
  void scalar(std::string_view tag, double value, int64_t step, WallTime wall_time = {});
  void text(std::string_view tag, std::string_view text, int64_t step, WallTime wall_time = {});
  // The distribution of the elements, which are real numbers.
  void histogram(std::string_view tag, const Array& array, int64_t step, WallTime wall_time = {});
  // [height, width] or [height, width, 1 to 4 channels], u8 or floats from 0 to 1.
  void image(std::string_view tag, const Array& array, int64_t step, WallTime wall_time = {});

  // Describe the run. The same description again, as a resumed run writes it, is skipped; another
  // one replaces that of a former process, and is a ValueError in the same process. `metrics` are
  // tags of scalars.
  void hparams(std::span<const LogEntry> values, std::span<const std::string> metrics);
  void graph(const ir::Program& program);

  // A log in a folder of this one, which is shown as a run of its own, and is resumed, flushed and
  // closed with this one.
  EventLog& part(const std::string& name);

  const std::string& folder() const;

 private:
  struct State;
  EventLog(const std::string& folder, std::optional<int64_t> from_step, std::string_view ending);

  std::unique_ptr<State> state_;
};

}  // namespace plait
