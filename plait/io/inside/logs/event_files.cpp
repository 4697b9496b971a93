#include "plait/io/inside/logs/event_files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <system_error>

#include <unistd.h>

#include "plait/core/error.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/logs/append_file.h"
#include "plait/io/inside/logs/event_fields.h"

namespace plait {
namespace {

namespace fs = std::filesystem;

// TensorBoard reads each file whose name contains this.
constexpr std::string_view kEventsMark = "tfevents";
constexpr std::string_view kEventsBegin = "events.out.tfevents.";
constexpr std::string_view kRewrittenEvents =
    ".events.rewritten";                         // ending of a file before it is renamed
constexpr int64_t kMostSeconds = 9'999'999'999;  // names have ten digits of them

struct KeptRecords {
  std::vector<EventRecord> records;
  bool is_all = true;
};

KeptRecords kept_records(std::span<const std::byte> file,
                         const std::function<bool(const EventContent&)>& keep) {
  KeptRecords kept;
  EventRecordReader reader(file);
  while (const auto record = reader.next()) {
    const EventContent content = read_event(record->payload, record->payload_begin);
    if (!content.is_version && !keep(content)) {
      kept.is_all = false;
      continue;
    }
    kept.records.push_back(*record);
  }
  kept.is_all = kept.is_all && reader.position() == file.size();
  return kept;
}

// The name in between is not one that TensorBoard reads, since the file may be left half written.
void write_again(const std::string& path, std::span<const std::byte> old, const KeptRecords& kept) {
  const std::string rewritten = (fs::path(path).parent_path() / kRewrittenEvents).string();
  OutputFile file(rewritten);
  for (size_t i = 0; i < kept.records.size();) {
    size_t last = i;
    while (last + 1 < kept.records.size() &&
           kept.records[last + 1].begin == kept.records[last].end) {
      ++last;
    }
    const uint64_t begin = kept.records[i].begin;
    file.write(old.subspan(begin, kept.records[last].end - begin));
    i = last + 1;
  }
  file.finish();
  if (::rename(rewritten.c_str(), path.c_str()) != 0) {
    throw IoError("cannot write {}: {}", path, std::generic_category().message(errno));
  }
}

struct CheckedEvents {
  std::string path;
  std::unique_ptr<InputFile> file;
  KeptRecords kept;
};

CheckedEvents checked_events(const std::string& path,
                             const std::function<bool(const EventContent&)>& keep) {
  CheckedEvents checked{path, std::make_unique<InputFile>(path), {}};
  try {
    checked.kept = kept_records(checked.file->bytes(), keep);
  } catch (Error& error) {
    error.prepend(path + ": ");
    error.set_hint("move the file away to continue without its records");
    throw;
  }
  return checked;
}

void replace_events(const CheckedEvents& checked) {
  if (!checked.kept.is_all) write_again(checked.path, checked.file->bytes(), checked.kept);
}

void remove_rewritten(const std::string& folder) {
  const fs::path rewritten = fs::path(folder) / kRewrittenEvents;
  remove_unfinished(rewritten.string());
  std::error_code ignored;
  fs::remove(rewritten, ignored);
}

std::string host_name() {
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0') return "localhost";
  return name;
}

// The time in a name; 0 if it has none.
int64_t seconds_in(std::string_view name) {
  int64_t seconds = 0;
  if (name.starts_with(kEventsBegin)) {
    name.remove_prefix(kEventsBegin.size());
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), seconds);
    if (error != std::errc() || seconds >= kMostSeconds) return 0;
  }
  return seconds;
}

}  // namespace

std::vector<std::string> event_files(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  fs::directory_iterator entries(folder, error);
  for (; !error && entries != fs::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    std::error_code not_found;
    if (name.find(kEventsMark) != std::string::npos && entries->is_regular_file(not_found)) {
      files.push_back(entries->path().string());
    }
  }
  if (error) throw IoError("cannot read {}: {}", folder, error.message());
  std::ranges::sort(files);
  return files;
}

// Names begin with the time in seconds, and are read in their order. Of two logs in one second, or
// of a clock that was set back, the later one takes the time after the former one's.
std::string next_event_file(const std::string& folder, double wall_time, std::string_view ending) {
  auto seconds = static_cast<int64_t>(std::clamp(std::floor(wall_time), 0., double(kMostSeconds)));
  for (const std::string& former : event_files(folder)) {
    seconds = std::max(seconds, seconds_in(fs::path(former).filename().string()) + 1);
  }
  const std::string name =
      fmt::format("{}{:010}.{}.{}{}", kEventsBegin, seconds, host_name(), ::getpid(), ending);
  return (fs::path(folder) / name).string();
}

void filter_events(const std::string& folder, const std::vector<std::string>& files,
                   const std::function<bool(const EventContent&)>& keep) {
  remove_rewritten(folder);
  std::vector<CheckedEvents> checked;
  for (const std::string& file : files) checked.push_back(checked_events(file, keep));
  for (const CheckedEvents& each : checked) replace_events(each);
}

std::string_view description_tag(const EventContent& content) {
  if (!content.graph.empty()) return kGraphTag;
  return content.first_tag.starts_with(kHparamsPrefix) ? content.first_tag : std::string_view();
}

Descriptions cut_events(const std::string& folder, const std::vector<std::string>& files,
                        int64_t from_step) {
  Descriptions descriptions;
  filter_events(folder, files, [&](const EventContent& content) {
    if (content.step >= from_step || content.first_tag == kHparamsEnd) return false;
    if (const std::string_view tag = description_tag(content); !tag.empty()) {
      descriptions[std::string(tag)] = content.graph.empty() ? content.first_value : content.graph;
    }
    return true;
  });
  return descriptions;
}

}  // namespace plait
