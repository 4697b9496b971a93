// Logs of a training run. One interface to JSONL and CSV files and to TensorBoard's events, so that
// a run may write to several:
//
//   log.log(step, {{"loss", loss}, {"rate", rate}});
//
// Each log continues a former one where a run is resumed: what the run will write again is cut off
// first, so that each step stands once. A killed process loses nothing that was logged.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace plait {

// A number, true or false, or text.
class LogValue {
 public:
  using Any = std::variant<double, int64_t, bool, std::string>;

  // NOLINTBEGIN(google-explicit-constructor): a number or a text is a value
  template <std::same_as<bool> T>  // not of a pointer
  LogValue(T value) : any_(value) {}
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  LogValue(T value) : any_(checked(value)) {}  // ValueError past the largest i64
  template <std::floating_point T>
  LogValue(T value) : any_(static_cast<double>(value)) {}
  LogValue(std::string value) : any_(std::move(value)) {}
  LogValue(std::string_view value) : any_(std::string(value)) {}
  LogValue(const char* value) : any_(std::string(value)) {}
  // NOLINTEND(google-explicit-constructor)

  const Any& any() const { return any_; }

 private:
  template <std::integral T>
  static int64_t checked(T value) {
    if (!std::in_range<int64_t>(value)) refuse(static_cast<uint64_t>(value));
    return static_cast<int64_t>(value);
  }
  [[noreturn]] static void refuse(uint64_t value);

  Any any_;
};

struct LogEntry {
  std::string name;
  LogValue value;
};

// Functions may be called by several threads. ValueError for names that are empty or repeated, for
// text that is not UTF-8, for a negative step, and after close(). IoErrors leave all that was
// logged before.
class Log {
 public:
  Log() = default;
  virtual ~Log() = default;
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  virtual void log(int64_t step, std::span<const LogEntry> entries) = 0;
  void log(int64_t step, std::initializer_list<LogEntry> entries) {
    log(step, std::span<const LogEntry>(entries.begin(), entries.size()));
  }
  virtual void flush() = 0;  // returns when all is on the disk; needed only against power failures
  virtual void close() = 0;  // flushes; does nothing if it is closed already
};

// Passes all to several logs, also if one of them fails; then the first error is thrown.
class Logs final : public Log {
 public:
  explicit Logs(std::vector<std::shared_ptr<Log>> logs) : logs_(std::move(logs)) {}

  using Log::log;
  void log(int64_t step, std::span<const LogEntry> entries) override;
  void flush() override;
  void close() override;

 private:
  template <class Call>
  void for_each(const Call& call);

  std::vector<std::shared_ptr<Log>> logs_;
};

}  // namespace plait
