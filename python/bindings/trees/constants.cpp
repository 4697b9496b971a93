#include "python/bindings/trees/constants.h"

#include <algorithm>
#include <array>
#include <bit>

namespace plait::python {
namespace {

// Numbers are compared by their bits: 0.0 is not -0.0, and NaN equals itself.
std::array<uint64_t, 2> bits_of(PyObject* number) {
  const bool is_complex = PyComplex_CheckExact(number) != 0;
  const double real = is_complex ? PyComplex_RealAsDouble(number) : PyFloat_AS_DOUBLE(number);
  const double imaginary = is_complex ? PyComplex_ImagAsDouble(number) : 0;
  return {std::bit_cast<uint64_t>(real), std::bit_cast<uint64_t>(imaginary)};
}
bool has_bits(PyObject* value) {
  return PyFloat_CheckExact(value) != 0 || PyComplex_CheckExact(value) != 0;
}

std::array<nb::object, 3> parts_of_slice(PyObject* slice) {
  const nb::handle given = slice;
  return {given.attr("start"), given.attr("stop"), given.attr("step")};
}

}  // namespace

bool are_equal(const nb::object& a, const nb::object& b) {
  if (has_bits(a.ptr()) && Py_TYPE(a.ptr()) == Py_TYPE(b.ptr())) {
    return bits_of(a.ptr()) == bits_of(b.ptr());
  }
  const bool are_ranges = PyRange_Check(a.ptr()) && PyRange_Check(b.ptr());
  if (are_ranges || (PySlice_Check(a.ptr()) && PySlice_Check(b.ptr()))) {
    const auto ours = parts_of_slice(a.ptr()), theirs = parts_of_slice(b.ptr());
    return std::ranges::equal(ours, theirs, [](const nb::object& one, const nb::object& other) {
      return Py_TYPE(one.ptr()) == Py_TYPE(other.ptr()) && are_equal(one, other);
    });
  }
  const int equal = PyObject_RichCompareBool(a.ptr(), b.ptr(), Py_EQ);
  if (equal < 0) throw nb::python_error();
  return equal != 0;
}

Py_hash_t hash_of_constant(PyObject* value) {
  if (has_bits(value)) {
    const auto bits = bits_of(value);
    return static_cast<Py_hash_t>((bits[0] ^ (bits[1] << 1)) >> 1);
  }
  if (!PySlice_Check(value)) return PyObject_Hash(value);
  Py_hash_t hash = 1;
  for (const nb::object& part : parts_of_slice(value)) {
    const Py_hash_t own = hash_of_constant(part.ptr());
    if (own == -1) return -1;
    hash = static_cast<Py_hash_t>((31 * static_cast<size_t>(hash) + static_cast<size_t>(own)) >> 1);
  }
  return hash;
}

}  // namespace plait::python
