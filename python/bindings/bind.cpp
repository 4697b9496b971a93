#include "python/bindings/bind.h"

#include <algorithm>

namespace plait::python {

Parameter::Parameter(std::string_view given, nb::object value)
    : name(given), standard(std::move(value)) {
  if (nb::isinstance<PythonDType>(standard)) dtype = nb::cast<PythonDType>(standard).dtype;
}

nb::arg_v Parameter::argument() const {
  nb::arg named(name.c_str());
  named.none(dtype.has_value());
  return nb::arg_v(named, nb::object(standard));
}

void Given::name_argument(Error& error, const Parameter& parameter) const {
  error.prepend(fmt::format("{}: {}: ", function_, parameter.name));
}

nb::object make_named_tuple(std::string_view type, std::span<const std::string_view> fields) {
  const std::string name(type.substr(std::min(type.rfind(':') + 1, type.size())));
  nb::list names;
  for (const std::string_view field : fields) names.append(nb::str(field.data(), field.size()));
  return nb::module_::import_("collections")
      .attr("namedtuple")(name.c_str(), names, nb::arg("module") = "plait");
}

}  // namespace plait::python
