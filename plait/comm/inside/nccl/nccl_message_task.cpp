#include "plait/comm/inside/nccl/nccl_message_task.h"

#include <utility>

#include <fmt/format.h>

#include "plait/comm/inside/comm_settings.h"
#include "plait/core/error.h"

namespace plait::dist {
namespace {

Message without_data(Message message) {
  message.in = nullptr;
  message.out = nullptr;
  message.keeps = {};
  message.moves_nothing = true;
  return message;
}

}  // namespace

NcclMessageTask::NcclMessageTask(NcclEngine& engine, Message message)
    : engine_(engine),
      message_(std::move(message)),
      channel_(engine.channel(message_.is_sent, message_.peer)),
      place_(channel_.add()),
      is_compared_(!kAgreement.get()) {
  if (is_compared_) return;
  control_ = engine_.with_control([&] { return engine_.control_->begin(without_data(message_)); });
}

NcclMessageTask::~NcclMessageTask() {
  if (!is_over_) give_up("did not finish");
}

bool NcclMessageTask::step() {
  if (is_over_) return true;
  if (!is_compared_) is_compared_ = engine_.with_control([&] { return control_->step(); });
  if (!is_compared_) return false;
  try {
    is_over_ = channel_.step(place_, message_);
  } catch (const Error& error) {
    engine_.check();  // the group may have failed before
    engine_.fail(fmt::format("{}: {}", text_of(message_), error.message()));
  }
  if (is_over_ && message_.source) message_.source->store(message_.peer);
  return is_over_;
}

void NcclMessageTask::check() {
  engine_.check();
  if (control_) engine_.with_control([&] { control_->check(); });
  if (is_over_ || !is_compared_) return;
  const std::string lasting = absence_.lasting(engine_.absence_of(message_.peer));
  if (!lasting.empty()) engine_.fail(fmt::format("{}: {}", text_of(message_), lasting));
}

void NcclMessageTask::end_late(std::chrono::milliseconds timeout) {
  if (!is_compared_) engine_.with_control([&] { control_->end_late(timeout); });
  engine_.fail(fmt::format("{} did not end within {} s", text_of(message_),
                           static_cast<double>(timeout.count()) / 1000));
}

void NcclMessageTask::give_up(std::string_view reason) {
  if (!is_compared_) {
    control_->give_up(reason);
    return engine_.abort();
  }
  try {
    engine_.fail(fmt::format("rank {} {} in {}", engine_.rank_, reason, text_of(message_)));
  } catch (const DistError&) {  // NOLINT(bugprone-empty-catch): later calls say it
  }
}

}  // namespace plait::dist
