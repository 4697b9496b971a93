#include "python/bindings/functions/bind.h"

#include <algorithm>

#include "plait/tensor/inside/tracing/trace.h"

#include "python/bindings/trees/node_kinds.h"

namespace plait::python {

Device Given::place() const {
  for (const nb::handle each : values_) {
    if (!is_tensor(each.ptr())) continue;
    const Tensor& tensor = *nb::inst_ptr<Tensor>(each);
    if (!is_key(tensor.dtype())) return tensor.device();
  }
  return default_device();
}

// Within a trace it is a constant, which meets any device.
bool Given::is_array(nb::handle given) {
  return !is_tensor(given.ptr()) && nb::hasattr(given, "__array_interface__") &&
         Trace::current() == nullptr;
}

void Given::name_argument(Error& error, const Parameter& parameter) const {
  error.prepend(fmt::format("{}: {}: ", function_, parameter.name));
  // stack(a, b)
  if (parameter.name == "axis" && nb::isinstance<Tensor>(value_[-1]) &&
      (&parameter)[-1].name == "arrays") {
    error.set_hint(fmt::format("pass the tensors as one list: {}([a, b])", function_));
  }
}

nb::object make_named_tuple(std::string_view type, std::span<const std::string_view> fields) {
  const std::string name(type.substr(std::min(type.rfind(':') + 1, type.size())));
  nb::list names;
  for (const std::string_view field : fields) names.append(nb::str(field.data(), field.size()));
  return nb::module_::import_("collections")
      .attr("namedtuple")(name.c_str(), names, nb::arg("module") = "plait");
}

}  // namespace plait::python
