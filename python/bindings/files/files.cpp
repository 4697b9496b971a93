#include "python/bindings/files/files.h"

namespace plait::python {

std::map<std::string, Array> arrays_from(const nb::dict& tensors) {
  std::map<std::string, Array> arrays;
  for (const auto& [name, tensor] : tensors) {
    arrays.emplace(nb::cast<std::string>(name), nb::cast<Tensor>(tensor).array());
  }
  return arrays;
}

nb::dict arrays_to_python(std::map<std::string, Array> arrays) {
  nb::dict tensors;
  for (auto& [name, array] : arrays) tensors[text_to_python(name)] = Tensor(std::move(array));
  return tensors;
}

nb::list names_to_python(std::span<const std::string> names) {
  nb::list list;
  for (const std::string& name : names) list.append(text_to_python(name));
  return list;
}

nb::tuple sizes_to_python(const Sizes& sizes) {
  nb::list list;
  for (const int64_t size : sizes) list.append(size);
  return nb::tuple(list);
}

}  // namespace plait::python
