// oneDNN as Plait uses it: one engine, single-threaded calls from within our own loops, primitives
// and scratchpads held by us.
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

// While this lives, oneDNN's OpenMP gives the thread that made it one thread: primitives are then
// planned for one, and run in the caller without a team of their own.
class OneOpenMpThread {
 public:
  OneOpenMpThread();
  ~OneOpenMpThread();
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  int outer_;
};

// Made at the first call; the setting `cpu` caps what it uses from then on.
const dnnl::engine& onednn_engine();

// Nothing for a dtype that oneDNN is not used for.
std::optional<dnnl::memory::data_type> onednn_type(DType dtype);

// A primitive with the memory objects of its arguments, of which each run borrows a set.
class OnednnPrimitive {
 public:
  struct Argument {
    int name;  // DNNL_ARG_…
    dnnl::memory::desc desc;
  };
  OnednnPrimitive(dnnl::primitive primitive, const dnnl::memory::desc& scratchpad,
                  std::vector<Argument> arguments);

  // With the data of the arguments, in their order.
  void run(std::span<void* const> data);

 private:
  struct Call {
    dnnl::stream stream;
    std::unordered_map<int, dnnl::memory> memories;
    std::vector<dnnl::memory> ordered;  // as the arguments, then the scratchpad
  };
  std::unique_ptr<Call> borrow();
  void give_back(std::unique_ptr<Call> call);

  dnnl::primitive primitive_;
  std::vector<Argument> arguments_;
  int64_t scratchpad_bytes_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Call>> idle_;
};

// Calls `make`, which makes primitives, planned for one thread; false where oneDNN does not
// implement them. MemoryError when it has no memory left.
bool make_by_onednn(FunctionRef<void()> make);
// The same with what `make` makes, or null.
std::shared_ptr<OnednnPrimitive> make_onednn_primitive(
    FunctionRef<std::shared_ptr<OnednnPrimitive>()> make);

}  // namespace plait
