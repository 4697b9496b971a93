#include "plait/io/gguf.h"

#include "plait/core/error.h"

#include "python/bindings/files/files.h"

namespace plait::python {
namespace {

nb::object gguf_value_to_python(const GgufValue& value);

// A list of numbers or bools.
nb::object numbers_to_python(const Array& numbers) {
  return nb::cast(Tensor(numbers)).attr("tolist")();
}

struct GgufValueToPython {
  nb::object operator()(bool value) const { return nb::bool_(value); }
  nb::object operator()(int64_t value) const { return nb::int_(value); }
  nb::object operator()(uint64_t value) const { return nb::int_(value); }
  nb::object operator()(double value) const { return nb::float_(value); }
  nb::object operator()(const std::string& value) const { return text_to_python(value); }
  nb::object operator()(const Array& value) const { return numbers_to_python(value); }
  nb::object operator()(const GgufValue::Strings& value) const {
    nb::list texts;
    for (const std::string& each : value) texts.append(text_to_python(each));
    return texts;
  }
  nb::object operator()(const GgufValue::List& value) const {
    nb::list lists;
    for (const GgufValue& each : value) lists.append(gguf_value_to_python(each));
    return lists;
  }
};

nb::object gguf_value_to_python(const GgufValue& value) {
  return std::visit(GgufValueToPython(), value.value());
}

nb::dict gguf_metadata(const Gguf& file) {
  nb::dict metadata;
  for (const auto& [key, value] : file.metadata()) {
    metadata[text_to_python(key)] = gguf_value_to_python(value);
  }
  return metadata;
}

nb::tuple gguf_info(const Gguf& file, const std::string& name) {
  const GgufInfo& info = file.info(name);
  return nb::make_tuple(info.type, sizes_to_python(info.sizes));
}

}  // namespace

void bind_gguf(nb::module_& module) {
  nb::class_<Gguf>(module, "_Gguf")
      .def("names", [](const Gguf& file) { return names_to_python(file.names()); })
      .def("contains",
           [](const Gguf& file, const std::string& name) { return file.contains(name); })
      .def("info", gguf_info)
      .def("metadata", gguf_metadata)
      .def("tensor", [](const Gguf& file, const std::string& name) {
        return Tensor(computed([&] { return file.array(name); }));
      });
  module.def("_open_gguf", [](const nb::bytes& path) {
    const std::string file = path_from(path);
    return computed([&] { return Gguf::open(file); });
  });
  module.def("_load_gguf", [](const nb::bytes& path) {
    const std::string file = path_from(path);
    return arrays_to_python(computed([&] { return load_gguf(file); }));
  });
}

}  // namespace plait::python
