// What the parts of the Python module share.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>

#include "plait/core/error.h"
#include "plait/ir/primitive.h"
#include "plait/ops/operand.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/tensor.h"

namespace plait::python {

namespace nb = nanobind;

// A dtype as an object of Python.
struct PythonDType {
  DType dtype;
};

void bind_errors(nb::module_& module);
void bind_locations(nb::module_& module);
void bind_dtypes(nb::module_& module);
void bind_tensor(nb::module_& module);
void bind_dlpack(nb::class_<Tensor>& tensor, nb::module_& module);
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
void bind_printing(nb::module_& module);
void bind_primitives(nb::module_& module);
void bind_structure(nb::module_& module);
void bind_jit(nb::module_& module);
void bind_programs(nb::module_& module);
void bind_boundary(nb::module_& module);
void bind_transforms(nb::module_& module);
void bind_records(nb::module_& module);
void bind_testing(nb::module_& module);
void bind_damage(nb::module_& module);

// Whether a file of Python is one of the package.
bool is_own_file(const char* file);
// The exception that is being handled, as Python's.
void set_python_error();
// A hint of the library, which speaks C++, in the words of Python.
std::string hint_in_python(std::string hint);
// A docstring with the example of docs/examples behind it.
nb::object with_example(nb::object text, nb::handle module, const char* name);
// The one of the names that looks most like it; "" where none does.
std::string nearest_name(const std::string& name, nb::handle names);
TypeError no_argument(std::string_view function, const std::string& name, nb::handle names);

// Throws what passed through Python as this error again, if it is such.
void rethrow_passing(const nb::python_error& error);
// One of plait.Error as an Error, which is the same exception when it comes back to Python.
void rethrow_error(const nb::python_error& error);

// Computes without holding Python's lock; `compute` must touch no object of Python.
template <class Compute>
auto computed(Compute compute) {
  const nb::gil_scoped_release unlocked;
  return compute();
}

// An operand as Python gives it: a tensor, a number that takes the dtype of the others, a size, or
// an array of NumPy, which is borrowed.
class PythonOperand {
 public:
  PythonOperand() = default;
  explicit PythonOperand(nb::handle object);
  // Of an item of host code that is recorded: where its number need not be known it is a tensor, to
  // which settle() gives the dtype that a number would take from the others.
  static PythonOperand recorded(nb::handle item);
  bool is_recorded() const { return recorded_.has_value(); }
  void settle(std::span<const DType> others);
  Operand get() const { return tensor_ ? Operand(tensor_) : Operand(scalar_); }
  // A lone number has the default dtype of its kind.
  Tensor tensor() const;

 private:
  void set_integer(nb::handle integer);

  Tensor tensor_;
  Scalar scalar_ = 0;
  std::optional<ScalarKind> recorded_ = {};
};

// What stands for the number of a tensor in host code that is recorded (python/plait/items.py).
void declare_item(nb::handle cls);
nb::object new_item(nb::handle tensor);
bool is_item(nb::handle object);
nb::object number_of_item(nb::handle item);

// An object of Python that C++ holds, and may let go without Python's lock.
std::shared_ptr<PyObject> held(nb::object object);
Tensor tensor_from(nb::handle object);
std::vector<Tensor> tensors_from(nb::handle sequence);
std::vector<Tensor> optional_tensors_from(nb::handle sequence);  // empty ones for None
// Memory that another library lends.
struct Lent {
  DType dtype;
  Layout layout;
  std::byte* lowest;
  int64_t bytes;

  // By the element with all indices 0 and strides in bytes; nothing where the elements do not lie
  // at whole multiples of their size.
  static std::optional<Lent> at(std::byte* first, DType dtype, std::span<const int64_t> sizes,
                                std::span<const int64_t> strides);
  Tensor borrow(std::function<void()> release) const;
};
nb::object numpy_array(nb::handle given);  // ValueError where lists are no array
// Shares the memory where the elements lie as a tensor's may; else a copy.
Tensor borrow_numpy(nb::handle array);
Tensor borrow_as(nb::handle array,
                 nb::handle dtype);  // its elements as those of a dtype of their size

// x.size, and whether an object is one: an int that knows what is meant where it is called.
nb::object element_count_of(const Tensor& x);
bool is_element_count(PyObject* object);

// The name of the object's class; with the library that it is of, as in torch.Tensor.
const char* class_name_of(nb::handle object);
std::string full_class_name_of(nb::handle object);
// A list, a tuple, a range or a vector of NumPy's.
bool is_sequence(nb::handle object);

// A tensor's, or as the IR writes it ("f32[n, 3]").
ir::Type type_from(nb::handle given);
DType dtype_from(nb::handle object);  // a DType, or any name or type that NumPy knows
int64_t integer_from(nb::handle object);
Dim dim_from(nb::handle object);
nb::object to_python(Dim dim);
Shape shape_from(nb::handle object);  // a size or a sequence of sizes
nb::tuple to_python(const Shape& shape);
Axes axes_from(nb::handle object);  // None: all
std::vector<int64_t> integers_from(nb::handle object);
// None for a tensor that is not there.
nb::object to_python(const Tensor& tensor);
nb::object to_python(const std::vector<Tensor>& tensors);  // a list
struct Tuple {
  std::vector<Tensor> tensors;
};
nb::object to_python(const Tuple& tuple);

// Of a primitive, from keyword arguments: TypeError names one that is unknown or missing.
ir::Attributes attributes_from(const ir::Primitive& primitive, const nb::kwargs& given);

}  // namespace plait::python
