#include "plait/io/idx.h"

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "plait/core/error.h"
#include "plait/core/inside/system/with_path.h"
#include "plait/io/inside/byte_order.h"
#include "plait/io/inside/compressed/compression.h"
#include "plait/io/inside/element_bytes.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/gzip.h"

namespace plait {
namespace {

// Reads uncompressed bytes; the counterpart of GzipReader.
class PlainReader {
 public:
  explicit PlainReader(std::span<const std::byte> file) : fields_(file) {}

  void read(std::span<std::byte> into) {
    std::ranges::copy(fields_.take(into.size()), into.begin());
  }
  std::span<const std::byte> take(size_t count) { return fields_.take(count); }
  void expect_end() const {
    if (fields_.left() != 0) {
      throw ParseError("byte {}: {} unexpected bytes after the array", fields_.position(),
                       fields_.left());
    }
  }

 private:
  FieldReader fields_;
};

std::optional<DType> dtype_of(uint8_t code) {
  switch (code) {
    case 0x08: return DType::u8;
    case 0x09: return DType::i8;
    case 0x0b: return DType::i16;
    case 0x0c: return DType::i32;
    case 0x0d: return DType::f32;
    case 0x0e: return DType::f64;
    default: return std::nullopt;
  }
}

// ParseError for sizes of more than `most` elements, whose product may be past all integers.
void expect_held(const Sizes& sizes, uint64_t most) {
  uint64_t left = most;
  for (const int64_t size : sizes) {
    if (size == 0) return;
    left /= static_cast<uint64_t>(size);
  }
  if (left > 0) return;
  throw ParseError("byte 4: an array with the sizes {}, more than the file contains",
                   text_of_sizes(sizes));
}

struct IdxHeader {
  DType dtype;
  Sizes sizes;
  size_t bytes = 0;  // bytes of the elements
};

// `most` is an upper bound of the uncompressed bytes.
template <class Reader>
IdxHeader read_header(Reader& reader, uint64_t most) {
  std::array<std::byte, 4> magic{};
  reader.read(magic);
  const std::optional<DType> dtype = dtype_of(std::to_integer<uint8_t>(magic[2]));
  if (magic[0] != std::byte{0} || magic[1] != std::byte{0} || !dtype) {
    throw ParseError(
        "byte 0: this is not an IDX file, which begins with 0, 0 and the number of a type");
  }
  Sizes sizes(std::to_integer<size_t>(magic[3]));
  for (int64_t& size : sizes) {
    std::array<std::byte, 4> bytes{};
    reader.read(bytes);
    for (const std::byte byte : bytes) size = size << 8 | std::to_integer<int64_t>(byte);
  }
  expect_held(sizes, most / static_cast<uint64_t>(size_of(*dtype)));
  auto bytes = static_cast<size_t>(size_of(*dtype));
  for (const int64_t size : sizes) bytes *= static_cast<size_t>(size);
  return {*dtype, std::move(sizes), bytes};
}

Array read_compressed(std::span<const std::byte> file) {
  GzipReader reader(file);
  const IdxHeader header = read_header(reader, file.size() * kMostInflation);
  Array array = Array::empty(header.dtype, header.sizes);
  reader.read({array.writable_data(), header.bytes});
  reader.expect_end();
  reverse_byte_order(array);
  return array;
}

// Borrows the elements if there are many and they are bytes; `owner` keeps those of the file alive.
Array read_array(std::span<const std::byte> file, std::shared_ptr<const void> owner) {
  PlainReader reader(file);
  const IdxHeader header = read_header(reader, file.size());
  if (header.bytes < kWorthMapping || size_of(header.dtype) > 1) owner = nullptr;
  Array array =
      array_of_bytes(header.dtype, header.sizes, reader.take(header.bytes), std::move(owner));
  reader.expect_end();
  if (size_of(header.dtype) > 1) reverse_byte_order(array);
  return array;
}

Array read(std::span<const std::byte> file, std::shared_ptr<const void> owner) {
  if (is_gzip(file)) return read_compressed(file);
  expect_not_compressed(file);
  return read_array(file, std::move(owner));
}

}  // namespace

Array read_idx(std::span<const std::byte> bytes) { return read(bytes, nullptr); }

Array load_idx(const std::string& path) {
  const auto file = std::make_shared<const InputFile>(path);
  return with_path(path, [&] {
    is_gzip(path, file->bytes());  // refuses a .gz file that is none
    return read(file->bytes(), file);
  });
}

}  // namespace plait
