#include "plait/comm/inside/nccl/nccl_connection.h"

#include <thread>

#include <unistd.h>

#include "plait/comm/inside/deadline.h"
#include "plait/core/device.h"
#include "plait/core/error.h"
#include "plait/tensor/memory/device_memory.h"

namespace plait::dist {

NcclConnection::NcclConnection(int device, const NcclId& id, int rank, int size)
    : nccl_(NcclLibrary::get()), device_(cuda::cuda_device(device)), process_(::getpid()) {
  constexpr unsigned kNonBlocking = 1, kWithoutTimes = 2;
  device_.enter();
  NcclConfig config;
  try {
    nccl_.check(nccl_.begin_comm(&comm_, size, id, rank, &config), "ncclCommInitRankConfig", comm_);
    cuda::check(cuda::driver().stream_create(&stream_, kNonBlocking), "cuStreamCreate");
    cuda::check(cuda::driver().event_create(&done_, kWithoutTimes), "cuEventCreate");
  } catch (...) {
    abort();
    throw;
  }
}

NcclConnection::~NcclConnection() { abort(); }

void NcclConnection::expect_open() const {
  if (state_ == State::ended) throw DistError("the communicator of NCCL has ended");
}

bool NcclConnection::has_accepted() {
  expect_open();
  device_.enter();
  NcclResult state = kNcclSuccess;
  nccl_.check(nccl_.get_state(comm_, &state), "ncclCommGetAsyncError", comm_);
  nccl_.check(state, "NCCL", comm_);
  return state == kNcclSuccess;
}

bool NcclConnection::is_connected() {
  const std::lock_guard lock(mutex_);
  if (state_ == State::connecting && has_accepted()) state_ = State::idle;
  expect_open();
  return state_ != State::connecting;
}

bool NcclConnection::run(const Queue& queue) {
  const std::lock_guard lock(mutex_);
  expect_open();
  device_.enter();
  if (state_ == State::idle) {
    const Device device(Device::Kind::cuda, static_cast<uint8_t>(device_.index()));
    device_memory(device).finish_before(reinterpret_cast<uintptr_t>(stream_));
    state_ = State::queued;
    queue(nccl_, comm_, stream_);
  }
  if (state_ == State::queued) {
    if (!has_accepted()) return false;
    cuda::check(cuda::driver().event_record(done_, stream_), "cuEventRecord");
    state_ = State::running;
  }
  const cuda::Result result = cuda::driver().event_query(done_);
  if (result == cuda::kNotReady) return false;
  cuda::check(result, "cuEventQuery");
  state_ = State::idle;
  return true;
}

void NcclConnection::check() {
  const std::lock_guard lock(mutex_);
  has_accepted();
}

void NcclConnection::free_stream() noexcept {
  if (done_ != nullptr) cuda::driver().event_destroy(done_);
  if (stream_ != nullptr) cuda::driver().stream_destroy(stream_);
  done_ = nullptr;
  stream_ = nullptr;
}

void NcclConnection::abort() noexcept {
  // A forked process has neither the threads of NCCL nor the device.
  if (process_ != ::getpid()) return;
  const std::lock_guard lock(mutex_);
  if (state_ == State::ended) return;
  state_ = State::ended;
  try {
    device_.enter();
    nccl_.abort(comm_);
    free_stream();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): the device has failed before
  }
}

void NcclConnection::leave(std::chrono::milliseconds most) noexcept {
  if (process_ != ::getpid()) return;
  try {
    const Deadline deadline(most);
    const std::lock_guard lock(mutex_);
    if (state_ != State::idle) return;
    device_.enter();
    nccl_.check(nccl_.finalize(comm_), "ncclCommFinalize", comm_);
    while (!has_accepted()) {
      if (deadline.has_passed()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    state_ = State::ended;
    nccl_.destroy(comm_);
    free_stream();
  } catch (const Error&) {  // NOLINT(bugprone-empty-catch): it is aborted when it is destroyed
  }
}

}  // namespace plait::dist
