#include "plait/comm/inside/local/message_task.h"

#include <utility>

#include <fmt/format.h>

#include "plait/core/error.h"

namespace plait::dist {

MessageTask::MessageTask(LocalEngine& engine, Message message) : engine_(engine) {
  const std::string place = message.where.text();
  transfer_ = engine.messages_.add(std::move(message), place);
}

MessageTask::~MessageTask() {
  if (has_told_) engine_.end_wait();
  if (transfer_->is_over.load()) return;
  give_up("did not finish");
  engine_.messages_.abandon(transfer_);
}

bool MessageTask::step() {
  if (transfer_->is_over.load()) return true;
  try {
    engine_.messages_.move();
  } catch (const DistError& error) {
    engine_.fail(error.message());
  }
  return transfer_->is_over.load();
}

void MessageTask::check() {
  engine_.check();
  if (!has_told_) engine_.begin_wait(text_of(transfer_->message));
  has_told_ = true;
  if (!is_deserted() || step()) return;
  const bool is_of_any = transfer_->message.peer == kAnyRank;
  engine_.fail(fmt::format(
      "{}: {}{}", text(),
      is_of_any ? "all other ranks have ended"
                : fmt::format("rank {} has ended or left the group", transfer_->message.peer),
      state_of_peer()));
}

std::string MessageTask::text() const {
  return fmt::format("{}, which rank {} called", text_of(transfer_->message), engine_.rank_);
}

std::string MessageTask::state_of_peer() const {
  const int peer = transfer_->message.peer;
  if (peer == kAnyRank) return {};
  const std::string unclaimed = engine_.messages_.unclaimed(peer);
  return fmt::format("; {}{}{}", engine_.last_call_of(peer), unclaimed.empty() ? "" : "; ",
                     unclaimed);
}

bool MessageTask::is_deserted() const {
  const int peer = transfer_->message.peer;
  if (peer != kAnyRank) return engine_.has_ended(peer);
  for (int rank = 0; rank < engine_.size_; ++rank) {
    if (rank != engine_.rank_ && !engine_.has_ended(rank)) return false;
  }
  return true;
}

void MessageTask::end_late(std::chrono::milliseconds timeout) {
  engine_.fail(fmt::format("{}, did not end within {} s{}", text(),
                           static_cast<double>(timeout.count()) / 1000, state_of_peer()));
}

void MessageTask::give_up(std::string_view reason) {
  engine_.give_up(fmt::format("{} in {}", reason, text_of(transfer_->message)));
}

}  // namespace plait::dist
