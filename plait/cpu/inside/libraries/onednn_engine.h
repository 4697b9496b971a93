// oneDNN as Plait uses it: one engine, single-threaded calls from our own parallel loops, and
// primitives and scratchpads that we own.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/core/numbers/dtype.h"
#include "plait/cpu/inside/libraries/onednn_library.h"

namespace plait {

// Limits oneDNN's OpenMP to one thread in the creating thread, within a scope. Primitives are then
// planned for one thread, and run in the caller without a thread team of their own.
class OneOpenMpThread {
 public:
  OneOpenMpThread();
  ~OneOpenMpThread();
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  int outer_;
};

// Created at the first call, with the setting `cpu` of that time.
const dnnl::engine& onednn_engine();

// Empty for a dtype that oneDNN is not used for.
std::optional<dnnl::memory::data_type> onednn_type(DType dtype);

// A primitive with sets of memory objects for its arguments; each run borrows one set.
class OnednnPrimitive {
 public:
  struct Argument {
    int name;  // DNNL_ARG_…
    dnnl::memory::desc desc;
  };
  OnednnPrimitive(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad,
                  std::vector<Argument> arguments);

  // `data` are the arguments in order.
  void run(std::span<void* const> data);

 private:
  struct Call {
    dnnl::stream stream;
    std::unordered_map<int, dnnl::memory> memories;
    std::vector<dnnl::memory> ordered;  // in the order of the arguments, then the scratchpad
  };
  std::unique_ptr<Call> borrow();
  void give_back(std::unique_ptr<Call> call);

  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  int64_t scratchpad_bytes_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Call>> idle_;
};

// Calls `make`, which creates primitives planned for one thread. Returns false if oneDNN does not
// implement them; throws MemoryError if memory is exhausted.
bool make_by_onednn(FunctionRef<void()> make);
// The same, and returns the result of `make`, or null.
std::shared_ptr<OnednnPrimitive> make_onednn_primitive(
    FunctionRef<std::shared_ptr<OnednnPrimitive>()> make);

}  // namespace plait
