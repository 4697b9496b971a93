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
  if (!is_deserted() || step()) return;
  const int peer = transfer_->message.peer;
  engine_.fail(peer == kAnyRank
                   ? text_of(transfer_->message) + ": all other ranks have ended"
                   : fmt::format("{}: rank {} has ended or left the group; {}",
                                 text_of(transfer_->message), peer, engine_.last_call_of(peer)));
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
  engine_.fail(fmt::format("{} did not end within {} s", text_of(transfer_->message),
                           static_cast<double>(timeout.count()) / 1000));
}

void MessageTask::give_up(std::string_view reason) {
  fail_with(engine_.arena_.head().failure,
            fmt::format("rank {} {} in {}", engine_.rank_, reason, text_of(transfer_->message)));
  engine_.ring();
}

}  // namespace plait::dist
