#include "plait/core/log.h"

#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"

namespace plait {

namespace {

constexpr std::array<std::string_view, kLogLevelCount> kLevelNames = {"off",  "error", "warning",
                                                                      "info", "debug", "trace"};
constexpr std::array<std::string_view, kLogAreaCount> kAreaNames = {
    "core", "ir",   "tensor", "ops",   "transform", "compile", "cpu",
    "cuda", "dist", "nn",     "optim", "data",      "io",      "serve"};
constexpr LogLevel kDefaultLevel = LogLevel::warning;

template <class Enumerator, size_t count>
std::optional<Enumerator> find_name(const std::array<std::string_view, count>& names,
                                    std::string_view name) {
  for (size_t i = 0; i < count; ++i) {
    if (names[i] == name) return static_cast<Enumerator>(i);
  }
  return std::nullopt;
}

LogLevel parse_level(std::string_view name) {
  const auto level = find_name<LogLevel>(kLevelNames, name);
  if (!level) throw ValueError("'{}' is not a level ({})", name, fmt::join(kLevelNames, ", "));
  return *level;
}

std::string_view trimmed(std::string_view text) {
  const size_t start = text.find_first_not_of(' ');
  if (start == std::string_view::npos) return {};
  return text.substr(start, text.find_last_not_of(' ') - start + 1);
}

void apply_item(std::string_view item, LogLevels& levels) {
  const size_t equals = item.find('=');
  const std::string_view area_name =
      equals == std::string_view::npos ? "all" : trimmed(item.substr(0, equals));
  const LogLevel level =
      parse_level(equals == std::string_view::npos ? item : trimmed(item.substr(equals + 1)));
  if (area_name == "all") {
    levels.fill(level);
    return;
  }
  const auto area = find_name<LogArea>(kAreaNames, area_name);
  if (!area) {
    throw ValueError("'{}' is not an area (all, {})", area_name, fmt::join(kAreaNames, ", "));
  }
  levels[static_cast<size_t>(*area)] = level;
}

double elapsed_seconds() {
  static const auto start = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
// Starts the clock when the program is loaded, not at its first log line.
[[maybe_unused]] const double kSecondsAtLoad = elapsed_seconds();

// One call for a whole line, so that lines are not interleaved.
void write_to_stderr(const LogLine& line) {
  const std::string text = line.text() + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

struct SinkHolder {
  std::recursive_mutex mutex;  // recursive: held while the sink runs, which may set another sink
  LogSink sink;
};

SinkHolder& sink_holder() {
  static Immortal<SinkHolder> holder;
  return *holder;
}

thread_local bool is_in_sink = false;

void deliver(const LogLine& line) {
  if (is_in_sink) return write_to_stderr(line);
  SinkHolder& holder = sink_holder();
  const std::lock_guard lock(holder.mutex);
  if (!holder.sink) return write_to_stderr(line);
  const LogSink sink = holder.sink;
  is_in_sink = true;
  try {
    sink(line);
  } catch (...) {
    write_to_stderr(line);
  }
  is_in_sink = false;
}

}  // namespace

namespace {

// Reads the levels of the setting `log` again. An invalid value is ignored, which is logged once.
void refresh_log_levels() {
  static Immortal<std::mutex> mutex;
  std::string problem;
  {
    // The setting is read under the lock, so that the last caller stores its latest value.
    const std::lock_guard lock(*mutex);
    LogLevels levels = parse_log_levels("");
    try {
      levels = parse_log_levels(setting::kLog.get());
    } catch (const ValueError& error) {
      problem = error.what();
    }
    for (size_t i = 0; i < levels.size(); ++i) {
      log_detail::shown_levels[i].store(static_cast<uint8_t>(levels[i]), std::memory_order_relaxed);
    }
  }
  if (!problem.empty()) log(LogArea::core, LogLevel::warning, "{}", problem);
}

}  // namespace

namespace setting {

constinit Setting<std::string> kLog(
    {.name = "log",
     .standard = "",
     .description = "log levels by area, for example ir=debug,core=info",
     .form = "a comma-separated list of levels or area=level",
     .check = [](std::string_view text) { parse_log_levels(text); },
     .changed = refresh_log_levels});

}  // namespace setting

namespace {
const ListedSettings log_settings{&setting::kLog};
}

namespace log_detail {

constinit std::array<std::atomic<uint8_t>, kLogAreaCount> shown_levels = {
    kUnread, kUnread, kUnread, kUnread, kUnread, kUnread, kUnread,
    kUnread, kUnread, kUnread, kUnread, kUnread, kUnread, kUnread};

bool read_levels_and_test(LogArea area, LogLevel level) {
  refresh_log_levels();
  return log_is_on(area, level);
}

void write(LogArea area, LogLevel level, fmt::string_view format, fmt::format_args arguments) {
  const std::string message = fmt::vformat(format, arguments);
  deliver({.level = level, .area = area, .seconds = elapsed_seconds(), .message = message});
}

}  // namespace log_detail

std::string_view name_of(LogLevel level) {
  const auto index = static_cast<size_t>(level);
  return index < kLevelNames.size() ? kLevelNames[index] : "unknown";
}

std::string_view name_of(LogArea area) {
  const auto index = static_cast<size_t>(area);
  return index < kAreaNames.size() ? kAreaNames[index] : "unknown";
}

LogLevels parse_log_levels(std::string_view text) {
  LogLevels levels;
  levels.fill(kDefaultLevel);
  if (trimmed(text).empty()) return levels;
  for (size_t start = 0; start <= text.size();) {
    const size_t comma = std::min(text.find(',', start), text.size());
    apply_item(trimmed(text.substr(start, comma - start)), levels);
    start = comma + 1;
  }
  return levels;
}

std::string LogLine::text() const {
  return fmt::format("plait {:.3f} {} {}: {}", seconds, name_of(level), name_of(area), message);
}

LogSink set_log_sink(LogSink sink) {
  SinkHolder& holder = sink_holder();
  const std::lock_guard lock(holder.mutex);
  std::swap(holder.sink, sink);
  return sink;
}

}  // namespace plait
