// Conversion of arguments from Python. read() exists for each C++ type of argument and throws a
// TypeError or ValueError if the object does not fit; annotation() returns its type annotation
// (python/stubs.py).
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/ranges.h>

#include "plait/core/device.h"
#include "plait/ops/arrays/pad.h"
#include "plait/ops/arrays/to_device.h"
#include "plait/ops/collectives/collective.h"
#include "plait/ops/neural/convolution.h"
#include "plait/ops/neural/per_dimension.h"

#include "python/bindings/bindings.h"

namespace plait::python {

// All further positional arguments, or the one list that is passed.
struct Rest {
  std::vector<Tensor> tensors;

  Rest() {}  // NOLINT: must not be an aggregate, which would be a struct of options
};

// The device of a new tensor. If one is given, it is the default device while the arguments live,
// and the caller places the result there.
struct Placement {
  std::optional<Device> device;
  std::unique_ptr<DeviceScope> scope;

  Placement() {}  // NOLINT: must not be an aggregate
  // Moves a result that was made where the operands are.
  Tensor of(Tensor made) const { return device ? to_device(made, *device) : made; }
};

void read(nb::handle given, Tensor& value);  // empty for None
void read(nb::handle given, Rest& value);
void read(nb::handle given, Placement& value);
// The argument is a name, a Device of Plait or of another library, or the number of a GPU.
Device device_from(nb::handle given);
void read(nb::handle given, PythonOperand& value);
void read(nb::handle given, Scalar& value);
void read(nb::handle given, bool& value);
void read(nb::handle given, int64_t& value);
void read(nb::handle given, uint64_t& value);
void read(nb::handle given, double& value);
void read(nb::handle given, std::string& value);
void read(nb::handle given, Dim& value);
void read(nb::handle given, DType& value);
void read(nb::handle given, Shape& value);
void read(nb::handle given, Axes& value);
void read(nb::handle given, AxisNames& value);
void read(nb::handle given, AxisPair& value);
void read(nb::handle given, PerDimension& value);
void read(nb::handle given, PadWidth& value);
void read(nb::handle given, Padding& value);
void read(nb::handle given, std::vector<Tensor>& value);

// Python's names of the enumerators, in order, if the library has no names for them. Specialised
// where functions with the enumeration are bound.
template <class E>
inline constexpr std::array<std::string_view, 0> kChoices = {};

template <class E>
std::span<const std::string_view> choices_of() {
  if constexpr (requires { enumerator_names(E()); }) {
    return enumerator_names(E());
  } else {
    static_assert(!kChoices<E>.empty());
    return kChoices<E>;
  }
}
size_t choice_from(nb::handle given, std::span<const std::string_view> choices);

template <class E>
  requires std::is_enum_v<E>
void read(nb::handle given, E& value) {
  value = static_cast<E>(choice_from(given, choices_of<E>()));
}

template <class T>
T blank() {
  if constexpr (std::is_default_constructible_v<T>)
    return T();
  else
    return T(0);
}

// A single value is a list of one, and None an empty list.
template <class T>
void read(nb::handle given, std::vector<T>& values);

template <class T>
void read(nb::handle given, std::optional<T>& value) {
  if (given.is_none()) return;
  T read_now = blank<T>();
  read(given, read_now);
  value = std::move(read_now);
}

template <class T>
void read(nb::handle given, std::vector<T>& values) {
  if (given.is_none()) return;
  const auto append = [&](nb::handle each) {
    T value = blank<T>();
    read(each, value);
    values.push_back(std::move(value));
  };
  if (!is_sequence(given)) return append(given);
  for (const nb::handle each : given) append(each);
}

// ---- Type annotations, in terms of typing and of python/stubs/__init__.pyi.

template <class T>
struct Of {};

inline std::string annotation(Of<Tensor>) { return "ArrayLike"; }
inline std::string annotation(Of<PythonOperand>) { return "ArrayLike"; }
inline std::string annotation(Of<Rest>) { return "ArrayLike | Sequence[ArrayLike]"; }
inline std::string annotation(Of<Placement>) { return "str | Device | None"; }
inline std::string annotation(Of<Scalar>) { return "complex | Tensor"; }
inline std::string annotation(Of<bool>) { return "bool"; }
inline std::string annotation(Of<int64_t>) { return "int"; }
inline std::string annotation(Of<uint64_t>) { return "int"; }
inline std::string annotation(Of<double>) { return "float"; }
inline std::string annotation(Of<std::string>) { return "str"; }
inline std::string annotation(Of<Dim>) { return "Size"; }
inline std::string annotation(Of<DType>) { return "DTypeLike | None"; }
inline std::string annotation(Of<Shape>) { return "Size | Sequence[Size]"; }
inline std::string annotation(Of<Axes>) { return "int | Sequence[int] | None"; }
inline std::string annotation(Of<AxisNames>) { return "str | Sequence[str]"; }
inline std::string annotation(Of<AxisPair>) { return "tuple[int, int]"; }
inline std::string annotation(Of<PerDimension>) { return "int | Sequence[int]"; }
inline std::string annotation(Of<PadWidth>) { return "tuple[Size, Size]"; }
inline std::string annotation(Of<Padding>) {
  return "str | int | Sequence[int] | Sequence[tuple[Size, Size]]";
}
inline std::string annotation(Of<std::vector<Tensor>>) { return "Sequence[ArrayLike]"; }
template <class E>
  requires std::is_enum_v<E>
std::string annotation(Of<E>) {
  return fmt::format("Literal['{}']", fmt::join(choices_of<E>(), "', '"));
}
template <class T>
std::string annotation(Of<std::vector<T>>) {
  const std::string each = annotation(Of<T>());
  return fmt::format("{} | Sequence[{}] | None", each, each);
}
template <class T>
std::string annotation(Of<std::optional<T>>) {
  const std::string own = annotation(Of<T>());
  return own.ends_with("None") ? own : own + " | None";
}

// ---- Defaults, as shown in Python.

inline nb::object shown(const Tensor&) { return nb::none(); }
inline nb::object shown(bool value) { return nb::bool_(value); }
inline nb::object shown(int64_t value) { return nb::int_(value); }
inline nb::object shown(double value) { return nb::float_(value); }
inline nb::object shown(Dim value) { return to_python(value); }
inline nb::object shown(const std::string& value) { return nb::str(value.c_str()); }
nb::object shown(const Scalar& value);
nb::object shown(const PerDimension& value);
nb::object shown(const Padding& value);
template <class T>
nb::object shown(const std::optional<T>&) {
  return nb::none();
}
template <class T>
nb::object shown(const std::vector<T>&) {
  return nb::none();
}
template <class E>
  requires std::is_enum_v<E>
nb::object shown(E value) {
  const std::string_view name = choices_of<E>()[static_cast<size_t>(value)];
  return nb::str(name.data(), name.size());
}

}  // namespace plait::python
