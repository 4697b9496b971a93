// Conversions that the bindings of files share.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "plait/tensor/memory/array.h"

#include "python/bindings/bindings.h"

namespace plait::python {

// The arrays of a dict of tensors by name. ValueError for a traced tensor whose value is unknown.
std::map<std::string, Array> arrays_from(const nb::dict& tensors);
nb::dict arrays_to_python(std::map<std::string, Array> arrays);
nb::list names_to_python(std::span<const std::string> names);
nb::tuple sizes_to_python(const Sizes& sizes);

inline std::string path_from(const nb::bytes& path) { return {path.c_str(), path.size()}; }

}  // namespace plait::python
