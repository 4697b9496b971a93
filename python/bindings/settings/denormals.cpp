#include "plait/core/system/denormals.h"

#include <memory>

#include <nanobind/stl/unique_ptr.h>

#include "python/bindings/bindings.h"

namespace plait::python {

void bind_denormals(nb::module_& module) {
  nb::class_<FlushDenormals>(module, "_FlushDenormals");
  module.def("_flush_denormals",
             [](bool flush) { return std::make_unique<FlushDenormals>(flush); });
}

}  // namespace plait::python
