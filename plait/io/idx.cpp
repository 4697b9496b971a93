#include "plait/io/idx.h"

#include <algorithm>
#include <array>
#include <optional>

#include "plait/core/error.h"
#include "plait/core/inside/system/with_path.h"
#include "plait/io/inside/byte_order.h"
#include "plait/io/inside/compressed/compression.h"
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

// `most` is an upper bound of the uncompressed bytes.
template <class Reader>
Array read_array(Reader reader, uint64_t most) {
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
  Array array = Array::empty(*dtype, sizes);
  const auto bytes = static_cast<size_t>(array.element_count() * array.element_size());
  reader.read({array.writable_data(), bytes});
  reader.expect_end();
  reverse_byte_order(array);
  return array;
}

}  // namespace

Array read_idx(std::span<const std::byte> bytes) {
  if (is_gzip(bytes)) return read_array(GzipReader(bytes), bytes.size() * kMostInflation);
  expect_not_compressed(bytes);
  return read_array(PlainReader(bytes), bytes.size());
}

Array load_idx(const std::string& path) {
  const InputFile file(path);
  return with_path(path, [&] {
    is_gzip(path, file.bytes());  // refuses a .gz file that is none
    return read_idx(file.bytes());
  });
}

}  // namespace plait
