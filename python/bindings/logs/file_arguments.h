// Arguments of what reads and writes files.
#pragma once

#include <string>
#include <string_view>

#include <nanobind/nanobind.h>

namespace plait::python {

// A path as the system has it: the package passes os.fsencode(path).
inline std::string system_path(const nanobind::bytes& path) { return {path.c_str(), path.size()}; }

inline nanobind::object text_object(std::string_view text) {
  return nanobind::str(text.data(), text.size());
}

}  // namespace plait::python
