// Logging by area and level. A disabled log line costs one atomic load and a comparison.
//   log(LogArea::compile, LogLevel::debug, "fused {} ops into {}", ops.size(), kernel.name());
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "plait/core/settings.h"

namespace plait {

enum class LogLevel : uint8_t { off, error, warning, info, debug, trace };
inline constexpr int kLogLevelCount = 6;

// The rooms.
// clang-format off
enum class LogArea : uint8_t {
  core, ir, tensor, ops, transform, compile, cpu, cuda, dist, nn, optim, data, io, serve
};
// clang-format on
inline constexpr int kLogAreaCount = 14;

std::string_view name_of(LogLevel level);
std::string_view name_of(LogArea area);

// The highest level that is shown, for each area.
using LogLevels = std::array<LogLevel, kLogAreaCount>;

// Parses "ir=debug,core=info": areas (or `all`) with their levels; later entries override earlier
// ones. A level alone applies to all areas. Areas without an entry show warnings and errors.
// ValueError names the mistake.
LogLevels parse_log_levels(std::string_view text);

namespace setting {
extern Setting<std::string> kLog;
}

struct LogLine {
  LogLevel level;
  LogArea area;
  double seconds;  // since the process started
  std::string_view message;

  std::string text() const;  // "plait 12.345 debug ir: message"
};

using LogSink = std::function<void(const LogLine&)>;

// Sends log lines to the sink instead of stderr, one at a time; an empty sink restores stderr.
// Lines that the sink itself logs, and lines for which it throws, go to stderr. Returns the
// previous sink; no thread is inside it any more.
LogSink set_log_sink(LogSink sink);

namespace log_detail {

// The level that is shown, for each area; kUnread, which is above all levels, until the setting is
// read.
inline constexpr uint8_t kUnread = 255;
extern std::array<std::atomic<uint8_t>, kLogAreaCount> shown_levels;

bool read_levels_and_test(LogArea area, LogLevel level);
void write(LogArea area, LogLevel level, fmt::string_view format, fmt::format_args arguments);

}  // namespace log_detail

inline bool log_is_on(LogArea area, LogLevel level) {
  const auto index = static_cast<size_t>(area);
  if (index >= kLogAreaCount || level == LogLevel::off) return false;
  const uint8_t shown = log_detail::shown_levels[index].load(std::memory_order_relaxed);
  if (shown < static_cast<uint8_t>(level)) return false;
  return shown != log_detail::kUnread || log_detail::read_levels_and_test(area, level);
}

template <class... Arguments>
void log(LogArea area, LogLevel level, fmt::format_string<Arguments...> format,
         Arguments&&... arguments) {
  if (!log_is_on(area, level)) return;
  log_detail::write(area, level, format, fmt::make_format_args(arguments...));
}

}  // namespace plait
