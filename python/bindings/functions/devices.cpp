// Devices, which Python knows by their names.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "plait/core/ambient.h"
#include "plait/core/device.h"
#include "plait/core/error.h"
#include "plait/core/log.h"
#include "plait/ops/arrays/to_device.h"
#include "plait/ops/call.h"
#include "plait/tensor/inside/device_calls.h"
#include "plait/tensor/memory/device_memory.h"

#include "python/bindings/functions/arguments.h"
#include "python/bindings/functions/bind.h"

namespace plait::python {

Device device_from(nb::handle given) {
  if (PyLong_Check(given.ptr()) && !PyBool_Check(given.ptr())) {
    return Device("cuda:" + utf8_of(nb::str(given)));
  }
  return Device(utf8_of(nb::str(given)));
}

namespace {

void bind_host_calls(nb::module_& module) {
  module.def("_host_calls", [] {
    nb::dict counts;
    for (const HostCalls& each : host_calls()) {
      counts[text_to_python(each.primitive->name)] = each.count;
    }
    return counts;
  });
  module.def("_log_host_call", [](const std::string& name, const std::string& device) {
    log(LogArea::data, LogLevel::warning,
        "{} has no kernel for {}: the host computes it, on a copy of the image", name, device);
  });
}

}  // namespace

void bind_devices(nb::module_& module) {
  module.def(
      "_device_name", [](nb::handle given) { return text_of(device_from(given)); },
      nb::arg().none());
  module.def("_device_of", [](const Tensor& x) { return text_of(x.device()); });
  module.def("_default_device", [] { return text_of(default_device()); });
  module.def("_device_scope", [] {
    return ambient.device < 0 ? std::nullopt : std::optional(text_of(default_device()));
  });
  module.def("_device_count",
             [](const std::string& name) { return device_count(Device(name).kind); });
  module.def("_to_device", [](const Tensor& x, const std::string& name) {
    return computed([&] { return to_device(x, Device(name)); });
  });
  module.def("_constants", [](const std::vector<double>& numbers) { return constants(numbers); });
  module.def("_is_unplaced", [](const Tensor& x) { return x.is_unplaced(); });
  module.def("_made_beside", [](const Tensor& x, const Tensor& made) {
    return computed([&] { return made_on(x.device(), made); });
  });
  // Numbers stay unplaced.
  module.def("_on_default_device", [](const Tensor& x) {
    return computed(
        [&] { return x.is_unplaced() ? on_default_device(x) : to_device(x, default_device()); });
  });
  module.def("_indices_beside", [](const Tensor& x, const Tensor& indices) {
    return computed([&] { return indices_beside(x, indices); });
  });
  module.def("_synchronize", [](const std::string& name) {
    const Device device(name);
    const nb::gil_scoped_release unlocked;
    if (!device.is_cpu()) device_memory(device).synchronize();
  });
  module.def("_report_outstanding", [] {
    const nb::gil_scoped_release unlocked;
    report_outstanding();
  });
  bind_host_calls(module);
  nb::class_<DeviceScope>(module, "_DeviceScope");
  module.def("_open_device_scope",
             [](const std::string& name) { return std::make_unique<DeviceScope>(Device(name)); });
}

}  // namespace plait::python
