// Functions of the driver for copies and fills.
#include <cstring>
#include <vector>

#include "tests/cuda_emulator/device/checks.h"
#include "tests/cuda_emulator/device/findings.h"
#include "tests/cuda_emulator/driver/copies.h"
#include "tests/cuda_emulator/driver/state.h"

namespace emulator {
namespace {

// Calls f(Watched&, offset) for memory of a device, not for that of a module.
template <class F>
void with_watched(uint64_t address, F&& f) {
  const int device = device_with(address);
  if (device < 0) return;
  DeviceMemory& memory = memory_of(device);
  f(memory.watched(), address - memory.hidden_begin());
}

// The bytes of the copy that were written before are the bytes that are written then.
void copy_written(Place to, Place from, size_t bytes) {
  if (!to.is_device()) return;
  if (!from.is_device() || are_written(from.device, bytes)) return note_written(to.device, bytes);
  with_watched(to.device, [&](Watched& target, size_t target_offset) {
    with_watched(from.device, [&](Watched& source, size_t source_offset) {
      for (size_t k = 0; k < bytes; ++k)
        target.written.set(target_offset + k, 1, source.written.has(source_offset + k));
    });
  });
}

struct PitchedCopy {
  Place to, from;
  size_t to_pitch = 0, from_pitch = 0, width = 0, height = 0;
};

CUresult copy_rows(const PitchedCopy& copy) {
  for (size_t row = 0; row < copy.height; ++row) {
    const CUresult result = copy_bytes(copy.to.plus(row * copy.to_pitch),
                                       copy.from.plus(row * copy.from_pitch), copy.width);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

bool is_pageable(Place place, size_t bytes) {
  return !place.is_device() && !is_mapped_host(place.host, bytes);
}

size_t extent(size_t pitch, size_t width, size_t height) {
  return height ? (height - 1) * pitch + width : 0;
}

// The rows of pageable memory as they are now, which is when the driver reads them.
PitchedCopy with_staged_source(const PitchedCopy& copy,
                               std::shared_ptr<std::vector<char>>& staged) {
  PitchedCopy changed = copy;
  staged = std::make_shared<std::vector<char>>(
      copy.from.host, copy.from.host + extent(copy.from_pitch, copy.width, copy.height));
  changed.from = host_place(staged->data());
  return changed;
}

void require_places(const PitchedCopy& copy) {
  if (copy.to_pitch < copy.width || copy.from_pitch < copy.width)
    throw Failure{CUDA_ERROR_INVALID_VALUE};
  if (copy.to.is_device())
    require_allocated(copy.to.device, extent(copy.to_pitch, copy.width, copy.height));
  if (copy.from.is_device())
    require_allocated(copy.from.device, extent(copy.from_pitch, copy.width, copy.height));
}

// Queues a copy. From pageable memory, the source is read now; to pageable memory, the call waits.
CUresult queue_copy(const PitchedCopy& copy, Stream& stream, bool waits) {
  if (!copy.width || !copy.height) return CUDA_SUCCESS;
  require_places(copy);
  Work work;
  work.kind = CU_GRAPH_NODE_TYPE_MEMCPY;
  const bool from_pageable =
      is_pageable(copy.from, extent(copy.from_pitch, copy.width, copy.height));
  const bool to_pageable = is_pageable(copy.to, extent(copy.to_pitch, copy.width, copy.height));
  if (from_pageable || to_pageable) {
    if (stream.capture) refuse_while_capturing(stream);
  }
  if (from_pageable && !waits) {
    std::shared_ptr<std::vector<char>> staged;
    const PitchedCopy changed = with_staged_source(copy, staged);
    work.run = [changed, staged] { return copy_rows(changed); };
  } else {
    work.run = [copy] { return copy_rows(copy); };
  }
  if (waits || to_pageable) {
    enqueue_and_wait(stream, std::move(work));
  } else {
    enqueue(stream, std::move(work));
  }
  return CUDA_SUCCESS;
}

CUresult queue_flat(Place to, Place from, size_t bytes, CUstream stream, bool waits) {
  return entered_with_context([&](Context&) {
    if ((!to.is_device() && !to.host) || (!from.is_device() && !from.host))
      return CUDA_ERROR_INVALID_VALUE;
    return queue_copy({to, from, bytes, bytes, bytes, 1}, stream_of(stream), waits);
  });
}

CUresult queue_host(const void* host, bool to_host, CUdeviceptr device, size_t bytes,
                    CUstream stream, bool waits) {
  if (!host && bytes) return CUDA_ERROR_INVALID_VALUE;
  if (!bytes) return entered_with_context([](Context&) { return CUDA_SUCCESS; });
  return to_host ? queue_flat(host_place(host), device_place(device), bytes, stream, waits)
                 : queue_flat(device_place(device), host_place(host), bytes, stream, waits);
}

Place side_of(int type, const void* host, CUdeviceptr device, size_t offset) {
  if (type == CU_MEMORYTYPE_HOST && host) return host_place(host).plus(offset);
  if (type == CU_MEMORYTYPE_DEVICE && device) return device_place(device + offset);
  throw Failure{CUDA_ERROR_INVALID_VALUE};
}

template <class T>
CUresult queue_fill(CUdeviceptr to, T value, size_t count, CUstream stream) {
  return entered_with_context([&](Context&) {
    Stream& own = stream_of(stream);
    if (to % sizeof(T)) return CUDA_ERROR_INVALID_VALUE;
    if (!count) return CUDA_SUCCESS;
    if (count > SIZE_MAX / sizeof(T)) return CUDA_ERROR_INVALID_VALUE;
    require_allocated(to, count * sizeof(T));
    Work work;
    work.kind = CU_GRAPH_NODE_TYPE_MEMSET;
    work.run = [to, value, count] {
      char* const bytes = reachable_bytes(to, count * sizeof(T), "fill");
      if (!bytes) return CUDA_ERROR_ILLEGAL_ADDRESS;
      std::fill_n(reinterpret_cast<T*>(bytes), count, value);
      note_written(to, count * sizeof(T));
      return CUDA_SUCCESS;
    };
    enqueue(own, std::move(work));
    return CUDA_SUCCESS;
  });
}

}  // namespace

void require_allocated(uint64_t address, size_t bytes) {
  size_t following = 0;
  if (alias_target(address, following)) {
    if (bytes > following) throw Failure{CUDA_ERROR_INVALID_VALUE};
    return;
  }
  const int device = device_with(address);
  Allocation* const allocation = device >= 0 ? memory_of(device).find(address) : nullptr;
  if (!allocation || allocation->free_queued ||
      bytes > allocation->bytes - (address - allocation->begin)) {
    throw Failure{CUDA_ERROR_INVALID_VALUE};
  }
}

char* reachable_bytes(uint64_t address, size_t bytes, const char* user) {
  size_t following = 0;
  if (char* const target = alias_target(address, following))
    return bytes <= following ? target : nullptr;
  const int device = device_with(address);
  if (device < 0) {
    note_finding(std::string(user) + ": an address that is not of a device");
    return nullptr;
  }
  DeviceMemory& memory = memory_of(device);
  if (address - memory.hidden_begin() + bytes <= memory.space() &&
      memory.watched().live.has_all(address - memory.hidden_begin(), bytes)) {
    return memory.access(address);
  }
  note_finding(std::string(user) + ": outside: " + std::to_string(bytes) + " bytes from " +
               memory.place(address) +
               ", which are not all allocated when the work of the stream runs");
  return nullptr;
}

void note_written(uint64_t address, size_t bytes) {
  with_watched(address,
               [&](Watched& watched, size_t offset) { watched.written.set(offset, bytes, true); });
}

bool are_written(uint64_t address, size_t bytes) {
  bool are = true;
  with_watched(address, [&](Watched& watched, size_t offset) {
    are = watched.written.has_all(offset, bytes);
  });
  return are;
}

CUresult copy_bytes(Place to, Place from, size_t bytes) {
  char* const target = to.is_device() ? reachable_bytes(to.device, bytes, "copy") : to.host;
  const char* const source =
      from.is_device() ? reachable_bytes(from.device, bytes, "copy") : from.host;
  if (!target || !source) return CUDA_ERROR_ILLEGAL_ADDRESS;
  std::memmove(target, source, bytes);
  copy_written(to, from, bytes);
  return CUDA_SUCCESS;
}

}  // namespace emulator

using namespace emulator;

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return queue_host(from, false, to, bytes, nullptr, true);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return queue_host(to, true, from, bytes, nullptr, true);
}
CUresult cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return queue_flat(device_place(to), device_place(from), bytes, nullptr, false);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return queue_host(from, false, to, bytes, stream, false);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return queue_host(to, true, from, bytes, stream, false);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return queue_flat(device_place(to), device_place(from), bytes, stream, false);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext to_context, CUdeviceptr from,
                           CUcontext from_context, size_t bytes, CUstream stream) {
  const auto is_of = [](CUdeviceptr address, CUcontext context) {
    const int device = device_with(address);
    return device >= 0 && reinterpret_cast<CUcontext>(&context_of(device)) == context;
  };
  const CUresult known = entered([&] {
    return is_of(to, to_context) && is_of(from, from_context) ? CUDA_SUCCESS
                                                              : CUDA_ERROR_INVALID_VALUE;
  });
  return known ? known : queue_flat(device_place(to), device_place(from), bytes, stream, false);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return entered_with_context([&](Context&) {
    const CUDA_MEMCPY2D& asked = required(copy);
    PitchedCopy own;
    own.width = asked.WidthInBytes;
    own.height = asked.Height;
    own.to_pitch = asked.dstPitch ? asked.dstPitch : asked.WidthInBytes;
    own.from_pitch = asked.srcPitch ? asked.srcPitch : asked.WidthInBytes;
    own.from = side_of(asked.srcMemoryType, asked.srcHost, asked.srcDevice,
                       asked.srcY * own.from_pitch + asked.srcXInBytes);
    own.to = side_of(asked.dstMemoryType, asked.dstHost, asked.dstDevice,
                     asked.dstY * own.to_pitch + asked.dstXInBytes);
    return queue_copy(own, stream_of(stream), false);
  });
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return queue_fill(to, value, count, stream);
}
CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return queue_fill(to, value, count, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return queue_fill(to, value, count, stream);
}
