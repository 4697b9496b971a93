// The module plait._core. The package around it (python/plait) is what users import.
#include "plait/core/version.h"
#include "plait/ops/register_all.h"

#include "python/bindings/bindings.h"
#include "python/bindings/functions/function_object.h"

NB_MODULE(_core, module) {
  using namespace plait::python;
  // Objects that other modules keep until the interpreter ends are not leaks that users should be
  // warned of.
  nanobind::set_leak_warnings(false);
  plait::register_all();
  module.attr("__version__") = nanobind::str(plait::version().data(), plait::version().size());
  bind_lock(module);
  bind_errors(module);
  bind_locations(module);
  bind_dtypes(module);
  bind_tensor(module);
  bind_methods(module);
  bind_devices(module);
  bind_memory_statistics(module);
  bind_denormals(module);
  bind_anomaly(module);
  bind_elementwise(module);
  bind_functions(module);
  bind_creation_functions(module);
  bind_array_functions(module);
  bind_neural_functions(module);
  bind_linalg(module);
  bind_fft(module);
  bind_random(module);
  bind_collective_functions(module);
  bind_printing(module);
  bind_primitives(module);
  bind_structure(module);
  bind_jit(module);
  bind_programs(module);
  bind_transforms(module);
  bind_records(module);
  bind_numpy_files(module);
  bind_safetensors(module);
  bind_checkpoints(module);
  bind_gguf(module);
  bind_images(module);
  bind_comm(module);
  bind_logs(module);
  bind_rows(module);
  bind_text(module);
  bind_boundary(module);
  bind_loading(module);
  bind_image_functions(module);
  bind_image_transforms(module);
#if PLAIT_TESTING
  nb::module_ testing = module.def_submodule("_testing", "Internals for the conformance suite.");
  bind_testing(testing);
  bind_damage(testing);
#endif
}
