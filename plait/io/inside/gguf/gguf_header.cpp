#include "plait/io/inside/gguf/gguf_header.h"

#include <bit>
#include <unordered_set>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/gguf/gguf_values.h"

namespace plait {
namespace {

constexpr std::string_view kGgufMagic = "GGUF";
constexpr const char* kAlignmentKey = "general.alignment";
constexpr uint64_t kDefaultAlignment = 32;
// The least bytes of an entry: a name, a type, a value; a name, sizes, a type, a place.
constexpr uint64_t kLeastEntry = 13, kLeastTensor = 24;

uint32_t read_version(FieldReader& reader) {
  const uint64_t position = reader.position();
  const auto version = reader.number<uint32_t>();
  if (version == 2 || version == 3) return version;
  if (version != 0 && (version & 0xffff) == 0) {
    throw ParseError("byte {}: this is a big-endian file, which is not supported", position);
  }
  throw ParseError("byte {}: version {} of GGUF is not supported; versions 2 and 3 are", position,
                   version);
}

void read_metadata(FieldReader& reader, uint64_t count, GgufHeader& header) {
  expect_room(reader, count, kLeastEntry, "entries of metadata");
  std::unordered_set<std::string> keys;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t position = reader.position();
    std::string key = read_gguf_text(reader);
    if (!keys.insert(key).second) {
      throw ParseError("byte {}: the metadata has two entries {}", position, in_quotes(key));
    }
    GgufValue value = read_gguf_value(reader);
    header.metadata.emplace_back(std::move(key), std::move(value));
  }
}

// The sizes in the file begin with the innermost one.
Sizes read_sizes(FieldReader& reader) {
  const auto rank = reader.number<uint32_t>();
  expect_room(reader, rank, sizeof(uint64_t), "sizes");
  Sizes sizes(rank, 1);
  for (size_t i = rank; i-- > 0;) {
    const auto size = reader.number<uint64_t>();
    if (size > static_cast<uint64_t>(INT64_MAX)) throw ParseError("a size of {}", size);
    sizes[i] = static_cast<int64_t>(size);
  }
  return sizes;
}

// Rows consist of blocks.
uint64_t gguf_byte_count(const GgufType& type, const Sizes& sizes) {
  const auto text = [&] { return std::string(type.name) + text_of_sizes(sizes); };
  if (const int64_t row = sizes.empty() ? 1 : sizes.back(); row % type.elements != 0) {
    throw ParseError("{}: rows of {} are not divisible into blocks of {}", text(), row,
                     type.elements);
  }
  uint64_t count = 1;
  bool is_empty = false, overflows = false;
  for (const int64_t size : sizes) {
    is_empty |= size == 0;
    overflows |= __builtin_mul_overflow(count, static_cast<uint64_t>(size), &count);
  }
  if (is_empty) return 0;
  uint64_t bytes = 0;
  overflows |= __builtin_mul_overflow(count / type.elements, uint64_t{type.bytes}, &bytes);
  if (overflows) throw ParseError("{}: the number of bytes exceeds 64 bits", text());
  return bytes;
}

// Calls the work; errors name the tensor.
template <class Work>
auto for_gguf_tensor(const std::string& name, Work work) {
  try {
    return work();
  } catch (Error& error) {
    error.prepend(fmt::format("tensor {}: ", in_quotes(name)));
    throw;
  }
}

// Its place is still counted from the beginning of all tensors, and unchecked.
GgufTensor read_tensor(FieldReader& reader) {
  GgufTensor tensor{.name = read_gguf_text(reader), .info = {}};
  for_gguf_tensor(tensor.name, [&] {
    tensor.info.sizes = read_sizes(reader);
    tensor.type = &gguf_type(reader.number<uint32_t>());
    tensor.info.type = tensor.type->name;
    tensor.info.begin = reader.number<uint64_t>();
  });
  return tensor;
}

void read_tensors(FieldReader& reader, uint64_t count, GgufHeader& header) {
  expect_room(reader, count, kLeastTensor, "tensors");
  std::unordered_set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t position = reader.position();
    header.tensors.push_back(read_tensor(reader));
    const std::string& name = header.tensors.back().name;
    if (!names.insert(name).second) {
      throw ParseError("byte {}: two tensors are named {}", position, in_quotes(name));
    }
  }
}

uint64_t alignment_of(const GgufHeader& header) {
  for (const auto& [key, value] : header.metadata) {
    if (key != kAlignmentKey) continue;
    const auto* number = std::get_if<int64_t>(&value.value());
    if (number && *number <= UINT32_MAX && std::has_single_bit(static_cast<uint64_t>(*number))) {
      return static_cast<uint64_t>(*number);
    }
    throw ParseError("{} is not a power of 2 of at most 32 bits", kAlignmentKey);
  }
  return kDefaultAlignment;
}

// `file_bytes` is the size of the file, and `data_begin` where its tensors begin.
void place_tensor(GgufTensor& tensor, uint64_t alignment, uint64_t data_begin,
                  uint64_t file_bytes) {
  GgufInfo& info = tensor.info;
  const uint64_t bytes = gguf_byte_count(*tensor.type, info.sizes);
  if (info.begin % alignment != 0) {
    throw ParseError("its place {} is not a multiple of {}", info.begin, alignment);
  }
  const uint64_t left = file_bytes > data_begin ? file_bytes - data_begin : 0;
  if (bytes != 0 && (info.begin > left || bytes > left - info.begin)) {
    throw ParseError("its {} bytes at place {} do not fit into the {} bytes of all tensors", bytes,
                     info.begin, left);
  }
  info.begin = bytes == 0 ? std::min(data_begin, file_bytes) : info.begin + data_begin;
  info.end = info.begin + bytes;
}

}  // namespace

GgufHeader parse_gguf_header(std::span<const std::byte> file) {
  if (!characters_of(file).starts_with(kGgufMagic)) {
    throw ParseError("byte 0: this is not a GGUF file, which begins with \"{}\"", kGgufMagic);
  }
  FieldReader reader(file, kGgufMagic.size());
  GgufHeader header;
  header.version = read_version(reader);
  const auto tensors = reader.number<uint64_t>(), entries = reader.number<uint64_t>();
  read_metadata(reader, entries, header);
  read_tensors(reader, tensors, header);
  const uint64_t alignment = alignment_of(header);
  const uint64_t data_begin = (reader.position() + alignment - 1) / alignment * alignment;
  for (GgufTensor& each : header.tensors) {
    for_gguf_tensor(each.name, [&] { place_tensor(each, alignment, data_begin, file.size()); });
  }
  return header;
}

}  // namespace plait
