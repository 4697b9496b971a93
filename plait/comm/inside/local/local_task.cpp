#include "plait/comm/inside/local/local_task.h"

#include <utility>

#include <fmt/format.h>

#include "plait/comm/inside/comm_settings.h"
#include "plait/core/error.h"

namespace plait::dist {

LocalTask::LocalTask(LocalEngine& engine, Call call)
    : engine_(engine),
      call_(std::move(call)),
      summary_(summary_of(call_)),
      number_(engine.calls_),
      rounds_(rounds_of(call_, engine.rank_, engine.size_, kSlotBytes)),
      is_short_(rounds_->is_short()),
      slots_(static_cast<size_t>(engine.size_)) {
  engine_.record(call_.where, summary_);
  history_ = engine_.history_;
  for (int step = 0; step < rounds_->step_count(); ++step) {
    waits_for_all_ |= rounds_->waits_for(step) == kEveryRank;
  }
}

LocalTask::~LocalTask() {
  if (stage_ != Stage::over) give_up("did not finish");
}

bool LocalTask::step() {
  for (;;) {
    if (stage_ == Stage::over) return true;
    if (stage_ == Stage::agreement) {
      if (!have_all_agreed()) return false;
      stage_ = Stage::over;
      return true;
    }
    if (stage_ == Stage::free_slot) {
      if (!is_slot_free()) return false;
      write();
      stage_ = Stage::arrivals;
    }
    if (!have_arrived()) return false;
    read();
    next_ = 0;
    if (++step_ < rounds_->step_count()) {
      write();
    } else {
      end_round();
    }
  }
}

bool LocalTask::is_slot_free() {
  if (engine_.rounds_ < kSlots) return true;
  const uint64_t needed = engine_.rounds_ - kSlots + 1;
  for (int rank = 0; rank < engine_.size_; ++rank) {
    LocalEngine::Peer& peer = engine_.peers_[static_cast<size_t>(rank)];
    if (rank == engine_.rank_ || peer.rounds_known >= needed) continue;
    peer.rounds_known = engine_.arena_.rank(rank).rounds.load();
    if (peer.rounds_known >= needed) continue;
    blocker_ = rank;
    return false;
  }
  return true;
}

void LocalTask::write() {
  rounds_->write(round_, step_, slot_of(engine_.rank_));
  RankBlock& own = engine_.arena_.rank(engine_.rank_);
  if (is_short_) {
    Line& line = own.lines[engine_.rounds_ % kSlots];
    line.history = history_;
    line.rounds.store(engine_.rounds_ + 1);
  } else {
    own.writes.store(++engine_.writes_);
  }
  engine_.ring();
}

bool LocalTask::have_arrived() {
  const int waits_for = rounds_->waits_for(step_);
  if (waits_for == kNoRank) return true;
  if (waits_for != kEveryRank) {
    blocker_ = waits_for;
    return has_arrived(waits_for);
  }
  for (; next_ < engine_.size_; ++next_) {
    blocker_ = next_;
    if (next_ != engine_.rank_ && !has_arrived(next_)) return false;
  }
  return true;
}

bool LocalTask::has_arrived(int rank) {
  const RankBlock& block = engine_.arena_.rank(rank);
  const Line& line = block.lines[engine_.rounds_ % kSlots];
  if (is_short_ ? line.rounds.load() <= engine_.rounds_ : block.writes.load() < engine_.writes_) {
    return false;
  }
  const uint64_t history = is_short_ ? line.history : block.histories[number_ % kRecords].load();
  if (history != history_) compare_with(rank);
  // It has done with all rounds before this one.
  engine_.peers_[static_cast<size_t>(rank)].rounds_known = engine_.rounds_;
  return true;
}

void LocalTask::read() {
  for (int rank = 0; rank < engine_.size_; ++rank) {
    slots_[static_cast<size_t>(rank)] = slot_of(rank);
  }
  try {
    rounds_->read(round_, step_, slots_);
  } catch (const DistError& error) {
    engine_.fail(fmt::format("{}: {}", text_of(call_), error.message()));
  }
}

void LocalTask::end_round() {
  step_ = 0;
  engine_.arena_.rank(engine_.rank_).rounds.store(++engine_.rounds_);
  engine_.ring();
  if (++round_ < rounds_->round_count()) {
    stage_ = Stage::free_slot;
  } else {
    stage_ = waits_for_all_ || !kAgreement.get() ? Stage::over : Stage::agreement;
  }
}

bool LocalTask::have_all_agreed() {
  for (; next_ < engine_.size_; ++next_) {
    blocker_ = next_;
    if (next_ == engine_.rank_) continue;
    if (engine_.arena_.rank(next_).calls.load() <= number_) return false;
    compare_with(next_);
  }
  return true;
}

std::byte* LocalTask::slot_of(int rank) const {
  if (!is_short_) return engine_.arena_.slot(rank, engine_.rounds_);
  return engine_.arena_.rank(rank).lines[engine_.rounds_ % kSlots].payload.data();
}

void LocalTask::check() {
  engine_.check();
  if (stage_ == Stage::over) return;
  for (int rank = 0; rank < engine_.size_; ++rank) {
    if (rank != engine_.rank_) compare_with(rank);
  }
  if (!engine_.has_ended(blocker_) || step()) return;
  // It has ended, and this rank still waits for it, if it has not come to wait for another one.
  if (!engine_.has_ended(blocker_)) return;
  engine_.fail(fmt::format("{}: {}", text_of(call_), engine_.absence_of(blocker_)));
}

void LocalTask::compare_with(int rank) {
  const RankBlock& block = engine_.arena_.rank(rank);
  if (!kAgreement.get() || block.calls.load() <= number_) return;
  if (block.histories[number_ % kRecords].load() == history_) return;
  const uint64_t call = engine_.first_difference(rank, number_);
  engine_.fail(fmt::format("ranks disagree: {}, {}", engine_.described(engine_.rank_, call),
                           engine_.described(rank, call)));
}

void LocalTask::end_late(std::chrono::milliseconds timeout) {
  std::string came, late;
  for (int rank = 0; rank < engine_.size_; ++rank) {
    const bool has_come = engine_.arena_.rank(rank).calls.load() > number_;
    std::string& list = has_come ? came : late;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", rank);
    if (!has_come) late += fmt::format(" ({})", engine_.last_call_of(rank));
  }
  engine_.fail(fmt::format("{} did not end within {} s: it was called by rank {}{}", text_of(call_),
                           static_cast<double>(timeout.count()) / 1000, came,
                           late.empty() ? fmt::format(", but rank {} does not go on", blocker_)
                                        : "; not by rank " + late));
}

void LocalTask::give_up(std::string_view reason) {
  engine_.give_up(fmt::format("{} in {}", reason, text_of(call_)));
}

}  // namespace plait::dist
