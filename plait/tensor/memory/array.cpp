#include "plait/tensor/memory/array.h"

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"
#include "plait/tensor/inside/memory/layout_extent.h"
#include "plait/tensor/memory/device_memory.h"

namespace plait {
namespace {

constexpr int64_t kGrain = 1 << 16;  // bytes worth a thread

int64_t byte_count(DType dtype, int64_t elements) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(elements, size_of(dtype), &bytes)) {
    throw MemoryError("{} elements of {}: the number of bytes exceeds 63 bits", elements,
                      name_of(dtype));
  }
  return bytes;
}

}  // namespace

Array Array::empty(DType dtype, Sizes sizes) {
  Layout layout = Layout::contiguous(std::move(sizes));
  const int64_t bytes = byte_count(dtype, layout.element_count());
  return {dtype, std::move(layout), Buffer::allocate(bytes)};
}

Array Array::empty_on(Device device, DType dtype, Sizes sizes) {
  Layout layout = Layout::contiguous(std::move(sizes));
  const int64_t bytes = byte_count(dtype, layout.element_count());
  return {dtype, std::move(layout), Buffer::allocate_on(device, bytes)};
}

Array Array::filled(DType dtype, Sizes sizes, const Element& value) {
  Array array = empty(dtype, std::move(sizes)).unplaced();
  if (array.element_count() == 0) return array;
  std::byte* first = array.writable_data();
  store_element(dtype, value, first);
  const Array one(dtype, Layout::contiguous({}), array.buffer_);
  Array rest = array.view(Layout::contiguous({array.element_count() - 1}));
  rest.layout_.offset = 1;
  copy_elements(one.view(one.layout_.broadcast_to(rest.sizes())), rest);
  return array;
}

Array Array::filled_on(Device device, DType dtype, Sizes sizes, const Element& value) {
  if (device.is_cpu()) return filled(dtype, std::move(sizes), value);
  const Array one = filled(dtype, {}, value);
  Array result = empty_on(device, dtype, sizes).unplaced();
  copy_elements(one.view(one.layout_.broadcast_to(sizes)), result);
  return result;
}

Array Array::of(const Literal& literal) {
  const std::span<const int64_t> sizes = literal.sizes();
  if (literal.is_splat()) {
    Array one = empty(literal.dtype(), {});
    const auto element = literal.element_bytes(0);
    std::copy(element.begin(), element.end(), one.writable_data());
    return one.view(one.layout_.broadcast_to(sizes)).copy().unplaced();
  }
  Array array = empty(literal.dtype(), sizes).unplaced();
  const auto bytes = literal.bytes();
  std::copy(bytes.begin(), bytes.end(), array.writable_data());
  return array;
}

Array Array::borrow(DType dtype, Layout layout, const void* data, int64_t bytes,
                    std::function<void()> release) {
  if (layout.element_count() > 0) {
    const LayoutExtent extent = extent_of(layout);
    if (extent.least < 0 || byte_count(dtype, extent.greatest + 1) > bytes) {
      throw ShapeError("{} with strides {} exceeds the {} bytes of the given memory",
                       text_of_sizes(layout.sizes), text_of_sizes(layout.strides), bytes);
    }
  }
  return {dtype, std::move(layout), Buffer::borrow(data, std::move(release))};
}

Element Array::element() const {
  if (element_count() != 1) {
    throw ValueError("expected an array of one element, not one of sizes {}",
                     text_of_sizes(sizes()));
  }
  return load_element(dtype_, on_host().data());
}

Array Array::contiguous() const { return is_contiguous() ? *this : copy(); }

Array Array::copy() const {
  Array result = empty_on(device(), dtype_, sizes()).unplaced(is_unplaced_);
  copy_elements(*this, result);
  return result;
}

Array Array::on(Device device) const {
  if (device == this->device()) return *this;
  if (element_count() > 1 && repeats_one_element(layout_)) {
    Layout one;
    one.offset = layout_.offset;
    Layout repeated = layout_;
    repeated.offset = 0;
    return view(std::move(one)).on(device).view(std::move(repeated));
  }
  Array result = empty_on(device, dtype_, sizes()).unplaced(is_unplaced_);
  copy_elements(*this, result);
  return result;
}

Array Array::converted(DType dtype) const {
  if (dtype == dtype_) return *this;
  if (!is_on_host()) return on_host().converted(dtype).on(device());
  const Array source = contiguous();
  Array result = empty(dtype, sizes()).unplaced(is_unplaced_);
  const int64_t from = element_size(), to = size_of(dtype);
  const std::byte* in = source.data();
  std::byte* out = result.writable_data();
  parallel_for(element_count(), kGrain / (from + to), [&](int64_t begin, int64_t end) {
    convert(dtype_, in + begin * from, dtype, out + begin * to, end - begin);
  });
  return result;
}

Array Array::reshaped(const Sizes& sizes) const {
  if (auto layout = layout_.reshaped(sizes)) return view(std::move(*layout));
  const Array dense = copy();
  return dense.view(Layout::contiguous(sizes));
}

Literal Array::literal() const {
  const Array dense = on_host().contiguous();
  const auto bytes = static_cast<size_t>(element_count() * element_size());
  return Literal::of_bytes(dtype_, {sizes().begin(), sizes().end()},
                           {dense.data(), dense.data() + bytes});
}

void Array::refuse_device_memory() const {
  throw DeviceError("{}{} is on {}, and host code cannot read it there", name_of(dtype_),
                    text_of_sizes(sizes()), text_of(device()))
      .hint("x.to(\"cpu\") copies it to the host");
}

void Array::expect_elements(DType dtype) const {
  if (dtype != dtype_) {
    throw TypeError("the elements are {}, not {}", name_of(dtype_), name_of(dtype));
  }
  if (!is_contiguous())
    throw ValueError("the elements are not contiguous; call contiguous() first");
}

void Array::expect_count(size_t values) const {
  if (static_cast<int64_t>(values) != element_count()) {
    throw ShapeError("{} values for sizes {}", values, text_of_sizes(sizes()));
  }
}

}  // namespace plait
