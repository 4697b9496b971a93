// Functions of the driver for memory: of devices, of pools, and of the host.
#include <cstdlib>
#include <cstring>
#include <map>

#include "tests/cuda_emulator/device/checks.h"
#include "tests/cuda_emulator/device/findings.h"
#include "tests/cuda_emulator/device/memory.h"
#include "tests/cuda_emulator/driver/state.h"

namespace emulator {
namespace {

// Host memory that was allocated here (true) or registered (false), by its first byte.
std::map<char*, std::pair<size_t, bool>>& host_ranges() {
  static auto* all = new std::map<char*, std::pair<size_t, bool>>;
  return *all;
}

bool overlaps_host_range(char* begin, size_t bytes) {
  auto next = host_ranges().upper_bound(begin);
  if (next != host_ranges().end() && next->first < begin + bytes) return true;
  return next != host_ranges().begin() &&
         std::prev(next)->first + std::prev(next)->second.first > begin;
}

void drain_all() {
  for (const auto& context : state().contexts) drain(*context);
}

MemoryPool& pool_of(CUmemoryPool handle) {
  for (const auto& context : state().contexts) {
    if (&context->default_pool == reinterpret_cast<MemoryPool*>(handle))
      return context->default_pool;
  }
  return state().pools.at(handle);
}

// A pool holds on to what was freed, up to its threshold.
void count_in_pool(MemoryPool& pool, size_t bytes, bool is_taken) {
  pool.used = is_taken ? pool.used + bytes : pool.used - bytes;
  pool.most_used = std::max(pool.most_used, pool.used);
  pool.reserved = std::max(
      pool.used,
      std::min(pool.reserved, is_taken ? pool.reserved : std::max(pool.threshold, pool.used)));
  pool.most_reserved = std::max(pool.most_reserved, pool.reserved);
}

CUresult allocate_in_order(CUdeviceptr* address, size_t bytes, MemoryPool& pool, Stream& stream) {
  if (!bytes) return CUDA_ERROR_INVALID_VALUE;
  if (stream.capture) refuse_while_capturing(stream);
  if (stream.is_legacy) refuse_implicit_wait(*stream.context);
  DeviceMemory& memory = memory_of(pool.device);
  const uint64_t begin = memory.reserve(bytes, true, &pool);
  if (!begin) return CUDA_ERROR_OUT_OF_MEMORY;
  count_in_pool(pool, bytes, true);
  Work work;
  work.run = [&memory, begin] {
    memory.make_live(begin);
    return CUDA_SUCCESS;
  };
  enqueue(stream, std::move(work));
  *address = begin;
  return CUDA_SUCCESS;
}

// The allocation that begins at an address and was not freed yet.
Allocation& allocation_at(uint64_t address) {
  const int device = device_with(address);
  Allocation* const found = device < 0 ? nullptr : memory_of(device).find(address);
  if (!found || found->begin != address || found->free_queued)
    throw Failure{CUDA_ERROR_INVALID_VALUE};
  return *found;
}

void count_freed(Allocation& allocation, DeviceMemory& memory) {
  if (allocation.pool)
    count_in_pool(*static_cast<MemoryPool*>(allocation.pool), allocation.bytes, false);
  memory.count_free(allocation);
}

CUresult register_host(void* address, size_t bytes) {
  return entered_with_context([&](Context&) {
    refuse_while_capturing();
    char* const begin = static_cast<char*>(address);
    if (!begin || !bytes) return CUDA_ERROR_INVALID_VALUE;
    if (overlaps_host_range(begin, bytes)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    host_ranges()[begin] = {bytes, false};
    add_mapped_host(begin, bytes);
    return CUDA_SUCCESS;
  });
}

// Ends the use of host memory by devices. Work that is queued may still use it: as the driver does,
// it is waited for.
CUresult leave_host(void* address, bool is_allocated, CUresult otherwise) {
  return entered_with_context([&](Context&) {
    refuse_while_capturing();
    const auto found = host_ranges().find(static_cast<char*>(address));
    if (found == host_ranges().end() || found->second.second != is_allocated) return otherwise;
    drain_all();
    remove_mapped_host(found->first);
    if (is_allocated) std::free(found->first);
    host_ranges().erase(found);
    return CUDA_SUCCESS;
  });
}

uint64_t& pool_number(MemoryPool& pool, int attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return pool.threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: return pool.reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: return pool.most_reserved;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return pool.used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return pool.most_used;
    default: throw Failure{CUDA_ERROR_INVALID_VALUE};
  }
}

bool is_reuse_attribute(int attribute) { return attribute >= 1 && attribute <= 3; }

CUresult describe_device_pointer(void* value, int attribute, CUdeviceptr address, int device) {
  Allocation* const allocation = memory_of(device).find(address);
  if (!allocation) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case 1:
      *static_cast<CUcontext*>(value) = reinterpret_cast<CUcontext>(&context_of(device));
      return CUDA_SUCCESS;
    case 2: *static_cast<unsigned*>(value) = CU_MEMORYTYPE_DEVICE; return CUDA_SUCCESS;
    case 3: *static_cast<CUdeviceptr*>(value) = address; return CUDA_SUCCESS;
    case 8: *static_cast<unsigned*>(value) = 0; return CUDA_SUCCESS;
    case 9: *static_cast<int*>(value) = device; return CUDA_SUCCESS;
    case 11: *static_cast<CUdeviceptr*>(value) = allocation->begin; return CUDA_SUCCESS;
    case 12: *static_cast<size_t*>(value) = allocation->bytes; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult describe_host_pointer(void* value, int attribute, CUdeviceptr address) {
  switch (attribute) {
    case 2: *static_cast<unsigned*>(value) = CU_MEMORYTYPE_HOST; return CUDA_SUCCESS;
    case 3:
    case 4: *static_cast<CUdeviceptr*>(value) = address; return CUDA_SUCCESS;
    case 8: *static_cast<unsigned*>(value) = 0; return CUDA_SUCCESS;
    case 9: *static_cast<int*>(value) = current_context()->device; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace
}  // namespace emulator

using namespace emulator;

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return entered_with_context([&](Context& context) {
    const DeviceMemory& memory = memory_of(context.device);
    required(free) = memory.total() - memory.used();
    required(total) = memory.total();
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAlloc_v2(CUdeviceptr* address, size_t bytes) {
  return entered_with_context([&](Context& context) {
    refuse_while_capturing();
    if (!bytes || !address) return CUDA_ERROR_INVALID_VALUE;
    DeviceMemory& memory = memory_of(context.device);
    const uint64_t begin = memory.reserve(bytes, false, nullptr);
    if (!begin) return CUDA_ERROR_OUT_OF_MEMORY;
    memory.make_live(begin);
    *address = begin;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  return entered_with_context([&](Context&) {
    refuse_while_capturing();
    if (!address) return CUDA_SUCCESS;
    allocation_at(address);
    drain_all();  // as the driver, which waits for the device
    DeviceMemory& memory = memory_of(device_with(address));
    count_freed(allocation_at(address), memory);
    memory.release(address);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAllocAsync(CUdeviceptr* address, size_t bytes, CUstream stream) {
  return entered_with_context([&](Context& context) {
    required(address);
    return allocate_in_order(address, bytes, context.default_pool, stream_of(stream));
  });
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr* address, size_t bytes, CUmemoryPool pool,
                                 CUstream stream) {
  return entered_with_context([&](Context&) {
    required(address);
    return allocate_in_order(address, bytes, pool_of(pool), stream_of(stream));
  });
}

CUresult cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return entered_with_context([&](Context&) {
    if (!address) return CUDA_SUCCESS;
    Stream& own = stream_of(stream);
    if (own.capture) refuse_while_capturing(own);
    if (own.is_legacy) refuse_implicit_wait(*own.context);
    Allocation& allocation = allocation_at(address);
    DeviceMemory& memory = memory_of(device_with(address));
    count_freed(allocation, memory);
    Work work;
    work.run = [&memory, address] {
      const Allocation* const freed = memory.find(address);
      if (freed && !freed->live) {
        note_finding("free: " + memory.place(address) +
                     " is freed in a stream before it is allocated in another");
        return CUDA_ERROR_ILLEGAL_ADDRESS;
      }
      memory.release(address);
      return CUDA_SUCCESS;
    };
    enqueue(own, std::move(work));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolCreate(CUmemoryPool* pool, const CUmemPoolProps* properties) {
  return entered([&] {
    const CUmemPoolProps& asked = required(properties);
    if (asked.allocType != 1 || asked.location.type != 1) return CUDA_ERROR_INVALID_VALUE;
    auto made = std::make_unique<MemoryPool>();
    made->device = context_of(asked.location.id).device;
    required(pool) = reinterpret_cast<CUmemoryPool>(state().pools.add(std::move(made)));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolDestroy(CUmemoryPool pool) {
  return entered([&] {
    if (pool_of(pool).is_default) return CUDA_ERROR_INVALID_VALUE;
    if (pool_of(pool).used) {
      // The driver ends such a pool when its last memory is freed.
      state().pools.take(pool).release();
    } else {
      state().pools.take(pool);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolSetAttribute(CUmemoryPool pool, int attribute, void* value) {
  return entered([&] {
    MemoryPool& own = pool_of(pool);
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (is_reuse_attribute(attribute)) return CUDA_SUCCESS;
    uint64_t& number = pool_number(own, attribute);
    const uint64_t asked = *static_cast<const uint64_t*>(value);
    if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
      number = asked;
    } else if (asked == 0 && attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH) {
      number = own.used;
    } else if (asked == 0 && attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) {
      number = own.reserved;
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolGetAttribute(CUmemoryPool pool, int attribute, void* value) {
  return entered([&] {
    MemoryPool& own = pool_of(pool);
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (is_reuse_attribute(attribute)) {
      *static_cast<int*>(value) = 1;
    } else {
      *static_cast<uint64_t*>(value) = pool_number(own, attribute);
    }
    return CUDA_SUCCESS;
  });
}

CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  return entered([&] {
    MemoryPool& own = pool_of(pool);
    own.reserved = std::max<uint64_t>(own.used, std::min<uint64_t>(own.reserved, keep));
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetDefaultMemPool(CUmemoryPool* pool, CUdevice device) {
  return entered([&] {
    required(pool) = reinterpret_cast<CUmemoryPool>(&context_of(device).default_pool);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemHostAlloc(void** address, size_t bytes, unsigned flags) {
  return entered_with_context([&](Context&) {
    refuse_while_capturing();
    if (!address || !bytes || flags > 7) return CUDA_ERROR_INVALID_VALUE;
    void* const memory = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!memory) return CUDA_ERROR_OUT_OF_MEMORY;
    std::memset(memory, kFreshByte, bytes);
    host_ranges()[static_cast<char*>(memory)] = {bytes, true};
    add_mapped_host(static_cast<char*>(memory), bytes);
    *address = memory;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemFreeHost(void* address) {
  return leave_host(address, true, CUDA_ERROR_INVALID_VALUE);
}
CUresult cuMemHostRegister(void* address, size_t bytes, unsigned) {
  return register_host(address, bytes);
}
CUresult cuMemHostRegister_v2(void* address, size_t bytes, unsigned) {
  return register_host(address, bytes);
}
CUresult cuMemHostUnregister(void* address) {
  return leave_host(address, false, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* address, unsigned flags) {
  return entered_with_context([&](Context&) {
    if (flags || !is_mapped_host(address, 1)) return CUDA_ERROR_INVALID_VALUE;
    required(device) = reinterpret_cast<CUdeviceptr>(address);
    return CUDA_SUCCESS;
  });
}

CUresult cuPointerGetAttribute(void* value, int attribute, CUdeviceptr address) {
  return entered_with_context([&](Context&) {
    if (!value) return CUDA_ERROR_INVALID_VALUE;
    if (const int device = device_with(address); device >= 0)
      return describe_device_pointer(value, attribute, address, device);
    if (is_mapped_host(reinterpret_cast<void*>(address), 1))
      return describe_host_pointer(value, attribute, address);
    return CUDA_ERROR_INVALID_VALUE;
  });
}
