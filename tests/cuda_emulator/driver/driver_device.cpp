// Functions of the driver for devices and contexts, and the emulator's own.
#include <cstring>

#include "tests/cuda_emulator/device/findings.h"
#include "tests/cuda_emulator/device/memory.h"
#include "tests/cuda_emulator/driver/state.h"

namespace emulator {

State& state() {
  static auto* all = new State;  // kept to the end of the process, as the driver's
  return *all;
}

Context& context_of(int device) {
  if (device < 0 || static_cast<size_t>(device) >= state().contexts.size())
    throw Failure{CUDA_ERROR_INVALID_DEVICE};
  return *state().contexts[static_cast<size_t>(device)];
}

Context*& current_context() {
  static thread_local Context* current = nullptr;
  return current;
}

Stream& stream_of(CUstream handle) {
  const auto number = reinterpret_cast<uintptr_t>(handle);
  if (number == 2) throw Failure{CUDA_ERROR_NOT_SUPPORTED};  // the stream of the thread
  if (number < 2) return current_context()->legacy;
  return state().streams.at(handle);
}

Function& function_of(CUfunction handle) {
  const auto found = state().functions.find(handle);
  if (found == state().functions.end()) throw Failure{CUDA_ERROR_INVALID_HANDLE};
  return *found->second;
}

namespace {

struct Attribute {
  int number;  // a CU_DEVICE_ATTRIBUTE_...
  int value;
};

// As an H100 answers; 0 for the others.
constexpr Attribute kAttributes[] = {
    {1, kMostThreads}, {2, 1024},                                              // block x, y, z
    {3, 1024},         {4, 64},          {5, 2147483647},                      // grid x, y, z
    {6, 65535},        {7, 65535},       {8, kMostSharedUnasked}, {9, 65536},  // constant memory
    {10, kWarpSize},   {11, 2147483647},                                       // pitch
    {12, 65536},                          // registers of a block
    {13, 1980000},                        // clock rate in kHz
    {14, 512},                            // alignment of textures
    {15, 1},                              // copies beside kernels
    {16, 132},                            // multiprocessors
    {19, 1},                              // mapped host memory
    {31, 1},                              // concurrent kernels
    {32, 1},                              // error correction
    {33, 16},                             // PCI bus, of the first device
    {36, 2619000},                        // memory clock in kHz
    {37, 5120},                           // bits of the memory bus
    {38, 50 << 20},                       // bytes of the L2 cache
    {39, 2048},                           // threads of a multiprocessor
    {40, 3},                              // copy engines
    {41, 1},                              // unified addresses
    {75, 9},                              // compute capability
    {76, 0},           {78, 1},           // stream priorities
    {79, 1},                              // caches in L1
    {80, 1},           {81, 228 * 1024},  // shared memory of a multiprocessor
    {82, 65536},                          // registers of a multiprocessor
    {90, 1},                              // preemption
    {91, 1},                              // host pointers of registered memory
    {97, kMostShared}, {99, 1},           // registration of host memory
    {106, 32},                            // blocks of a multiprocessor
    {111, 1024},                          // reserved shared memory of a block
    {115, 1},                             // memory pools
};

int attribute_of(int number, int device) {
  for (const Attribute& attribute : kAttributes) {
    if (attribute.number == number)
      return number == 33 ? attribute.value + device : attribute.value;
  }
  return 0;
}

std::unique_ptr<Context> made_context(int device) {
  auto context = std::make_unique<Context>();
  context->device = device;
  context->legacy.context = context.get();
  context->legacy.is_legacy = true;
  context->default_pool.device = device;
  context->default_pool.is_default = true;
  return context;
}

CUresult copy_uuid(CUuuid* uuid, CUdevice device) {
  return entered([&] {
    context_of(device);
    std::memcpy(required(uuid).bytes, "plait emulated 0", 16);
    uuid->bytes[15] = static_cast<char>('0' + device);
    return CUDA_SUCCESS;
  });
}

CUresult release_context(CUdevice device) {
  return entered([&] {
    Context& context = context_of(device);
    if (context.retained == 0) return CUDA_ERROR_INVALID_CONTEXT;
    --context.retained;
    return CUDA_SUCCESS;
  });
}

// Forgets queued work; what waits for it counts as done.
void drop_work(Stream& stream) {
  for (Work& work : stream.queue) work.done->is_done = true;
  stream.queue.clear();
}

}  // namespace
}  // namespace emulator

using namespace emulator;

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(driver_mutex());
  if (settings().devices == 0) return CUDA_ERROR_NO_DEVICE;
  if (state().is_initialized) return CUDA_SUCCESS;
  for (int k = 0; k < settings().devices; ++k) state().contexts.push_back(made_context(k));
  state().is_initialized = true;
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) {
  if (!version) return CUDA_ERROR_INVALID_VALUE;
  *version = 12040;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  return entered([&] {
    required(count) = settings().devices;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return entered([&] {
    required(device) = context_of(ordinal).device;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return entered([&] {
    context_of(device);
    if (!name || length < 1) return CUDA_ERROR_INVALID_VALUE;
    std::strncpy(name, "Emulated H100", static_cast<size_t>(length));
    name[length - 1] = 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int* value, int attribute, CUdevice device) {
  return entered([&] {
    context_of(device);
    if (attribute < 1 || attribute > 150) return CUDA_ERROR_INVALID_VALUE;
    required(value) = attribute_of(attribute, device);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return entered([&] {
    context_of(device);
    required(bytes) = settings().memory;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) { return copy_uuid(uuid, device); }
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) { return copy_uuid(uuid, device); }

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return entered([&] {
    context_of(device);
    context_of(peer);
    required(can) = 0;  // kernels of a device may not touch the memory of another
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return entered([&] {
    Context& own = context_of(device);
    required(context) = reinterpret_cast<CUcontext>(&own);
    ++own.retained;
    return CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRelease(CUdevice device) { return release_context(device); }
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) { return release_context(device); }

CUresult cuCtxSetCurrent(CUcontext context) {
  return entered([&] {
    Context* found = nullptr;
    for (const auto& own : state().contexts) {
      if (reinterpret_cast<CUcontext>(own.get()) == context && own->retained) found = own.get();
    }
    if (context && !found) return CUDA_ERROR_INVALID_CONTEXT;
    current_context() = found;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return entered([&] {
    required(context) = reinterpret_cast<CUcontext>(current_context());
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetDevice(CUdevice* device) {
  return entered([&] {
    if (!current_context()) return CUDA_ERROR_INVALID_CONTEXT;
    required(device) = current_context()->device;
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxSynchronize() {
  return entered_with_context([](Context& context) {
    refuse_while_capturing(context);
    drain(context);
    return CUDA_SUCCESS;
  });
}

const char* plait_emulator_findings() { return findings_text(); }

void plait_emulator_reset() {
  const std::lock_guard lock(driver_mutex());
  forget_captures();
  for (Stream* stream : state().streams.in_order()) drop_work(*stream);
  for (const auto& context : state().contexts) {
    drop_work(context->legacy);
    context->sticky = CUDA_SUCCESS;
  }
  forget_findings();
  read_settings_again();
}
