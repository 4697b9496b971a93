// The functions of the CUDA driver that Plait calls, with the types of NVIDIA's documentation. The
// library is opened when it is first needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "plait/core/settings.h"

namespace plait {
namespace setting {
extern Setting<std::string> kCuda;
}

namespace cuda {

using Result = int;  // CUresult; 0: success
using DeviceNumber = int;
using Context = struct ContextTag*;
using Stream = struct StreamTag*;
using MemoryPool = struct MemoryPoolTag*;
using Module = struct ModuleTag*;
using Function = struct FunctionTag*;
using Event = struct EventTag*;
using Address = uint64_t;  // CUdeviceptr

inline constexpr Result kSuccess = 0, kOutOfMemory = 2, kNotReady = 600;

// CUmemPoolProps.
struct PoolProperties {
  int allocation_type = 1;  // pinned
  int handle_types = 0;
  int location_type = 1;  // a device
  int location = 0;
  void* security_attributes = nullptr;
  size_t most_bytes = 0;
  unsigned char reserved[56] = {};
};
inline constexpr int kPoolReleaseThreshold = 4;  // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD

struct Driver {
  Result (*init)(unsigned flags);
  Result (*get_error_name)(Result, const char**);
  Result (*get_error_string)(Result, const char**);
  Result (*device_get_count)(int*);
  Result (*device_get)(DeviceNumber*, int index);
  Result (*device_get_attribute)(int*, int attribute, DeviceNumber);
  Result (*device_primary_context_retain)(Context*, DeviceNumber);
  Result (*context_set_current)(Context);
  Result (*memory_get_info)(size_t* free, size_t* total);
  Result (*stream_create)(Stream*, unsigned flags);
  Result (*stream_destroy)(Stream);
  Result (*stream_synchronize)(Stream);
  Result (*pool_create)(MemoryPool*, const PoolProperties*);
  Result (*pool_set_attribute)(MemoryPool, int attribute, void* value);
  Result (*pool_trim_to)(MemoryPool, size_t kept);
  Result (*allocate_from_pool)(Address*, size_t bytes, MemoryPool, Stream);
  Result (*free_async)(Address, Stream);
  Result (*copy_to_device)(Address, const void*, size_t bytes, Stream);
  Result (*copy_to_host)(void*, Address, size_t bytes, Stream);
  Result (*copy_on_device)(Address to, Address from, size_t bytes, Stream);
  Result (*fill_bytes)(Address, unsigned char, size_t count, Stream);
  Result (*fill_words)(Address, unsigned, size_t count, Stream);  // 32 bits each
  Result (*allocate_pinned)(void**, size_t bytes, unsigned flags);
  Result (*free_pinned)(void*);
  Result (*device_address_of_pinned)(Address*, void*, unsigned flags);
  Result (*event_create)(Event*, unsigned flags);
  Result (*event_destroy)(Event);
  Result (*event_record)(Event, Stream);
  Result (*event_query)(Event);
  Result (*event_synchronize)(Event);
  Result (*stream_wait_event)(Stream, Event, unsigned flags);
  Result (*module_load)(Module*, const void* image);
  Result (*module_unload)(Module);
  Result (*module_get_function)(Function*, Module, const char* name);
  Result (*function_get_attribute)(int*, int attribute, Function);
  Result (*function_set_attribute)(Function, int attribute, int value);
  Result (*launch_kernel)(Function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                          unsigned block_x, unsigned block_y, unsigned block_z,
                          unsigned shared_bytes, Stream, void** arguments, void** extra);
};

// DeviceError that says what is missing if there is no driver.
const Driver& driver();
// Its library, as dlopen gives it; that of the emulated device has the other libraries too.
void* driver_library();
// 0 if there is no driver, or no device.
int count_devices();

// DeviceError with the name of the call and the driver's words, unless the call succeeded.
void check(Result result, std::string_view call);

}  // namespace cuda
}  // namespace plait
