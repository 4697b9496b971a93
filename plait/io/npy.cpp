#include "plait/io/npy.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/core/inside/system/with_path.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/byte_order.h"
#include "plait/io/inside/element_bytes.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/npy_array.h"
#include "plait/io/inside/npy_header.h"

namespace plait {
namespace {

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
  return array.on_host().contiguous();
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
  if (data.size() < kWorthMapping) owner = nullptr;
  return arranged(header, array_of_bytes(header.dtype, {elements}, data, std::move(owner)));
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
  return with_path(path, [&] { return npy_array(file->bytes(), file); });
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
