#include "plait/comm/inside/wires/wire_task.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "plait/comm/inside/comm_settings.h"
#include "plait/comm/inside/reduction.h"
#include "plait/core/error.h"
#include "plait/core/hash.h"

namespace plait::dist {

WireTask::WireTask(WireEngine& engine, Call call)
    : engine_(engine),
      call_(std::move(call)),
      begun_(engine.record(call_)),
      program_(wire_program_of(call_, engine.rank_, engine.size_)),
      keeps_(std::make_shared<std::pair<std::shared_ptr<const void>, std::shared_ptr<std::byte[]>>>(
          call_.keeps, program_.scratch)) {}

WireTask::~WireTask() {
  if (next_ < program_.steps.size()) give_up("did not finish");
}

bool WireTask::step() {
  try {
    for (; next_ < program_.steps.size(); ++next_) {
      if (!run(program_.steps[next_])) return false;
    }
  } catch (const DistError& error) {
    engine_.fail(fmt::format("{}: {}", text_of(call_), error.message()));
  }
  return true;
}

uint64_t WireTask::slot_of(const WireStep& step) const {
  return hash_combine(begun_.history, static_cast<uint64_t>(step.size)) | kCallSlot;
}

bool WireTask::run(const WireStep& step) {
  const auto size = static_cast<size_t>(step.size);
  switch (step.kind) {
    case WireStepKind::send:
      // To a rank that sends nothing back, which may have called something else.
      transfers_.push_back(engine_.wire_->send(step.rank, slot_of(step), {step.in, size}, keeps_,
                                               call_.root >= 0 && kAgreement.get()));
      break;
    case WireStepKind::receive:
      transfers_.push_back(
          engine_.wire_->receive(step.rank, slot_of(step), {step.out, size}, keeps_));
      break;
    case WireStepKind::wait:
      if (!transfers_[step.transfer]->is_over()) return false;
      break;
    case WireStepKind::reduce:
      reduce_parts(call_.reduction, call_.dtype, step.parts, step.out, step.size);
      break;
    case WireStepKind::copy:
      if (size > 0) std::memcpy(step.out, step.in, size);
      break;
  }
  return true;
}

void WireTask::check() {
  engine_.check();
  engine_.compare_with_others();
}

void WireTask::end_late(std::chrono::milliseconds timeout) {
  const std::vector<Notice> notices = engine_.exchange_notices();
  std::string came, others;
  for (int rank = 0; rank < engine_.size_; ++rank) {
    const Notice notice = notices.empty() ? Notice() : notices[static_cast<size_t>(rank)];
    if (rank == engine_.rank_ ||
        (!notice.calls.empty() && notice.calls.back().number >= begun_.number)) {
      came += fmt::format("{}{}", came.empty() ? "" : ", ", rank);
    } else {
      others += "; " + state_of(rank, notice);
    }
  }
  engine_.fail(fmt::format("{} did not end within {} s: it was called by rank {}{}", text_of(call_),
                           static_cast<double>(timeout.count()) / 1000, came, others));
}

void WireTask::give_up(std::string_view reason) {
  engine_.give_up(fmt::format("{} in {}", reason, text_of(call_)));
}

}  // namespace plait::dist
