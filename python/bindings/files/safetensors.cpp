#include "plait/io/safetensors.h"

#include <utility>
#include <vector>

#include <nanobind/stl/vector.h>

#include "python/bindings/files/files.h"

namespace plait::python {
namespace {

std::optional<SafetensorsMetadata> metadata_from(nb::handle given) {
  if (given.is_none()) return std::nullopt;
  SafetensorsMetadata metadata;
  for (const auto& [name, value] : nb::cast<nb::dict>(given)) {
    metadata.emplace(nb::cast<std::string>(name), nb::cast<std::string>(value));
  }
  return metadata;
}

nb::object safetensors_metadata(const Safetensors& file) {
  const auto& metadata =
      computed([&]() -> const std::optional<SafetensorsMetadata>& { return file.metadata(); });
  if (!metadata) return nb::none();
  nb::dict made;
  for (const auto& [name, value] : *metadata) made[text_to_python(name)] = text_to_python(value);
  return made;
}

// (start, stop, step), each an integer or None.
Slice slice_from(nb::handle given) {
  const auto end = [&](int place) -> std::optional<int64_t> {
    const nb::object value = given[place];
    if (value.is_none()) return std::nullopt;
    return integer_from(value);
  };
  return {end(0), end(1), end(2).value_or(1)};
}

nb::tuple safetensors_info(const Safetensors& file, const std::string& name) {
  const SafetensorsInfo info = computed([&] { return file.info(name); });
  return nb::make_tuple(info.dtype, sizes_to_python(info.sizes));
}

// Safetensors::array, or another method that reads the tensor of a name.
template <Array (Safetensors::*kRead)(std::string_view) const>
Tensor safetensors_tensor(const Safetensors& file, const std::string& name) {
  return Tensor(computed([&] { return (file.*kRead)(name); }));
}

Tensor safetensors_slice(const Safetensors& file, const std::string& name, const nb::list& given) {
  std::vector<Slice> slices;
  for (const nb::handle each : given) slices.push_back(slice_from(each));
  return Tensor(computed([&] { return file.slice(name, slices); }));
}

std::string save(const nb::bytes& path, const nb::dict& tensors, nb::handle metadata,
                 int64_t largest_shard) {
  const std::string file = path_from(path);
  const auto arrays = arrays_from(tensors);
  const SafetensorsOptions options{metadata_from(metadata), largest_shard};
  return computed([&] { return save_safetensors(file, arrays, options); });
}

}  // namespace

void bind_safetensors(nb::module_& module) {
  nb::class_<Safetensors>(module, "_Safetensors")
      .def("names", [](const Safetensors& file) { return names_to_python(file.names()); })
      .def("contains",
           [](const Safetensors& file, const std::string& name) { return file.contains(name); })
      .def("info", safetensors_info)
      .def("metadata", safetensors_metadata)
      .def("tensor", safetensors_tensor<&Safetensors::array>)
      .def("bytes", safetensors_tensor<&Safetensors::bytes>)
      .def("values", safetensors_tensor<&Safetensors::values>)
      .def("slice", safetensors_slice);
  module.def("_open_safetensors", [](const nb::bytes& path) {
    const std::string file = path_from(path);
    return computed([&] { return Safetensors::open(file); });
  });
  module.def(
      "_save_safetensors",
      [](const nb::bytes& path, const nb::dict& tensors, nb::handle metadata,
         int64_t largest_shard) {
        const std::string written = save(path, tensors, metadata, largest_shard);
        return nb::bytes(written.data(), written.size());
      },
      nb::arg(), nb::arg(), nb::arg().none(), nb::arg());
}

}  // namespace plait::python
