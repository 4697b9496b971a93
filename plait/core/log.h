// Log lines by area and level. One that is off costs an atomic load and a comparison.
//   log(LogArea::compile, LogLevel::debug, "fused {} ops into {}", ops.size(), kernel.name());
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <fmt/core.h>

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

// The highest level that each area shows.
using LogLevels = std::array<LogLevel, kLogAreaCount>;

// Reads "ir=debug,core=info": areas (or `all`) with their levels, later ones first; a level alone
// stands for all areas. Areas that are not named show warnings and errors. ValueError names what is
// wrong.
LogLevels parse_log_levels(std::string_view text);

struct LogLine {
  LogLevel level;
  LogArea area;
  double seconds;  // since the process started
  std::string_view message;

  std::string text() const;  // "plait 12.345 debug ir: message"
};

using LogSink = std::function<void(const LogLine&)>;

// Lines go to the sink, one at a time, instead of to stderr; an empty sink is stderr again. What
// the sink itself logs goes to stderr, and so does a line for which it throws. Gives the former
// sink, which no thread is in any more.
LogSink set_log_sink(LogSink sink);

namespace log_detail {

// By area: the LogLevel that it shows, or kUnread, which is above all, before the setting was read.
inline constexpr uint8_t kUnread = 255;
extern std::array<std::atomic<uint8_t>, kLogAreaCount> shown_levels;

bool read_levels_and_test(LogArea area, LogLevel level);
void write(LogArea area, LogLevel level, fmt::string_view format, fmt::format_args arguments);

}  // namespace log_detail

// Takes the levels of the setting `log` again. (The setting does so when it changes.) A value that
// is no list of levels counts as none; the log says so once.
void refresh_log_levels();

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
