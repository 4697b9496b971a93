#include "plait/cuda/inside/device/pinned_staging.h"

#include <algorithm>
#include <cstring>

namespace plait::cuda {

bool PinnedStaging::open() {
  constexpr unsigned kForAllContexts = 1, kWithoutTimes = 2;
  for (Buffer& buffer : buffers_) {
    if (buffer.memory != nullptr) continue;
    if (buffer.copied == nullptr) {
      check(driver().event_create(&buffer.copied, kWithoutTimes), "cuEventCreate");
    }
    void* memory = nullptr;
    if (driver().allocate_pinned(&memory, kBytes, kForAllContexts) != kSuccess) return false;
    buffer.memory = static_cast<std::byte*>(memory);
  }
  return true;
}

void PinnedStaging::record(const Buffer& buffer) {
  check(driver().event_record(buffer.copied, device_.stream()), "cuEventRecord");
}
void PinnedStaging::wait(const Buffer& buffer) {
  check(driver().event_synchronize(buffer.copied), "cuEventSynchronize");
}

void PinnedStaging::upload(Address to, const std::byte* from, size_t bytes) {
  device_.enter();
  const std::lock_guard lock(mutex_);
  if (bytes < kLeastBytes || !open()) {
    return check(driver().copy_to_device(to, from, bytes, device_.stream()), "cuMemcpyHtoDAsync");
  }
  for (size_t done = 0, turn = 0; done < bytes; done += kBytes, turn ^= 1) {
    const size_t piece = std::min(kBytes, bytes - done);
    const Buffer& buffer = buffers_[turn];
    wait(buffer);
    std::memcpy(buffer.memory, from + done, piece);
    check(driver().copy_to_device(to + done, buffer.memory, piece, device_.stream()),
          "cuMemcpyHtoDAsync");
    record(buffer);
  }
}

void PinnedStaging::download(std::byte* to, Address from, size_t bytes) {
  device_.enter();
  const std::lock_guard lock(mutex_);
  if (bytes < kLeastBytes || !open()) {
    check(driver().copy_to_host(to, from, bytes, device_.stream()), "cuMemcpyDtoHAsync");
    return device_.synchronize();
  }
  const auto start = [&](size_t begin, const Buffer& buffer) {
    if (begin >= bytes) return;
    check(driver().copy_to_host(buffer.memory, from + begin, std::min(kBytes, bytes - begin),
                                device_.stream()),
          "cuMemcpyDtoHAsync");
    record(buffer);
  };
  for (const Buffer& each : buffers_) wait(each);
  start(0, buffers_[0]);
  for (size_t done = 0, turn = 0; done < bytes; done += kBytes, turn ^= 1) {
    start(done + kBytes, buffers_[turn ^ 1]);
    wait(buffers_[turn]);
    std::memcpy(to + done, buffers_[turn].memory, std::min(kBytes, bytes - done));
  }
}

}  // namespace plait::cuda
