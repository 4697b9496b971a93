// The bytes of Python objects.
#pragma once

#include <cstddef>
#include <span>

#include "python/bindings/bindings.h"

namespace plait::python {

// The bytes of an object with a buffer, which is kept meanwhile.
class BytesOf {
 public:
  explicit BytesOf(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~BytesOf() { PyBuffer_Release(&buffer_); }
  BytesOf(const BytesOf&) = delete;
  BytesOf& operator=(const BytesOf&) = delete;

  std::span<const std::byte> get() const {
    return {static_cast<const std::byte*>(buffer_.buf), static_cast<size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_{};
};

}  // namespace plait::python
