// An array in memory: a dtype, a layout and a buffer. Eager operations compute with arrays. Copies
// and views share the buffer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "plait/core/numbers/dtype.h"
#include "plait/core/numbers/element.h"
#include "plait/core/numbers/literal.h"
#include "plait/tensor/memory/buffer.h"
#include "plait/tensor/memory/layout.h"

namespace plait {

class Array {
 public:
  Array() = default;  // no dtype, no buffer
  Array(DType dtype, Layout layout, Buffer buffer)
      : dtype_(dtype), layout_(std::move(layout)), buffer_(std::move(buffer)) {}

  static Array empty(DType dtype, Sizes sizes);  // not initialised
  static Array empty_on(Device device, DType dtype, Sizes sizes);
  // Constants and single numbers are unplaced.
  static Array filled(DType dtype, Sizes sizes, const Element& value);
  static Array filled_on(Device device, DType dtype, Sizes sizes, const Element& value);
  static Array of(const Literal& literal);
  template <class T>
  static Array of(std::span<const T> values, Sizes sizes);
  template <class T>
  static Array of(T value) {
    return of(std::span<const T>(&value, 1), {});
  }
  // ShapeError if the strides reach outside the borrowed `bytes`.
  static Array borrow(DType dtype, Layout layout, const void* data, int64_t bytes,
                      std::function<void()> release);

  explicit operator bool() const { return static_cast<bool>(buffer_); }
  DType dtype() const { return dtype_; }
  const Layout& layout() const { return layout_; }
  const Sizes& sizes() const { return layout_.sizes; }
  size_t rank() const { return layout_.rank(); }
  int64_t element_count() const { return layout_.element_count(); }
  int64_t element_size() const { return size_of(dtype_); }
  const Buffer& buffer() const { return buffer_; }
  Device device() const { return buffer_.device(); }
  bool is_on_host() const { return buffer_.is_on_host(); }
  // True if its device was not chosen: it was computed of constants, sizes and keys alone, and goes
  // to the device of whatever it meets (device_calls.h). Views and copies are as their origin is.
  bool is_unplaced() const { return is_unplaced_; }
  void set_unplaced(bool is_unplaced) { is_unplaced_ = is_unplaced; }
  Array unplaced(bool is_unplaced = true) && {
    is_unplaced_ = is_unplaced;
    return std::move(*this);
  }

  // Address of the element with all indices 0. DeviceError unless it is in the memory of the host:
  // this is where host code gets at bytes.
  const std::byte* data() const {
    if (!is_on_host()) [[unlikely]]
      refuse_device_memory();
    return device_data();
  }
  // The same in the memory of its device, for the kernels of the device.
  std::byte* device_data() const { return buffer_.data() + layout_.offset * element_size(); }
  // Only for an array that the caller has just made, or if is_writable().
  std::byte* writable_data() { return const_cast<std::byte*>(data()); }
  bool is_writable() const { return buffer_.is_writable(); }
  bool is_contiguous() const { return layout_.is_contiguous(); }

  // T must be the C++ type of the dtype, and the array contiguous.
  template <class T>
  std::span<const T> elements() const {
    expect_elements(kDTypeOf<T>);
    return {reinterpret_cast<const T*>(data()), static_cast<size_t>(element_count())};
  }
  template <class T>
  std::span<T> writable_elements() {
    expect_elements(kDTypeOf<T>);
    return {reinterpret_cast<T*>(writable_data()), static_cast<size_t>(element_count())};
  }
  Element element() const;  // ValueError unless the array has one element

  Array view(Layout layout) const {
    return Array(dtype_, std::move(layout), buffer_).unplaced(is_unplaced_);
  }
  Array contiguous() const;       // itself, or a copy in row-major order
  Array copy() const;             // always new memory, on the same device
  Array on(Device device) const;  // itself if it is there; else a copy
  Array on_host() const { return on(Device()); }
  Array converted(DType dtype) const;        // itself if it has the dtype
  Array reshaped(const Sizes& sizes) const;  // a view if possible
  Literal literal() const;

 private:
  [[noreturn]] void refuse_device_memory() const;
  void expect_elements(DType dtype) const;
  void expect_count(size_t values) const;

  DType dtype_ = DType::f32;
  bool is_unplaced_ = false;
  Layout layout_;
  Buffer buffer_;
};

// Copies the elements of `from` into `to`, which has the same sizes and dtype and is writable. The
// arrays must not overlap; they may be on different devices.
void copy_elements(const Array& from, Array& to);

// As NumPy prints it, then its type: "[[1. 2.]\n [3. 4.]] : f32[2, 2]". Large arrays are
// abbreviated.
std::string text_of(const Array& array);

template <class T>
Array Array::of(std::span<const T> values, Sizes sizes) {
  const bool is_number = sizes.empty();
  Array array = empty(kDTypeOf<T>, std::move(sizes)).unplaced(is_number);
  array.expect_count(values.size());
  std::copy(values.begin(), values.end(), array.writable_elements<T>().begin());
  return array;
}

}  // namespace plait
