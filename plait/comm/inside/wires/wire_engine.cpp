#include "plait/comm/inside/wires/wire_engine.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "plait/comm/inside/deadline.h"
#include "plait/comm/inside/wires/wire_message_task.h"
#include "plait/comm/inside/wires/wire_task.h"
#include "plait/core/error.h"
#include "plait/core/hash.h"
#include "plait/core/inside/system/interruption.h"
#include "plait/core/log.h"

namespace plait::dist {
namespace {

// A store that does not answer may not hold up a rank for longer.
constexpr Duration kStoreTimeout{500};
constexpr std::chrono::milliseconds kBetweenNotices{100};
constexpr size_t kRecentCalls = 64;
constexpr std::chrono::seconds kUnusualWait{5};
// Between two looks at a wire that is polled.
constexpr std::chrono::microseconds kShortestPause{10}, kLongestPause{500};
// A slot of messages that no message has, but for one in 2^63.
constexpr uint64_t kWatchSlot = ~kCallSlot;

const std::string kFailure = "failure";
std::string key_of(int rank) { return fmt::format("called/{}", rank); }

}  // namespace

std::shared_ptr<Store> WireEngine::open_notices(Store& store, int rank, int size) {
  store.compare_set(kFailure, "", "");
  store.set(key_of(rank), "");
  std::vector<std::string> keys;
  for (int other = 0; other < size; ++other) keys.push_back(key_of(other));
  store.wait(keys);
  auto notices = store.clone(store.timeout());  // a connection may take long
  notices->set_timeout(kStoreTimeout);
  return notices;
}

WireEngine::WireEngine(std::unique_ptr<Wire> wire, std::shared_ptr<Store> notices, int rank,
                       int size, Duration timeout)
    : wire_(std::move(wire)),
      bell_(Doorbell::own()),
      store_(std::move(notices)),
      rank_(rank),
      size_(size),
      timeout_(timeout),
      process_(::getpid()) {}

WireEngine::~WireEngine() {
  if (process_ != ::getpid()) {  // forked: what the threads of the wire hold stays held
    [[maybe_unused]] const auto* const left_behind =
        new std::pair(std::move(sending_), std::move(watches_));
    return;
  }
  if (!has_left_.load()) wait_for_receivers(false);
  if (has_failed_.load()) return;
  Notice last = own_notice();
  last.has_left = true;
  try {
    store_->set(key_of(rank_), bytes_of(last));
  } catch (const Error&) {  // the rank of the store may have ended before
  }
}

void WireEngine::leave() {
  wait_for_receivers(true);
  has_left_.store(true);
}

void WireEngine::wait_for_receivers(bool is_interruptible) {
  const Deadline deadline(timeout_), soon(kUnusualWait);
  auto checked = std::chrono::steady_clock::now();
  bool is_said = false;
  while (!has_failed_.load() && !has_sent_all() && !deadline.has_passed()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (!is_said && soon.has_passed()) {
      is_said = true;
      const std::lock_guard lock(mutex_);
      log(LogArea::dist, LogLevel::warning, "leaving a group waits until {} is received",
          messages_.empty() ? "a message" : dist::text_of(messages_.front().message));
    }
    if (!is_interruptible || std::chrono::steady_clock::now() - checked < kInterruptible) continue;
    checked = std::chrono::steady_clock::now();
    check_interruption();
  }
}

std::unique_ptr<Task> WireEngine::begin(Call call) {
  check();
  return std::make_unique<WireTask>(*this, std::move(call));
}

std::unique_ptr<Task> WireEngine::begin(Message message) {
  check();
  return std::make_unique<WireMessageTask>(*this, std::move(message));
}

void WireEngine::check() {
  if (!has_failed_.load()) return;
  const std::lock_guard lock(mutex_);
  throw DistError("{}", failure_);
}

bool WireEngine::step_or_sleep(Task& task, std::chrono::milliseconds most) const {
  if (!wire_->is_polled()) {
    const Doorbell::Sleeper sleeper(*bell_);
    if (task.step()) return true;
    sleeper.sleep(most);
    return false;
  }
  const Deadline deadline(most);
  for (auto pause = kShortestPause; !task.step(); pause = std::min(pause * 2, kLongestPause)) {
    if (deadline.has_passed()) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

std::string WireEngine::absence_of(int rank) {
  if (rank == rank_ || wire_->is_polled()) return {};
  const std::lock_guard lock(mutex_);
  watches_.resize(static_cast<size_t>(size_));
  std::unique_ptr<WireTransfer>& watch = watches_[static_cast<size_t>(rank)];
  try {
    if (!watch) {
      const auto byte = std::make_shared<std::byte>();
      watch = wire_->receive(rank, kWatchSlot, {byte.get(), 1}, byte);
    }
    watch->is_over();
  } catch (const DistError& error) {
    return error.message();
  }
  return {};
}

WireEngine::Begun WireEngine::record(const Call& call) {
  Begun begun{.call = call};
  begun.call.in = nullptr;
  begun.call.out = nullptr;
  begun.call.keeps = {};
  const std::lock_guard lock(mutex_);
  history_ = hash_combine(history_, fingerprint_of(summary_of(call)));
  begun.number = calls_++;
  begun.history = history_;
  recent_.push_back(begun);
  if (recent_.size() > kRecentCalls) recent_.pop_front();
  return begun;
}

WireEngine::Messages::iterator WireEngine::add(const Message& message) {
  const std::lock_guard lock(mutex_);
  Message added = message;
  added.keeps = {};
  return messages_.insert(messages_.end(), {message_count_++, std::move(added)});
}

void WireEngine::remove(Messages::iterator message, int peer) {
  const std::lock_guard lock(mutex_);
  ++ended_[{message->message.is_sent, peer, message->message.tag}];
  messages_.erase(message);
}

void WireEngine::keep_sending(std::unique_ptr<WireTransfer> transfer, Messages::iterator message) {
  {
    const std::lock_guard lock(mutex_);
    sending_.emplace_back(std::move(transfer), message);
  }
  has_sent_all();
}

bool WireEngine::has_sent_all() {
  const std::lock_guard lock(mutex_);
  std::erase_if(sending_, [&](const auto& sent) {
    try {
      if (!sent.first->is_over()) return false;
    } catch (const DistError&) {  // a rank that has ended does not receive it any more
    }
    const Message& message = sent.second->message;
    ++ended_[{true, message.peer, message.tag}];
    messages_.erase(sent.second);
    return true;
  });
  return sending_.empty();
}

Notice WireEngine::own_notice() {
  has_sent_all();  // counts those that are over
  const std::lock_guard lock(mutex_);
  Notice notice{.version = ++notice_count_};
  for (const Begun& begun : recent_) {
    notice.calls.push_back({.number = begun.number,
                            .history = begun.history,
                            .text = text_of(begun.call),
                            .send_counts = begun.call.send_counts,
                            .receive_counts = begun.call.receive_counts});
  }
  for (const auto& [id, message] : messages_) {
    notice.messages.push_back({.id = id,
                               .is_sent = message.is_sent,
                               .peer = message.peer,
                               .tag = message.tag,
                               .type = type_text(message.dtype, message.count),
                               .place = message.where.text(),
                               .ended = ended_[{message.is_sent, message.peer, message.tag}]});
  }
  return notice;
}

std::vector<Notice> WireEngine::exchange_notices() {
  std::vector<Notice> notices;
  try {
    store_->set(key_of(rank_), bytes_of(own_notice()));
    std::vector<std::string> keys = {kFailure};
    for (int rank = 0; rank < size_; ++rank) keys.push_back(key_of(rank));
    const std::vector<std::string> values = store_->multi_get(keys);
    if (!values[0].empty()) end_with(values[0]);
    for (size_t i = 1; i < values.size(); ++i) notices.push_back(read_notice(values[i]));
  } catch (const Error&) {
    notices.clear();  // the rank of the store may be the one that has ended
  }
  check();
  return notices;
}

void WireEngine::compare_with_others() {
  std::string text;
  {
    const std::unique_lock lock(comparing_, std::try_to_lock);
    const auto now = std::chrono::steady_clock::now();
    if (!lock || now - compared_ < kBetweenNotices) return;
    std::vector<Notice> notices = exchange_notices();
    compared_ = std::chrono::steady_clock::now();
    for (int other = 0; other < static_cast<int>(notices.size()) && text.empty(); ++other) {
      if (other != rank_) text = difference_between(rank_, other, seen_, notices);
    }
    seen_ = std::move(notices);
  }
  if (!text.empty()) fail(text);
}

void WireEngine::end_with(const std::string& text) {
  {
    const std::lock_guard lock(mutex_);
    if (has_failed_.load()) return;
    failure_ = text;
    has_failed_.store(true);
  }
  wire_->close();
}

void WireEngine::fail(const std::string& text) {
  check();
  std::string first = text;
  try {
    first = store_->compare_set(kFailure, "", text);
  } catch (const Error&) {  // the others see that this rank has closed its connections
  }
  end_with(first);
  check();
  throw DistError("{}", text);
}

void WireEngine::give_up(const std::string& reason) {
  if (has_failed_.load()) return;
  try {
    fail(fmt::format("rank {} {}", rank_, reason));
  } catch (const DistError&) {  // later calls say it
  }
}

}  // namespace plait::dist
