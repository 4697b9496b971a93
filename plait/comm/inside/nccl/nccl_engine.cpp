#include "plait/comm/inside/nccl/nccl_engine.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "plait/comm/inside/deadline.h"
#include "plait/comm/inside/nccl/nccl_calls.h"
#include "plait/comm/inside/nccl/nccl_message_task.h"
#include "plait/comm/inside/nccl/nccl_task.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/interruption.h"
#include "plait/tensor/memory/device_memory.h"

namespace plait::dist {
namespace {

constexpr std::chrono::microseconds kShortestPoll{10}, kLongestPoll{500};
// A rank that leaves lets NCCL go on for so long, then aborts it.
constexpr std::chrono::milliseconds kLongestLeave{2000};
constexpr std::chrono::milliseconds kLastingAbsence{300};

const std::string kIdKey = "nccl/id";

NcclId shared_id(Store& store, int rank) {
  NcclId id;
  if (rank == 0) {
    const NcclLibrary& nccl = NcclLibrary::get();
    nccl.check(nccl.get_id(&id), "ncclGetUniqueId");
    store.set(kIdKey, std::string(id.bytes.data(), id.bytes.size()));
    return id;
  }
  const std::string bytes = store.get(kIdKey);
  if (bytes.size() != id.bytes.size()) {
    throw DistError("the engine nccl: the store has {} bytes for the id, expected {}", bytes.size(),
                    id.bytes.size());
  }
  std::memcpy(id.bytes.data(), bytes.data(), bytes.size());
  return id;
}

}  // namespace

NcclEngine::NcclEngine(std::unique_ptr<Engine> control, Store& store, int rank, int size,
                       Device device, Duration timeout)
    : control_(std::move(control)), rank_(rank), size_(size), device_(device) {
  device_memory(device_);  // says what is missing
  connect(shared_id(store, rank), timeout);
}

void NcclEngine::connect(const NcclId& id, Duration timeout) {
  const Deadline deadline(timeout);
  try {
    connection_ = std::make_unique<NcclConnection>(device_.index, id, rank_, size_);
    while (!connection_->is_connected()) {
      check();
      if (deadline.has_passed()) {
        throw DistError("rank {} was not connected to the others within {} s", rank_,
                        static_cast<double>(timeout.count()) / 1000);
      }
      check_interruption();
      std::this_thread::sleep_for(kLongestPoll);
    }
  } catch (Error& error) {
    constexpr std::string_view kContext = "the engine nccl: ";
    constexpr std::string_view kHint =
        "ranks of a host have different GPUs, which the option device of their groups names; "
        "NCCL_DEBUG=WARN says more";
    if (!error.message().starts_with(kContext)) error.prepend(kContext);
    if (error.hint().empty()) error.set_hint(std::string(kHint));
    try {
      fail(error.message());
    } catch (const DistError&) {  // NOLINT(bugprone-empty-catch): the other ranks say it
    }
    throw;
  }
}

NcclEngine::~NcclEngine() {
  try {
    check();
  } catch (const DistError&) {
    return;
  }
  connection_->leave(kLongestLeave);
  for (const auto& [key, channel] : channels_) channel->leave(kLongestLeave);
}

std::unique_ptr<Task> NcclEngine::begin(Call call) {
  check();
  expect_nccl_has(call);
  return std::make_unique<NcclTask>(*this, std::move(call));
}

std::unique_ptr<Task> NcclEngine::begin(Message message) {
  check();
  if (message.peer == kAnyRank) {
    throw DistError("recv: NCCL receives from a rank that is named, not from any")
        .at(message.where)
        .hint("name the rank; or receive in a group of the engine local or gloo, on the CPU");
  }
  if (message.tag != 0) {
    throw DistError("{}: the tag is {}, but messages of NCCL have none",
                    message.is_sent ? "send" : "recv", message.tag)
        .at(message.where)
        .hint("messages between two ranks arrive in order; leave the tag out");
  }
  return std::make_unique<NcclMessageTask>(*this, std::move(message));
}

void NcclEngine::check() {
  with_control([&] { control_->check(); });
}

void NcclEngine::fail(const std::string& text) {
  try {
    control_->fail(text);
  } catch (...) {
    abort();
    throw;
  }
  throw DistError("{}", text);
}

void NcclEngine::give_up(const std::string& reason) {
  control_->give_up(reason);
  abort();
}

bool NcclEngine::step_or_sleep(Task& task, std::chrono::milliseconds most) const {
  const Deadline deadline(most);
  for (auto pause = kShortestPoll; !task.step(); pause = std::min(pause * 2, kLongestPoll)) {
    if (deadline.has_passed()) return false;
    std::this_thread::sleep_for(pause);
  }
  return true;
}

NcclChannel& NcclEngine::channel(bool is_sent, int peer) {
  const std::lock_guard lock(mutex_);
  auto& found = channels_[{is_sent, peer}];
  if (!found) found = std::make_unique<NcclChannel>(*control_, device_.index, is_sent, peer);
  return *found;
}

void NcclEngine::abort() noexcept {
  if (is_aborted_.exchange(true)) return;
  if (connection_) connection_->abort();
  const std::lock_guard lock(mutex_);
  for (const auto& [key, channel] : channels_) channel->abort();
}

std::string Absence::lasting(const std::string& now) {
  const auto time = std::chrono::steady_clock::now();
  if (now.empty()) since_.reset();
  if (!now.empty() && !since_) since_ = time;
  return since_ && time - *since_ >= kLastingAbsence ? now : std::string();
}

}  // namespace plait::dist
