// NumPy's files, and those of MNIST. Python's lock is released while files are read and written.
#include <nanobind/stl/vector.h>

#include "plait/io/idx.h"
#include "plait/io/npy.h"
#include "plait/io/npz.h"

#include "python/bindings/files/files.h"

namespace plait::python {

void bind_numpy_files(nb::module_& module) {
  module.def("_load_npy", [](const nb::bytes& path) {
    const std::string file = path_from(path);
    return Tensor(computed([&] { return load_npy(file); }));
  });
  module.def("_save_npy", [](const nb::bytes& path, const Tensor& tensor) {
    const std::string file = path_from(path);
    const Array array = tensor.array();
    computed([&] { save_npy(file, array); });
  });
  module.def("_load_npz", [](const nb::bytes& path) {
    const std::string file = path_from(path);
    return arrays_to_python(computed([&] { return load_npz(file); }));
  });
  module.def("_load_npz_named", [](const nb::bytes& path, const std::vector<std::string>& names) {
    const std::string file = path_from(path);
    return arrays_to_python(computed([&] { return load_npz(file, names); }));
  });
  module.def("_npz_names", [](const nb::bytes& path) {
    const std::string file = path_from(path);
    return names_to_python(computed([&] { return npz_names(file); }));
  });
  module.def("_save_npz", [](const nb::bytes& path, const nb::dict& tensors, bool compressed) {
    const std::string file = path_from(path);
    const auto arrays = arrays_from(tensors);
    computed([&] { save_npz(file, arrays, compressed); });
  });
  module.def("_load_idx", [](const nb::bytes& path) {
    const std::string file = path_from(path);
    return Tensor(computed([&] { return load_idx(file); }));
  });
}

}  // namespace plait::python
