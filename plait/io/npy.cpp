#include "plait/io/npy.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/byte_order.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/npy_array.h"
#include "plait/io/inside/npy_header.h"

namespace plait {
namespace {

void check_booleans(const Array& array, size_t data_begin) {
  if (!is_boolean(array.dtype())) return;
  const auto bytes = bytes_of(array);
  const auto is_neither = [](std::byte byte) { return byte > std::byte{1}; };
  std::byte seen{0};
  for (const std::byte byte : bytes) seen |= byte;
  if (!is_neither(seen)) return;
  const auto at = std::ranges::find_if(bytes, is_neither);
  throw ParseError("byte {}: {} is not a bool, which is 0 or 1",
                   data_begin + static_cast<size_t>(at - bytes.begin()),
                   static_cast<unsigned>(*at));
}

// `raw` has the elements as a flat array, in the order of the file.
Array arranged(const NpyHeader& header, Array raw) {
  check_booleans(raw, header.data_begin);
  raw = raw.view(header.layout());
  raw = raw.contiguous();
  if (!header.is_big_endian) return raw;
  if (!raw.is_writable()) raw = raw.copy();
  reverse_byte_order(raw);
  return raw;
}

bool is_aligned(const std::byte* data, DType dtype) {
  const auto alignment = static_cast<uintptr_t>(std::min<int64_t>(size_of(dtype), 8));
  return reinterpret_cast<uintptr_t>(data) % alignment == 0;
}

// Copies bytes, since the elements may be unaligned here.
Array copied(DType dtype, int64_t elements, std::span<const std::byte> bytes) {
  Array result = Array::empty(dtype, {elements});
  const Layout row = Layout::contiguous({static_cast<int64_t>(bytes.size())});
  Array target(DType::u8, row, result.buffer());
  copy_elements(Array::borrow(DType::u8, row, bytes.data(), static_cast<int64_t>(bytes.size()), {}),
                target);
  return result;
}

NpyHeader header_of(std::span<const std::byte> file) {
  const auto beginning = file.first(std::min(file.size(), kNpyPrefix));
  return parse_npy_header(file.first(npy_header_bytes(beginning, file.size())), file.size());
}

std::span<const std::byte> header_bytes(const std::string& header) {
  return bytes_of(std::string_view(header));
}

// The array to save, contiguous.
Array to_save(const Array& array) {
  if (!array) throw ValueError("the array to save is empty");
  return array.contiguous();
}

}  // namespace

std::span<const std::byte> bytes_of(const Array& contiguous) {
  return {contiguous.data(),
          static_cast<size_t>(contiguous.element_count() * contiguous.element_size())};
}

Array npy_array(std::span<const std::byte> file, std::shared_ptr<const void> owner) {
  const NpyHeader header = header_of(file);
  const auto data = file.subspan(header.data_begin);
  const int64_t elements = header.data_bytes / size_of(header.dtype);
  if (owner && data.size() >= kWorthMapping && is_aligned(data.data(), header.dtype)) {
    return arranged(header, Array::borrow(header.dtype, Layout::contiguous({elements}), data.data(),
                                          header.data_bytes, [owner = std::move(owner)] {}));
  }
  return arranged(header, copied(header.dtype, elements, data));
}

Array npy_array(Inflater& inflater, uint64_t bytes) {
  std::vector<std::byte> beginning(std::min<uint64_t>(kNpyPrefix, bytes));
  inflater.read(beginning);
  const size_t size = npy_header_bytes(beginning, bytes);
  // A malformed version 1 header may be shorter than kNpyPrefix.
  if (size < beginning.size()) throw ParseError("byte {}: expected a dictionary", size);
  const size_t known = beginning.size();
  beginning.resize(size);
  inflater.read(std::span(beginning).subspan(known));
  const NpyHeader header = parse_npy_header(beginning, bytes);
  Array raw = Array::empty(header.dtype, {header.data_bytes / size_of(header.dtype)});
  inflater.read({raw.writable_data(), static_cast<size_t>(header.data_bytes)});
  return arranged(header, std::move(raw));
}

Array load_npy(const std::string& path) {
  const auto file = std::make_shared<const InputFile>(path);
  try {
    return npy_array(file->bytes(), file);
  } catch (Error& error) {
    error.prepend(path + ": ");
    throw;
  }
}

void save_npy(const std::string& path, const Array& array) {
  const Array dense = to_save(array);
  OutputFile file(path);
  file.write(header_bytes(npy_header(dense.dtype(), dense.sizes())));
  file.write(bytes_of(dense));
  file.finish();
}

Array read_npy(std::span<const std::byte> bytes) { return npy_array(bytes, nullptr); }

std::vector<std::byte> write_npy(const Array& array) {
  const Array dense = to_save(array);
  const std::string header = npy_header(dense.dtype(), dense.sizes());
  const auto data = bytes_of(dense);
  std::vector<std::byte> bytes;
  bytes.reserve(header.size() + data.size());
  bytes.insert(bytes.end(), header_bytes(header).begin(), header_bytes(header).end());
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

}  // namespace plait
