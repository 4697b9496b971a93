// User-defined records. The package (python/plait/inside/transforms/records.py) defines their
// classes.
#include <nanobind/stl/vector.h>

#include "plait/core/text.h"
#include "plait/ir/text/parser_types.h"
#include "plait/ops/arrays/to_device.h"
#include "plait/transform/control/record.h"

#include "python/bindings/bindings.h"

namespace plait::python {

namespace {

// The record with the tensors in it on a device.
Tensor record_on(const Tensor& record, Device device) {
  const std::string name = record.type().element().record_name();
  if (!records::is_there(record).truth()) return records::none(name);
  std::vector<Tensor> fields = records::fields(record);
  for (Tensor& each : fields) {
    each = each.is_array() ? to_device(each, device) : record_on(each, device);
  }
  return records::make(name, fields);
}

}  // namespace

void bind_records(nb::module_& module) {
  module.def(
      "_declare_record",
      [](const std::string& name, const std::vector<std::string>& fields) {
        std::vector<ir::Type> types;
        for (const std::string& field : fields) types.push_back(parse_whole(field, ir::parse_type));
        records::declare(name, types);
      },
      nb::arg("name"), nb::arg("fields"));
  module.def(
      "_make_record",
      [](const std::string& name, nb::handle fields) {
        const std::vector<Tensor> given = tensors_from(fields);
        return computed([&] { return records::make(name, given); });
      },
      nb::arg("name"), nb::arg("fields"));
  module.def("_no_record", [](const std::string& name) { return records::none(name); });
  module.def("_is_traced", [](const Tensor& tensor) { return tensor.is_traced(); });
  module.def("_is_record", [](const Tensor& tensor) { return !tensor.is_array(); });
  module.def("_record_on", [](const Tensor& record, const std::string& device) {
    return computed([&] { return record_on(record, Device(device)); });
  });
  module.def("_is_record_there", [](const Tensor& record) { return records::is_there(record); });
  module.def("_fields_of_record", [](const Tensor& record) {
    return to_python(computed([&] { return records::fields(record); }));
  });
}

}  // namespace plait::python
