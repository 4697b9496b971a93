// Contexts and the other objects behind the handles of the driver, and how its functions are
// entered.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <unordered_map>

#include "tests/cuda_emulator/abi/cuda.h"
#include "tests/cuda_emulator/driver/capture.h"
#include "tests/cuda_emulator/driver/module.h"
#include "tests/cuda_emulator/driver/streams.h"

namespace emulator {

struct MemoryPool {
  int device = 0;
  bool is_default = false;
  uint64_t threshold = 0;
  uint64_t used = 0, most_used = 0, reserved = 0, most_reserved = 0;
};

// The primary context of a device, the only kind.
struct Context {
  int device = 0;
  int retained = 0;
  CUresult sticky = CUDA_SUCCESS;  // the error of a kernel, which all later calls return
  Stream legacy;
  MemoryPool default_pool;
};

// The live objects of a kind, by their handles: a wrong handle is an error, not a crash.
template <class T>
class Handles {
 public:
  T* add(std::unique_ptr<T> object) {
    T* const handle = object.get();
    objects_.emplace(handle, std::move(object));
    order_.push_back(handle);
    return handle;
  }
  T& at(const void* handle) {
    const auto found = objects_.find(handle);
    if (found == objects_.end()) throw Failure{CUDA_ERROR_INVALID_HANDLE};
    return *found->second;
  }
  bool has(const void* handle) const { return objects_.count(handle) != 0; }
  std::unique_ptr<T> take(const void* handle) {
    const auto found = objects_.find(handle);
    if (found == objects_.end()) throw Failure{CUDA_ERROR_INVALID_HANDLE};
    std::unique_ptr<T> object = std::move(found->second);
    objects_.erase(found);
    std::erase(order_, object.get());
    return object;
  }
  const std::vector<T*>& in_order() const { return order_; }

 private:
  std::unordered_map<const void*, std::unique_ptr<T>> objects_;
  std::vector<T*> order_;  // in which they were made
};

struct State {
  bool is_initialized = false;
  std::vector<std::unique_ptr<Context>> contexts;  // one for each device
  Handles<Stream> streams;
  Handles<Event> events;
  Handles<Module> modules;
  std::map<const void*, Function*> functions;
  Handles<Graph> graphs, executables;
  Handles<MemoryPool> pools;
};

State& state();
Context& context_of(int device);
Context*& current_context();
Stream& stream_of(CUstream handle);  // null: the legacy stream of the current context
Function& function_of(CUfunction handle);

template <class T>
T& required(T* pointer) {
  if (!pointer) throw Failure{CUDA_ERROR_INVALID_VALUE};
  return *pointer;
}

// Runs the body of a function of the driver: with its lock, and with failures as results.
template <class F>
CUresult entered(F&& body) {
  if (is_in_host_function()) return CUDA_ERROR_NOT_PERMITTED;
  try {
    const std::lock_guard lock(driver_mutex());
    if (!state().is_initialized) return CUDA_ERROR_NOT_INITIALIZED;
    return body();
  } catch (const Failure& failure) {
    return failure.result;
  } catch (const std::bad_alloc&) {
    return CUDA_ERROR_OUT_OF_MEMORY;
  }
}

// As above, for functions that need a current context, which is passed to them. An error of a
// kernel stays.
template <class F>
CUresult entered_with_context(F&& body) {
  return entered([&] {
    Context* const context = current_context();
    if (!context) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->sticky) return context->sticky;
    const CUresult result = body(*context);
    return context->sticky && result == CUDA_SUCCESS ? context->sticky : result;
  });
}

}  // namespace emulator
