#include "plait/comm/inside/call_log.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "plait/comm/inside/comm_settings.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/log.h"

namespace plait::dist {
namespace {

constexpr uint64_t kCalls = 1000;

double seconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

CallLog& CallLog::of_process() {
  static Immortal<CallLog> log;
  return *log;
}

uint64_t CallLog::begin(const std::shared_ptr<const std::string>& group, const Call& call) {
  return add({.group = group, .summary = summary_of(call), .where = call.where});
}

uint64_t CallLog::begin(const std::shared_ptr<const std::string>& group, const Message& message) {
  return add({.group = group,
              .is_message = true,
              .summary = {.dtype = message.dtype, .root = message.peer, .count = message.count},
              .is_sent = message.is_sent,
              .tag = message.tag,
              .where = message.where});
}

uint64_t CallLog::add(Entry entry) {
  entry.begun = Clock::now();
  const std::lock_guard lock(mutex_);
  if (entries_.empty()) entries_.resize(kCalls);
  entries_[count_ % kCalls] = std::move(entry);
  return count_++;
}

void CallLog::end(uint64_t entry, bool has_failed) {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex_);
  if (entry + kCalls < count_) return;
  entries_[entry % kCalls].ended = now;
  entries_[entry % kCalls].state = has_failed ? State::failed : State::done;
}

std::string CallLog::line_of(uint64_t number, const Entry& entry, Clock::time_point now) {
  const Message message{.is_sent = entry.is_sent,
                        .peer = entry.summary.root,
                        .tag = entry.tag,
                        .dtype = entry.summary.dtype,
                        .count = entry.summary.count,
                        .where = entry.where};
  const std::string place = entry.where.text();
  const std::string text = entry.is_message ? text_of(message)
                           : place.empty()  ? text_of(entry.summary)
                                            : text_of(entry.summary) + " at " + place;
  std::string state = "in progress";
  if (entry.state != State::in_progress) {
    state = fmt::format("{} after {:.6f} s", entry.state == State::done ? "done" : "failed",
                        seconds(entry.ended - entry.begun));
  }
  return fmt::format("{:6} {:12.6f} s ago  {}: {}: {}\n", number, seconds(now - entry.begun),
                     *entry.group, text, state);
}

std::string CallLog::text() const {
  const Clock::time_point now = Clock::now();
  const std::lock_guard lock(mutex_);
  std::string text;
  for (uint64_t number = count_ - std::min(count_, kCalls); number < count_; ++number) {
    text += line_of(number, entries_[number % kCalls], now);
  }
  return text;
}

void CallLog::write(const std::string& reason) {
  const std::string folder = kCallLog.get();
  {
    const std::lock_guard lock(mutex_);
    if (folder.empty() || reason == written_) return;
    written_ = reason;
  }
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  const char* const rank = std::getenv("RANK");
  const std::string path = fmt::format(
      "{}/calls_{}.txt", folder,
      rank == nullptr ? fmt::format("of_process_{}", ::getpid()) : "of_rank_" + std::string(rank));
  std::ofstream file(path);
  file << reason << "\n\n" << text();
  if (!file.flush()) log(LogArea::dist, LogLevel::warning, "cannot write {}", path);
}

}  // namespace plait::dist
