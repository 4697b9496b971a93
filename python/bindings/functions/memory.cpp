// Statistics of the library's memory.
#include "plait/tensor/memory/memory.h"

#include "python/bindings/functions/arguments.h"
#include "python/bindings/functions/bind.h"

namespace plait::python {

void bind_memory_statistics(nb::module_& module) {
  module.def(
      "memory_statistics",
      [](nb::handle device) {
        static const nb::handle type =
            make_named_tuple("Memory", std::array<std::string_view, 3>{"live", "peak", "kept"})
                .release();
        const Device of = device.is_none() ? default_device() : device_from(device);
        const MemoryStatistics now = memory_statistics(of);
        return type(now.live_bytes, now.peak_bytes, of.is_cpu() ? cached_memory() : 0);
      },
      nb::arg("device") = nb::none(),
      "The bytes that tensors occupy on a device now, their peak, and the bytes that are cached "
      "for "
      "reuse; on the default device if none is given.");
  module.def("reset_peak_memory", reset_peak_memory, "Resets the peak to the live bytes.");
  module.def("release_cached_memory", release_cached_memory,
             "Returns cached memory to the system.");
}

}  // namespace plait::python
