#include "plait/comm/inside/nccl/nccl_task.h"

#include <utility>

#include <fmt/format.h>

#include "plait/comm/inside/comm_settings.h"
#include "plait/comm/inside/nccl/nccl_calls.h"
#include "plait/core/error.h"

namespace plait::dist {
namespace {

bool is_on_host(const Call& call) {
  return call.kind == CallKind::barrier || call.kind == CallKind::new_group;
}

Call without_data(Call call) {
  call.in = nullptr;
  call.out = nullptr;
  call.keeps = {};
  call.moves_nothing = true;
  return call;
}

}  // namespace

NcclTask::NcclTask(NcclEngine& engine, Call call) : engine_(engine), call_(std::move(call)) {
  if (!kAgreement.get() && !is_on_host(call_)) return;
  stage_ = Stage::agreement;
  control_ = engine_.with_control([&] { return engine_.control_->begin(without_data(call_)); });
}

NcclTask::~NcclTask() {
  if (stage_ != Stage::over) give_up("did not finish");
}

bool NcclTask::step() {
  if (stage_ == Stage::over) return true;
  while (goes_on_host()) {
    if (!engine_.with_control([&] { return control_->step(); })) return false;
    advance();
  }
  if (stage_ == Stage::over) return true;
  try {
    const bool is_over =
        engine_.connection_->run([&](const NcclLibrary& nccl, NcclComm comm, cuda::Stream stream) {
          queue_call(call_, engine_.rank_, engine_.size_, nccl, comm, stream);
        });
    if (is_over) stage_ = Stage::over;
    return is_over;
  } catch (const Error& error) {
    engine_.check();  // the group may have failed before
    engine_.fail(fmt::format("{}: {}", text_of(call_), error.message()));
  }
}

void NcclTask::advance() {
  if (stage_ == Stage::counts) {
    compare_counts();
    stage_ = Stage::device;
  } else if (is_on_host(call_)) {
    stage_ = Stage::over;
  } else if (call_.kind == CallKind::all_to_all && call_.count == 0) {
    control_ = engine_.with_control([&] { return exchange_counts(); });
    stage_ = Stage::counts;
  } else {
    stage_ = Stage::device;
  }
}

std::unique_ptr<Task> NcclTask::exchange_counts() {
  counts_.resize(call_.receive_counts.size());
  const std::vector<int64_t> ones(counts_.size(), 1);
  return engine_.control_->begin(
      Call{.kind = CallKind::all_to_all,
           .dtype = DType::i64,
           .count = 1,
           .send_counts = ones,
           .receive_counts = ones,
           .in = reinterpret_cast<const std::byte*>(call_.send_counts.data()),
           .out = reinterpret_cast<std::byte*>(counts_.data()),
           .where = call_.where});
}

void NcclTask::compare_counts() {
  for (size_t from = 0; from < counts_.size(); ++from) {
    if (counts_[from] == call_.receive_counts[from]) continue;
    engine_.fail(fmt::format("{}: rank {} sends {} elements to rank {}, which expects {}",
                             text_of(call_), from, counts_[from], engine_.rank_,
                             call_.receive_counts[from]));
  }
}

void NcclTask::check() {
  engine_.check();
  if (control_) engine_.with_control([&] { control_->check(); });
  if (stage_ != Stage::device) return;
  for (int rank = 0; rank < engine_.size_; ++rank) {
    const std::string text = rank == engine_.rank_ ? "" : engine_.absence_of(rank);
    if (text.empty()) continue;
    const std::string lasting = absence_.lasting(text);
    if (!lasting.empty()) engine_.fail(fmt::format("{}: {}", text_of(call_), lasting));
    return;
  }
  absence_.lasting({});
}

void NcclTask::end_late(std::chrono::milliseconds timeout) {
  if (goes_on_host()) engine_.with_control([&] { control_->end_late(timeout); });
  engine_.fail(fmt::format("{} did not end within {} s on {}{}", text_of(call_),
                           static_cast<double>(timeout.count()) / 1000, text_of(engine_.device_),
                           control_ ? ": all ranks have called it" : ""));
}

void NcclTask::give_up(std::string_view reason) {
  if (goes_on_host()) {
    control_->give_up(reason);
    return engine_.abort();
  }
  try {
    engine_.fail(fmt::format("rank {} {} in {}", engine_.rank_, reason, text_of(call_)));
  } catch (const DistError&) {  // NOLINT(bugprone-empty-catch): later calls say it
  }
}

}  // namespace plait::dist
