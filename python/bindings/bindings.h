// Declarations shared by the sources of the Python module.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "plait/core/error.h"
#include "plait/ir/primitive.h"
#include "plait/ops/operand.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/tensor.h"

#include "python/bindings/python_lock.h"

namespace plait::python {

namespace nb = nanobind;

// Wraps a dtype in a Python object.
struct PythonDType {
  DType dtype;
};

void bind_errors(nb::module_& module);
void bind_locations(nb::module_& module);
void bind_dtypes(nb::module_& module);
void bind_tensor(nb::module_& module);
void bind_dlpack(nb::class_<Tensor>& tensor, nb::module_& module);
void bind_devices(nb::module_& module);
void bind_memory_statistics(nb::module_& module);
void bind_denormals(nb::module_& module);
void bind_anomaly(nb::module_& module);
void bind_indexing(nb::class_<Tensor>& tensor);
void bind_elementwise(nb::module_& module);
void bind_functions(nb::module_& module);
void bind_creation_functions(nb::module_& module);
void bind_array_functions(nb::module_& module);
void bind_neural_functions(nb::module_& module);
void bind_linalg(nb::module_& module);
void bind_fft(nb::module_& module);
void bind_random(nb::module_& module);
void bind_collective_functions(nb::module_& module);
void bind_comm(nb::module_& core);
void bind_printing(nb::module_& module);
void bind_primitives(nb::module_& module);
void bind_structure(nb::module_& module);
void bind_jit(nb::module_& module);
void bind_programs(nb::module_& module);
void bind_logs(nb::module_& module);
void bind_rows(nb::module_& module);
void bind_boundary(nb::module_& module);
void bind_transforms(nb::module_& module);
void bind_records(nb::module_& module);
void bind_numpy_files(nb::module_& module);
void bind_safetensors(nb::module_& module);
void bind_checkpoints(nb::module_& module);
void bind_gguf(nb::module_& module);
void bind_images(nb::module_& module);
void bind_loading(nb::module_& core);
void bind_readers(nb::module_& data);
void bind_image_functions(nb::module_& core);
void bind_image_transforms(nb::module_& core);
void bind_text(nb::module_& module);
void bind_testing(nb::module_& module);
void bind_damage(nb::module_& module);

// True if a Python source file belongs to the package.
bool is_own_file(const char* file);
// Converts the exception that is being handled to a Python exception.
void set_python_error();
// Rewrites a hint of the library, which uses C++ syntax, in Python syntax.
std::string hint_in_python(std::string hint);
// Returns a docstring with the example of docs/examples appended.
nb::object with_example(nb::object text, nb::handle module, const char* name);
// Returns the most similar of the names; "" if none is similar.
std::string nearest_name(const std::string& name, nb::handle names);
TypeError no_argument(std::string_view function, const std::string& name, nb::handle names);

// Rethrows a C++ exception that passed through Python.
void rethrow_passing(const nb::python_error& error);
// Converts an instance of plait.Error to an Error, which becomes the same exception when it returns
// to Python.
void rethrow_error(const nb::python_error& error);

// Computes without holding Python's lock; `compute` must not touch Python objects.
template <class Compute>
auto computed(Compute compute) {
  const UnlockedPython unlocked;
  return compute();
}

// An operand as passed from Python: a tensor, a number that takes the dtype of the others, a size,
// or a NumPy array, which is borrowed.
class PythonOperand {
 public:
  PythonOperand() = default;
  explicit PythonOperand(nb::handle object);
  // Wraps an item of recorded host code: where its number need not be known it is a tensor, to
  // which settle() gives the dtype that a number would take from the others.
  static PythonOperand recorded(nb::handle item);
  bool is_recorded() const { return recorded_.has_value(); }
  void settle(std::span<const DType> others);
  Operand get() const { return tensor_ ? Operand(tensor_) : Operand(scalar_); }
  // A single number has the default dtype of its kind.
  Tensor tensor() const;
  // True for an array of NumPy, which has no device of its own: it is moved to that of the tensors
  // beside it.
  bool is_array() const { return is_array_; }
  void move_to(Device device);

 private:
  void set_integer(nb::handle integer);

  Tensor tensor_;
  Scalar scalar_ = 0;
  bool is_array_ = false;
  std::optional<ScalarKind> recorded_ = {};
};

// Represents the number of a tensor in recorded host code (python/plait/inside/arrays/items.py).
void declare_item(nb::handle cls);
nb::object new_item(nb::handle tensor);
bool is_item(nb::handle object);
nb::object number_of_item(nb::handle item);

// A Python object that C++ owns, and may release without Python's lock.
std::shared_ptr<PyObject> held(nb::object object);
// For methods that take any object, as `Tensor.item(0.5)` passes one: a TypeError unless it is a
// tensor.
Tensor& tensor_in(nb::handle self);
Tensor tensor_from(nb::handle object);
// Arrays of NumPy go to the device of the first tensor that is placed.
std::vector<Tensor> tensors_from(nb::handle sequence);
bool is_foreign_array(nb::handle object);
void move_arrays(std::span<Tensor> tensors, const std::vector<bool>& is_array);
std::vector<Tensor> optional_tensors_from(nb::handle sequence);  // None becomes an empty tensor
// Memory that is borrowed from another library.
struct Lent {
  DType dtype;
  Layout layout;
  std::byte* lowest;
  int64_t bytes;

  // From the address of the element with all indices 0, and strides in bytes; nothing if elements
  // are not at multiples of their size.
  static std::optional<Lent> at(std::byte* first, DType dtype, std::span<const int64_t> sizes,
                                std::span<const int64_t> strides);
  Tensor borrow(std::function<void()> release) const;
};
nb::object numpy_array(nb::handle given);  // ValueError if lists do not form an array
// Shares the memory if its layout is supported; otherwise copies.
Tensor borrow_numpy(nb::handle array);
Tensor borrow_as(nb::handle array,
                 nb::handle dtype);  // reinterprets its elements as a dtype of the same size

// x.size: an int subclass that, when it is called, explains what to write instead.
nb::object element_count_of(const Tensor& x);
bool is_element_count(PyObject* object);

// The name of the object's class; with the library that it is of, as in torch.Tensor.
const char* class_name_of(nb::handle object);
std::string full_class_name_of(nb::handle object);
// A list, a tuple, a range or a vector of NumPy's.
bool is_sequence(nb::handle object);

// The type of a tensor, or a type written as in the IR ("f32[n, 3]").
ir::Type type_from(nb::handle given);
DType dtype_from(nb::handle object);  // a DType, or any name or type that NumPy accepts
int64_t integer_from(nb::handle object);
Dim dim_from(nb::handle object);
nb::object to_python(Dim dim);
Shape shape_from(nb::handle object);  // a size or a sequence of sizes
nb::tuple to_python(const Shape& shape);
nb::str text_to_python(std::string_view text);  // ParseError if it is not UTF-8
// str(object) in UTF-8: all of it, also after a zero byte. A lone surrogate, for which
// nb::str::c_str() is nullptr, becomes an escape.
std::string utf8_of(nb::handle object);
Axes axes_from(nb::handle object);  // None means all axes
std::vector<int64_t> integers_from(nb::handle object);
// An undefined tensor becomes None.
nb::object to_python(const Tensor& tensor);
nb::object to_python(const std::vector<Tensor>& tensors);  // a list
struct Tuple {
  std::vector<Tensor> tensors;
};
nb::object to_python(const Tuple& tuple);

// Builds a primitive's attributes from keyword arguments; a TypeError names an unknown or missing
// one.
ir::Attributes attributes_from(const ir::Primitive& primitive, const nb::kwargs& given);

}  // namespace plait::python
