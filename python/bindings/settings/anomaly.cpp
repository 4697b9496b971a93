#include "plait/core/anomaly.h"

#include <memory>
#include <string>

#include <nanobind/stl/unique_ptr.h>

#include "plait/ops/effects/check.h"

#include "python/bindings/bindings.h"

namespace plait::python {

void bind_anomaly(nb::module_& module) {
  nb::class_<DetectAnomaly>(module, "_DetectAnomaly");
  module.def("_detect_anomaly", [](bool nan, bool inf) {
    return std::make_unique<DetectAnomaly>(!nan  ? Anomaly::none
                                           : inf ? Anomaly::nan_or_inf
                                                 : Anomaly::nan);
  });
  module.def("_check_finite", [](nb::handle x, const std::string& name) {
    const Tensor tensor = tensor_from(x);
    computed([&] { return check_finite(tensor, name); });
  });
}

}  // namespace plait::python
