#include "plait/cuda/inside/device/cuda_memory.h"

#include <algorithm>
#include <cstring>

#include "plait/core/error.h"
#include "plait/cuda/inside/device/device_address.h"
#include "plait/cuda/inside/device/index_notes.h"
#include "plait/cuda/inside/elementwise/pointwise.h"
#include "plait/tensor/inside/memory/layout_extent.h"

namespace plait::cuda {
namespace {

size_t bytes_of(const Array& array) {
  return static_cast<size_t>(array.element_count() * array.element_size());
}

}  // namespace

CudaMemory::CudaMemory(CudaDevice& device)
    : driver_(driver()), device_(device), stream_(device.stream()), staging_(device) {
  device_.enter();
  PoolProperties properties;
  properties.location = device.index();
  check(driver_.pool_create(&pool_, &properties), "cuMemPoolCreate");
  uint64_t threshold = UINT64_MAX;  // freed memory is kept for reuse
  check(driver_.pool_set_attribute(pool_, kPoolReleaseThreshold, &threshold),
        "cuMemPoolSetAttribute");
}

std::byte* CudaMemory::allocate(int64_t bytes) {
  device_.enter();
  Address address = 0;
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  Result result = driver_.allocate_from_pool(&address, size, pool_, stream_);
  if (result == kOutOfMemory) {
    device_.synchronize();
    check(driver_.pool_trim_to(pool_, 0), "cuMemPoolTrimTo");
    result = driver_.allocate_from_pool(&address, size, pool_, stream_);
    if (result == kOutOfMemory) return nullptr;
  }
  check(result, "cuMemAllocFromPoolAsync");
  return reinterpret_cast<std::byte*>(address);
}

void CudaMemory::free(std::byte* data, int64_t) noexcept {
  try {
    device_.enter();
    driver_.free_async(reinterpret_cast<Address>(data), stream_);
  } catch (const DeviceError&) {  // NOLINT(bugprone-empty-catch)
    // The next call that may fail reports it.
  }
}

void CudaMemory::copy(const Array& from, Array& to) {
  device_.enter();
  if (to.is_on_host()) return download(from, to);
  if (from.is_on_host()) return upload(from, to);
  if (from.is_contiguous() && to.is_contiguous()) {
    return check(driver_.copy_on_device(address_of(to), address_of(from), bytes_of(to), stream_),
                 "cuMemcpyDtoDAsync");
  }
  copy_strided(from, to);
}

void CudaMemory::upload(const Array& from, Array& to) {
  if (repeats_one_element(from.layout())) return fill(from, to);
  if (!to.is_contiguous()) {
    Array dense = Array::empty_on(to.device(), to.dtype(), to.sizes());
    upload(from, dense);
    return copy_strided(dense, to);
  }
  const Array dense = from.contiguous();
  staging_.upload(address_of(to), dense.data(), bytes_of(to));
}

void CudaMemory::fill(const Array& one, Array& to) {
  const int64_t size = to.element_size();
  if (!to.is_contiguous() || (size != 1 && size != 4)) return copy_strided(one, to);
  uint32_t word = 0;
  std::memcpy(&word, one.data(), static_cast<size_t>(size));
  const auto count = static_cast<size_t>(to.element_count());
  size == 1
      ? check(driver_.fill_bytes(address_of(to), static_cast<unsigned char>(word), count, stream_),
              "cuMemsetD8Async")
      : check(driver_.fill_words(address_of(to), word, count, stream_), "cuMemsetD32Async");
}

void CudaMemory::download(const Array& from, Array& to) {
  if (!from.is_contiguous()) {
    Array dense = Array::empty_on(from.device(), from.dtype(), from.sizes());
    copy_strided(from, dense);
    return download(dense, to);
  }
  if (!to.is_contiguous()) {
    Array dense = Array::empty(to.dtype(), to.sizes());
    download(from, dense);
    return copy_elements(dense, to);
  }
  staging_.download(to.writable_data(), address_of(from), bytes_of(from));
  synchronize();
}

void CudaMemory::synchronize() { wait_and_report(device_); }

void CudaMemory::finish_before(uintptr_t stream) {
  constexpr unsigned kWithoutTimes = 2;  // CU_EVENT_DISABLE_TIMING
  device_.enter();
  Event done = nullptr;
  check(driver_.event_create(&done, kWithoutTimes), "cuEventCreate");
  const Result recorded = driver_.event_record(done, stream_);
  const Result waits = driver_.stream_wait_event(reinterpret_cast<Stream>(stream), done, 0);
  driver_.event_destroy(done);  // when it is no longer needed
  check(recorded, "cuEventRecord");
  check(waits, "cuStreamWaitEvent");
}

int64_t CudaMemory::free_bytes() {
  device_.enter();
  size_t free = 0, total = 0;
  check(driver_.memory_get_info(&free, &total), "cuMemGetInfo");
  return static_cast<int64_t>(free);
}

}  // namespace plait::cuda
