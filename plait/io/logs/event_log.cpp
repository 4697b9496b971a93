#include "plait/io/logs/event_log.h"

#include <chrono>
#include <exception>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/logs/append_file.h"
#include "plait/io/inside/logs/event_fields.h"
#include "plait/io/inside/logs/event_files.h"
#include "plait/io/inside/logs/event_messages.h"
#include "plait/io/inside/logs/event_records.h"
#include "plait/io/inside/logs/hparams_messages.h"
#include "plait/io/inside/logs/log_entries.h"
#include "plait/io/inside/logs/path_lock.h"
#include "plait/io/inside/logs/program_graph.h"

namespace plait {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLock = ".events.lock";
constexpr std::string_view kEndingOfParts = ".of-parent";

double wall_clock() {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

std::string made_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw IoError("cannot make the folder {}: {}", folder, error.message());
  return folder;
}

std::string lock_in(const std::string& folder) { return (fs::path(folder) / kLock).string(); }
std::string log_in(const std::string& folder) { return "the log " + folder; }

void expect_tag(std::string_view tag) {
  if (tag.empty()) throw ValueError("log: the tag is empty");
  expect_text("the tag", tag);
}

// Parts that the resumed run does not write to must not keep later steps either. Other folders
// below this one are other logs.
void cut_parts(const std::string& folder, int64_t from_step) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::error_code not_found;
    if (!entry.is_directory(not_found)) continue;
    const std::string part = entry.path().string();
    std::vector<std::string> files = event_files(part);
    std::erase_if(files, [](const std::string& file) { return !file.ends_with(kEndingOfParts); });
    if (files.empty()) continue;
    const PathLock lock(lock_in(part), log_in(part));
    cut_events(part, files, from_step);
    cut_parts(part, from_step);
  }
}

}  // namespace

struct EventLog::State {
  State(const std::string& place, std::optional<int64_t> from, std::string_view ending)
      : folder(made_folder(place)), lock(std::in_place, lock_in(folder), log_in(folder)) {
    former = event_files(folder);
    if (from) {
      descriptions = cut_events(folder, former, *from);
      cut_parts(folder, *from);
      former = event_files(folder);
    } else if (!former.empty()) {
      throw IoError("{} has events already", folder)
          .hint("pass a step to continue from, 0 to begin again, or choose another folder");
    }
    from_step = from;
    begin_file(ending);
  }

  void begin_file(std::string_view ending) {
    const double time = wall_clock();
    path = next_event_file(folder, time, ending);
    file.emplace(path);
    try {
      file->append(event_record(version_event(time)));
      if (from_step) file->append(event_record(restart_event({time, *from_step})));
    } catch (...) {
      std::error_code ignored;
      fs::remove(path, ignored);
      throw;
    }
  }

  void expect_open() const {
    if (!file) throw ValueError("log: the log {} is closed", folder);
  }

  void append(std::string_view event) {
    const std::lock_guard guard(mutex);
    append_locked(event);
  }
  void append_locked(std::string_view event) {
    expect_open();
    file->append(event_record(event));
  }

  bool has_hparams() const {
    const std::string tag(kHparamsStart);
    return descriptions.contains(tag) || own_descriptions.contains(tag);
  }

  void describe(std::string_view tag, const std::string& bytes, std::string_view event);
  void remove_former(std::string_view tag);
  void close(bool is_success);

  std::string folder;
  std::optional<PathLock> lock;
  std::optional<int64_t> from_step;
  std::vector<std::string> former;  // files of earlier processes
  Descriptions descriptions;        // in those files
  Descriptions own_descriptions;    // own descriptions of this process, wherever they are
  std::string path;
  std::optional<AppendFile> file;  // empty after close()
  std::map<std::string, std::unique_ptr<EventLog>> parts;
  std::mutex mutex;
};

void EventLog::State::describe(std::string_view tag, const std::string& bytes,
                               std::string_view event) {
  const std::lock_guard guard(mutex);
  expect_open();
  const std::string name(tag);
  if (const auto own = own_descriptions.find(name); own != own_descriptions.end()) {
    if (own->second == bytes) return;
    throw ValueError("log: another {} was written already", tag == kGraphTag ? "graph" : name)
        .hint("write it into a part of the log");
  }
  const auto found = descriptions.find(name);
  if (found == descriptions.end() || found->second != bytes) {
    if (found != descriptions.end()) remove_former(tag);
    append_locked(event);
  }
  own_descriptions.emplace(name, bytes);
}

// TensorBoard shows the first description of a tag.
void EventLog::State::remove_former(std::string_view tag) {
  filter_events(folder, former,
                [&](const EventContent& content) { return description_tag(content) != tag; });
  former = event_files(folder);
  std::erase(former, path);
  descriptions.erase(std::string(tag));
}

void EventLog::State::close(bool is_success) {
  const std::lock_guard guard(mutex);
  if (!file) return;
  std::exception_ptr error;
  try {
    if (has_hparams()) {
      const double time = wall_clock();
      const auto status = is_success ? HparamsStatus::success : HparamsStatus::failure;
      const ProtobufWriter end = hparams_end(status, time);
      append_locked(summary_event({.wall_time = time}, {&end, 1}));
    }
    file->sync();
    for (const auto& [name, log] : parts) log->close(is_success);
  } catch (...) {
    error = std::current_exception();
  }
  parts.clear();
  file.reset();
  lock.reset();
  if (error) std::rethrow_exception(error);
}

// ---- The log.

namespace {

EventTime checked_time(int64_t step, EventLog::WallTime wall_time) {
  expect_step(step);
  return {wall_time.value_or(wall_clock()), step};
}

struct AsEventValue {
  std::string_view tag;

  ProtobufWriter operator()(const std::string& value) const { return text_value(tag, value); }
  template <class T>
  ProtobufWriter operator()(T value) const {
    return scalar_value(tag, static_cast<double>(value));
  }
};

}  // namespace

EventLog::EventLog(const std::string& folder, std::optional<int64_t> from_step)
    : EventLog(folder, from_step, "") {}
EventLog::EventLog(const std::string& folder, std::optional<int64_t> from_step,
                   std::string_view ending) {
  if (from_step) expect_step(*from_step);
  state_ = std::make_unique<State>(folder, from_step, ending);
}
EventLog::~EventLog() = default;

const std::string& EventLog::folder() const { return state_->folder; }

void EventLog::log(int64_t step, std::span<const LogEntry> entries) {
  const EventTime time = checked_time(step, {});
  expect_entries(entries);
  std::vector<ProtobufWriter> values;
  for (const LogEntry& entry : entries) {
    values.push_back(std::visit(AsEventValue{entry.name}, entry.value.any()));
  }
  state_->append(summary_event(time, values));
}

void EventLog::scalar(std::string_view tag, double value, int64_t step, WallTime wall_time) {
  expect_tag(tag);
  const ProtobufWriter message = scalar_value(tag, value);
  state_->append(summary_event(checked_time(step, wall_time), {&message, 1}));
}

void EventLog::text(std::string_view tag, std::string_view text, int64_t step, WallTime wall_time) {
  expect_tag(tag);
  expect_text("the text", text);
  const ProtobufWriter message = text_value(tag, text);
  state_->append(summary_event(checked_time(step, wall_time), {&message, 1}));
}

void EventLog::histogram(std::string_view tag, const Array& array, int64_t step,
                         WallTime wall_time) {
  expect_tag(tag);
  const ProtobufWriter message = histogram_value(tag, histogram_of(array));
  state_->append(summary_event(checked_time(step, wall_time), {&message, 1}));
}

void EventLog::image(std::string_view tag, const Array& array, int64_t step, WallTime wall_time) {
  expect_tag(tag);
  const ProtobufWriter message = image_value(tag, png_image(array));
  state_->append(summary_event(checked_time(step, wall_time), {&message, 1}));
}

void EventLog::hparams(std::span<const LogEntry> values, std::span<const std::string> metrics) {
  expect_entries(values);
  for (const std::string& tag : metrics) expect_tag(tag);
  const EventTime time{.wall_time = wall_clock()};
  const ProtobufWriter experiment = hparams_experiment(values, metrics);
  const ProtobufWriter start = hparams_start(values);
  state_->describe(kHparamsExperiment, experiment.bytes(), summary_event(time, {&experiment, 1}));
  state_->describe(kHparamsStart, start.bytes(), summary_event(time, {&start, 1}));
}

void EventLog::graph(const ir::Program& program) {
  const std::string graph = program_graph(program);
  state_->describe(kGraphTag, graph, graph_event({.wall_time = wall_clock()}, graph));
}

EventLog& EventLog::part(const std::string& name) {
  if (name.empty() || name == "." || name == ".." ||
      name.find_first_of(std::string_view("/\0", 2)) != std::string::npos) {
    throw ValueError("log: a part cannot be named {}", in_quotes(name));
  }
  const std::lock_guard guard(state_->mutex);
  state_->expect_open();
  auto& log = state_->parts[name];
  if (!log) {
    const std::string folder = (fs::path(state_->folder) / name).string();
    log.reset(new EventLog(folder, state_->from_step, kEndingOfParts));
  }
  return *log;
}

void EventLog::flush() {
  const std::lock_guard guard(state_->mutex);
  state_->expect_open();
  state_->file->sync();
  for (const auto& [name, log] : state_->parts) log->flush();
}

void EventLog::close(bool is_success) { state_->close(is_success); }

}  // namespace plait
