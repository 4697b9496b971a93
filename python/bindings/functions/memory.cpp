// Statistics of the library's memory.
#include "plait/tensor/memory/memory.h"

#include <memory>
#include <string>

#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include "plait/tensor/memory/device_memory.h"

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
        if (!of.is_cpu()) (void)device_memory(of);  // DeviceError if the machine lacks it
        const MemoryStatistics now = memory_statistics(of);
        return type(now.live_bytes, now.peak_bytes, of.is_cpu() ? cached_memory() : 0);
      },
      nb::arg("device") = nb::none(),
      "The bytes that tensors occupy on a device now, their peak, and the bytes that are cached "
      "for "
      "reuse; on the default device if none is given.");
  module.def(
      "reset_peak_memory",
      [](nb::handle device) {
        if (device.is_none()) return reset_peak_memory();
        const Device of = device_from(device);
        if (!of.is_cpu()) (void)device_memory(of);  // DeviceError if the machine lacks it
        reset_peak_memory(of);
      },
      nb::arg("device") = nb::none(),
      "Resets the peak to the live bytes, on all devices if none is given.");
  module.def("release_cached_memory", release_cached_memory,
             "Returns cached memory to the system.");
  module.def("_memory_by_tag", [](nb::handle device) {
    nb::dict live;
    for (const MemoryStatistics& each : memory_statistics_by_tag(device_from(device))) {
      if (each.live_bytes > 0) live[text_to_python(each.tag)] = each.live_bytes;
    }
    return live;
  });
  nb::class_<MemoryTag>(module, "_MemoryTag");
  module.def("_open_memory_tag",
             [](const std::string& tag) { return std::make_unique<MemoryTag>(tag); });
}

}  // namespace plait::python
