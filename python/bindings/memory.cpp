// Statistics of the library's memory.
#include "plait/tensor/memory/memory.h"

#include "python/bindings/bind.h"

namespace plait::python {

void bind_memory_statistics(nb::module_& module) {
  module.def(
      "memory_statistics",
      [] {
        static const nb::handle type =
            make_named_tuple("Memory", std::array<std::string_view, 3>{"live", "peak", "kept"})
                .release();
        const MemoryStatistics now = memory_statistics();
        return type(now.live_bytes, now.peak_bytes, cached_memory());
      },
      "Bytes that tensors hold now, the most that they held at a time, and those that are kept for "
      "later.");
  module.def("reset_peak_memory", reset_peak_memory, "The peak begins again at what is live.");
  module.def("release_cached_memory", release_cached_memory,
             "Gives the bytes that are kept for later back to the system.");
}

}  // namespace plait::python
