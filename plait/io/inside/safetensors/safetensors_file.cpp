#include "plait/io/inside/safetensors/safetensors_file.h"

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/element_bytes.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/safetensors/safetensors_values.h"

namespace plait {
namespace {

DType dtype_to_read(const SafetensorsTensor& tensor) {
  if (tensor.dtype) return *tensor.dtype;
  throw TypeError("it is {}, which is not a dtype of Plait", tensor.info.dtype)
      .hint(tensor.type->bits == 8 ? "values(name) converts it to f32"
                                   : "bytes(name) has its bytes as u8");
}

Layout sliced_layout(const Sizes& sizes, std::span<const Slice> slices) {
  if (slices.size() > sizes.size()) {
    throw IndexError("{} slices for {}", slices.size(), text_of_sizes(sizes));
  }
  Layout layout = Layout::contiguous(sizes);
  for (size_t i = 0; i < slices.size(); ++i) {
    layout = layout.sliced(static_cast<int64_t>(i), slices[i]);
  }
  return layout;
}

// A part of elements that are not aligned, copied as bytes: these are an axis of their own.
Array copied_slice(DType dtype, const Layout& part, std::span<const std::byte> bytes) {
  Layout source = part, target = Layout::contiguous(part.sizes);
  for (Layout* each : {&source, &target}) {
    for (int64_t& stride : each->strides) stride *= size_of(dtype);
    each->offset *= size_of(dtype);
    each->sizes.push_back(size_of(dtype));
    each->strides.push_back(1);
  }
  const Array result = Array::empty(dtype, part.sizes);
  Array result_bytes(DType::u8, std::move(target), result.buffer());
  copy_elements(Array::borrow(DType::u8, std::move(source), bytes.data(),
                              static_cast<int64_t>(bytes.size()), {}),
                result_bytes);
  return result;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path) {
  const auto file = std::make_shared<const InputFile>(path);
  bytes_ = file->bytes();
  owner_ = file;
  try {
    read_header();
  } catch (Error& error) {
    error.prepend(path + ": ");
    throw;
  }
}

SafetensorsFile::SafetensorsFile(std::span<const std::byte> bytes) : bytes_(bytes) {
  read_header();
}

void SafetensorsFile::read_header() {
  header_ = parse_safetensors_header(bytes_);
  places_.reserve(header_.tensors.size());
  for (size_t i = 0; i < header_.tensors.size(); ++i) places_.emplace(header_.tensors[i].name, i);
}

const SafetensorsTensor* SafetensorsFile::find(std::string_view name) const {
  const auto place = places_.find(name);
  return place == places_.end() ? nullptr : &header_.tensors[place->second];
}

std::span<const std::byte> SafetensorsFile::bytes_of(const SafetensorsTensor& tensor) const {
  return bytes_.subspan(tensor.info.begin, tensor.info.end - tensor.info.begin);
}

template <class Work>
Array SafetensorsFile::reading(const SafetensorsTensor& tensor, Work work) const {
  try {
    return work();
  } catch (Error& error) {
    error.prepend(
        fmt::format("{}tensor {}: ", path_.empty() ? "" : path_ + ": ", in_quotes(tensor.name)));
    throw;
  }
}

Array SafetensorsFile::array(const SafetensorsTensor& tensor) const {
  return reading(tensor, [&] {
    Array array = array_of_bytes(dtype_to_read(tensor), tensor.sizes(), bytes_of(tensor), owner_);
    check_booleans(array, tensor.info.begin);
    return array;
  });
}

Array SafetensorsFile::slice(const SafetensorsTensor& tensor, std::span<const Slice> slices) const {
  return reading(tensor, [&] { return slice_of(tensor, dtype_to_read(tensor), slices); });
}

Array SafetensorsFile::bytes_array(const SafetensorsTensor& tensor) const {
  return stored_bytes(tensor.info.sizes, tensor.type->bits, bytes_of(tensor), owner_);
}

Array SafetensorsFile::values(const SafetensorsTensor& tensor) const {
  return reading(tensor, [&] {
    if (tensor.dtype) {
      throw TypeError("it is {}, a dtype of Plait, which needs no conversion", tensor.info.dtype)
          .hint("array(name) reads it");
    }
    return stored_values(tensor.info.dtype, tensor.info.sizes, bytes_of(tensor));
  });
}

Array SafetensorsFile::slice_of(const SafetensorsTensor& tensor, DType dtype,
                                std::span<const Slice> slices) const {
  const auto bytes = bytes_of(tensor);
  const Layout part = sliced_layout(tensor.sizes(), slices);
  // Booleans are checked, so their bytes are read in any case.
  if (is_boolean(dtype) || !owner_ || !is_aligned(bytes.data(), dtype)) {
    Array copy = copied_slice(dtype, part, bytes);
    check_booleans(copy, std::nullopt);
    return copy;
  }
  return array_of_bytes(dtype, tensor.sizes(), bytes, owner_).view(part);
}

}  // namespace plait
