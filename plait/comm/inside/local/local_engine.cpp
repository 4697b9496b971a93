#include "plait/comm/inside/local/local_engine.h"

#include <algorithm>
#include <sstream>
#include <thread>
#include <utility>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "plait/comm/inside/comm_settings.h"
#include "plait/comm/inside/deadline.h"
#include "plait/comm/inside/hosts.h"
#include "plait/comm/inside/local/local_task.h"
#include "plait/comm/inside/local/message_task.h"
#include "plait/core/error.h"
#include "plait/core/hash.h"
#include "plait/core/inside/system/interruption.h"

namespace plait::dist {
namespace {

// About as long as a thread takes to wake up.
constexpr Patience kSpinning{.steps = 2'000}, kYielding{.steps = 200, .yields = true};

std::string key_of(int rank) { return fmt::format("local/{}", rank); }

// A rank tells this to the others through the store.
struct Announcement {
  pid_t process = 0;
  int arena = -1;  // the descriptor of that of rank 0
  std::string host;

  std::string text() const { return fmt::format("{} {} {}", process, arena, host); }
  static Announcement of(const std::string& text) {
    Announcement read;
    std::istringstream stream(text);
    stream >> read.process >> read.arena >> std::ws;
    std::getline(stream, read.host);
    return read;
  }
};

[[noreturn]] void refuse_name() {
  throw DistError("the store has a group of this name already")
      .hint("choose another name, or another store");
}

Arena arena_of(Store& store, int rank, int size) {
  if (rank == 0) {
    Arena made = Arena::make(size);
    const std::string text = Announcement{::getpid(), made.descriptor(), host_identity()}.text();
    if (store.compare_set(key_of(0), "", text) != text) refuse_name();
    return made;
  }
  const Announcement first = Announcement::of(store.get(key_of(0)));
  if (first.host != host_identity()) {
    throw DistError("the engine local: rank {} is not on the host of rank 0", rank)
        .hint("choose the engine gloo or mpi, or auto");
  }
  return Arena::open(first.process, first.arena, size);
}

Descriptor watched(pid_t process) {
  if (process == ::getpid()) return Descriptor();
  return Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
}

}  // namespace

LocalEngine::LocalEngine(Store& store, int rank, int size, Duration timeout)
    : rank_(rank),
      size_(size),
      arena_(arena_of(store, rank, size)),
      bell_(Doorbell::own()),
      peers_(static_cast<size_t>(size)),
      patience_(has_cores_for(size) ? kSpinning : kYielding),
      messages_(arena_, rank,
                [this](int peer) { peers_[static_cast<size_t>(peer)].bell->ring(); }) {
  RankBlock& own = arena_.rank(rank);
  if (own.state.load() != RankState::absent) refuse_name();
  own.process = ::getpid();
  own.doorbell = bell_->descriptor();
  own.state.store(RankState::present);
  join_peers(timeout);
}

LocalEngine::~LocalEngine() {
  RankBlock& own = arena_.rank(rank_);
  if (own.process != ::getpid()) return;  // forked
  own.state.store(RankState::left);
  ring();
}

void LocalEngine::join_peers(Duration timeout) {
  const Deadline deadline(timeout);
  const auto wait_until = [&](int rank, RankState state) {
    while (arena_.rank(rank).state.load() < state) {
      if (deadline.has_passed()) {
        throw DistError("rank {} did not join the group within {} s", rank,
                        static_cast<double>(timeout.count()) / 1000);
      }
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      check_interruption();
    }
  };
  for (int rank = 0; rank < size_; ++rank) {
    wait_until(rank, RankState::present);
    const RankBlock& block = arena_.rank(rank);
    Peer& peer = peers_[static_cast<size_t>(rank)];
    peer.process = watched(block.process);
    peer.bell = Doorbell::of(block.process, block.doorbell);
  }
  arena_.rank(rank_).state.store(RankState::joined);
  for (int rank = 0; rank < size_; ++rank) wait_until(rank, RankState::joined);
}

bool LocalEngine::step_or_sleep(Task& task, std::chrono::milliseconds most) const {
  const Doorbell::Sleeper sleeper(*bell_);
  if (task.step()) return true;
  sleeper.sleep(most);
  return false;
}

std::unique_ptr<Task> LocalEngine::begin(Call call) {
  check();
  return std::make_unique<LocalTask>(*this, std::move(call));
}

std::unique_ptr<Task> LocalEngine::begin(Message message) {
  check();
  return std::make_unique<MessageTask>(*this, std::move(message));
}

void LocalEngine::check() {
  if (const auto text = text_of(arena_.head().failure)) throw DistError("{}", *text);
}

void LocalEngine::give_up(const std::string& reason) {
  fail_with(arena_.head().failure, fmt::format("rank {} {}", rank_, reason));
  ring();
}

const std::string& LocalEngine::place_text(Location where) {
  const auto found = std::ranges::find(places_, where, &std::pair<Location, std::string>::first);
  if (found != places_.end()) return found->second;
  if (places_.size() == kRecords) places_.clear();
  return places_.emplace_back(where, where.text()).second;
}

void LocalEngine::record(Location where, const CallSummary& summary) {
  RankBlock& own = arena_.rank(rank_);
  if (!kAgreement.get()) {
    own.calls.store(++calls_);
    return;
  }
  CallRecord& record = own.records[calls_ % kRecords];
  record.summary = summary;
  const std::string& place = place_text(where);
  const size_t size = std::min(place.size(), record.place.size() - 1);
  std::copy_n(place.begin(), size, record.place.begin());
  record.place[size] = '\0';
  history_ = hash_combine(history_, fingerprint_of(summary));
  own.histories[calls_ % kRecords].store(history_, std::memory_order_relaxed);
  own.calls.store(++calls_);
}

void LocalEngine::ring() const {
  for (const Peer& peer : peers_) {
    if (peer.bell) peer.bell->ring();
  }
}

void LocalEngine::fail(const std::string& text) {
  fail_with(arena_.head().failure, text);
  ring();
  check();
  throw DistError("{}", text);
}

bool LocalEngine::has_ended(int rank) const {
  if (arena_.rank(rank).state.load() == RankState::left) return true;
  const int process = peers_[static_cast<size_t>(rank)].process.number();
  pollfd polled{.fd = process, .events = POLLIN, .revents = 0};
  return process >= 0 && ::poll(&polled, 1, 0) == 1;
}

std::string LocalEngine::absence_of(int rank) {
  if (!has_ended(rank)) return {};
  const bool has_left = arena_.rank(rank).state.load() == RankState::left;
  return fmt::format("rank {} has {}; {}", rank, has_left ? "left the group" : "ended",
                     last_call_of(rank));
}

uint64_t LocalEngine::first_difference(int rank, uint64_t latest) const {
  const auto& own = arena_.rank(rank_).records;
  const auto& other = arena_.rank(rank).records;
  uint64_t first = latest;
  // Ranks are a few calls apart, so that the oldest records may be overwritten.
  const uint64_t oldest = latest - std::min(latest, kRecords / 2);
  for (uint64_t call = latest; call + 1 > oldest; --call) {
    if (own[call % kRecords].summary != other[call % kRecords].summary) first = call;
    if (call == 0) break;
  }
  return first;
}

std::string LocalEngine::described(int rank, uint64_t call) const {
  const CallRecord& record = arena_.rank(rank).records[call % kRecords];
  const std::string place = record.place.data();
  return fmt::format("rank {} called {}{}", rank, text_of(record.summary),
                     place.empty() ? "" : " at " + place);
}

std::string LocalEngine::last_call_of(int rank) const {
  const RankBlock& block = arena_.rank(rank);
  const uint64_t calls = block.calls.load();
  std::string text = !kAgreement.get() ? fmt::format("rank {} has made {} calls", rank, calls)
                     : calls == 0      ? fmt::format("rank {} has called nothing", rank)
                                       : described(rank, calls - 1) + " last";
  const uint64_t waits = block.waits.load();
  if (block.in_waits.load() == 0 || waits == 0) return text;
  return fmt::format("{}, and waits in {}", text, block.wait_texts[(waits - 1) % kWaits].data());
}

void LocalEngine::begin_wait(std::string_view message) {
  RankBlock& own = arena_.rank(rank_);
  const std::lock_guard lock(waiting_);
  auto& text = own.wait_texts[own.waits.load() % kWaits];
  const size_t size = std::min(message.size(), text.size() - 1);
  std::copy_n(message.begin(), size, text.begin());
  text[size] = '\0';
  own.waits.fetch_add(1);
  own.in_waits.fetch_add(1);
}

void LocalEngine::end_wait() { arena_.rank(rank_).in_waits.fetch_sub(1); }

}  // namespace plait::dist
