#include "plait/io/inside/npy_header.h"

#include <array>
#include <charconv>
#include <optional>

#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/python_literal.h"

namespace plait {
namespace {

using Kind = PythonLiteral::Kind;

constexpr std::string_view kNpyMagic = "\x93NUMPY";
// Far more than any array needs; parsing a header takes many times its size in memory.
constexpr uint64_t kMostHeaderBytes = 1 << 20;
constexpr size_t kElementAlignment = 64;  // alignment of the elements in the file
constexpr std::string_view kKeyRecord = "[('key', '<u8', (2,))]";
// NumPy pads the header so that the first size can grow in place.
constexpr size_t kRoomForSize = 21;

// ---- Dtypes.

// For example "f4", without the byte order.
std::string numpy_code(DType dtype) {
  switch (dtype) {
    // As ml_dtypes writes them; the first two are raw bytes to NumPy.
    case DType::bf16: return "V2";
    case DType::f8e4m3: return "V1";
    case DType::f8e5m2: return "f1";
    default: break;
  }
  constexpr std::array kLetters = {"b", "i", "f", "c", "V"};
  const char* letter = kLetters[static_cast<size_t>(kind_of(dtype))];
  if (is_integer(dtype) && !is_signed(dtype)) letter = "u";
  return fmt::format("{}{}", letter, size_of(dtype));
}

bool has_byte_order(DType dtype) {
  return size_of(dtype) > 1 || dtype == DType::f8e4m3 || dtype == DType::f8e5m2;
}

std::string dtype_text(DType dtype) {
  if (is_key(dtype)) return std::string(kKeyRecord);
  return fmt::format("'{}{}'", has_byte_order(dtype) ? '<' : '|', numpy_code(dtype));
}

std::string why_not(std::string_view code) {
  switch (code.empty() ? '\0' : code[0]) {
    case 'O': return "Python objects";
    case 'S':
    case 'a':
    case 'U': return "text";
    case 'M':
    case 'm': return "dates or times";
    case 'V': return "raw bytes of unknown meaning";
    default: return "not a dtype of Plait";
  }
}

struct StoredDType {
  DType dtype;
  bool is_big_endian;
};

std::optional<StoredDType> find_dtype(char order, std::string_view code) {
  for (const DTypeInfo& info : kDTypes) {
    if (is_key(info.dtype) || numpy_code(info.dtype) != code) continue;
    // Raw bytes with another byte order, or with none as numpy.load returns them, have lost their
    // dtype; but only one dtype has two bytes.
    if (code[0] == 'V' && order != '<' && (order != '|' || code == "V1")) return std::nullopt;
    return StoredDType{info.dtype, order == '>' && info.size > 1};
  }
  return std::nullopt;
}

StoredDType dtype_named(const PythonLiteral& description) {
  const std::string_view text = description.text;
  const bool has_order =
      !text.empty() && std::string_view("<>|=").find(text[0]) != std::string_view::npos;
  const std::string_view code = has_order ? text.substr(1) : text;
  if (const auto found = find_dtype(has_order ? text[0] : '=', code)) return *found;
  std::string quoted;
  print_quoted(quoted, text);
  throw TypeError("byte {}: elements of dtype {} are {}", description.position, quoted,
                  why_not(code));
}

// [('key', '<u8', (2,))]
std::optional<StoredDType> find_key(const PythonLiteral& description) {
  if (description.kind != Kind::list || description.items.size() != 1) return std::nullopt;
  const auto& field = description.items[0];
  if (field.kind != Kind::tuple || field.items.size() != 3) return std::nullopt;
  const auto& count = field.items[2];
  if (count.kind != Kind::tuple || count.items.size() != 1) return std::nullopt;
  const bool is_big_endian = field.items[1].is_string(">u8");
  if (!field.items[0].is_string("key") || count.items[0].kind != Kind::integer ||
      count.items[0].integer != 2 || !(is_big_endian || field.items[1].is_string("<u8"))) {
    return std::nullopt;
  }
  return StoredDType{DType::key, is_big_endian};
}

StoredDType dtype_of(const PythonLiteral& description) {
  if (description.kind == Kind::string) return dtype_named(description);
  if (const auto key = find_key(description)) return *key;
  if (description.kind == Kind::list || description.kind == Kind::tuple) {
    throw TypeError("byte {}: the elements are records", description.position);
  }
  throw ParseError("byte {}: 'descr' is not a dtype", description.position);
}

// ---- Reading.

struct Entries {
  const PythonLiteral* dtype = nullptr;
  const PythonLiteral* order = nullptr;
  const PythonLiteral* sizes = nullptr;
};

Entries entries_of(const PythonLiteral& dictionary) {
  if (dictionary.kind != Kind::dictionary) {
    throw ParseError("byte {}: expected a dictionary", dictionary.position);
  }
  Entries entries;
  for (size_t i = 0; i < dictionary.items.size(); i += 2) {
    const PythonLiteral& key = dictionary.items[i];
    const PythonLiteral** entry = key.is_string("descr")           ? &entries.dtype
                                  : key.is_string("fortran_order") ? &entries.order
                                  : key.is_string("shape")         ? &entries.sizes
                                                                   : nullptr;
    if (entry == nullptr || *entry != nullptr) {
      throw ParseError("byte {}: expected 'descr', 'fortran_order' and 'shape', each once",
                       key.position);
    }
    *entry = &dictionary.items[i + 1];
  }
  const auto expect = [&](const PythonLiteral* entry, std::string_view name) {
    if (!entry) throw ParseError("byte {}: '{}' is missing", dictionary.position, name);
  };
  expect(entries.dtype, "descr");
  expect(entries.order, "fortran_order");
  expect(entries.sizes, "shape");
  return entries;
}

Sizes sizes_of(const PythonLiteral& shape) {
  if (shape.kind != Kind::tuple) {
    throw ParseError("byte {}: 'shape' is not a tuple", shape.position);
  }
  std::vector<int64_t> sizes;
  for (const PythonLiteral& size : shape.items) {
    if (size.kind != Kind::integer || size.integer < 0) {
      throw ParseError("byte {}: a size is an integer of 0 or more", size.position);
    }
    sizes.push_back(size.integer);
  }
  return sizes;
}

// The strides must fit into 63 bits, even if there are no elements.
int64_t bytes_of_elements(const NpyHeader& header, size_t position) {
  int64_t product = size_of(header.dtype);
  bool is_empty = false, overflows = false;
  for (const int64_t size : header.sizes) {
    is_empty = is_empty || size == 0;
    overflows = overflows || __builtin_mul_overflow(product, std::max<int64_t>(size, 1), &product);
  }
  if (overflows) {
    throw ParseError("byte {}: {} of {}: the number of bytes exceeds 63 bits", position,
                     text_of_sizes(header.sizes), name_of(header.dtype));
  }
  return is_empty ? 0 : product;
}

// ---- Writing.

std::string shape_text(std::span<const int64_t> sizes) {
  if (sizes.size() == 1) return fmt::format("({},)", sizes[0]);
  return fmt::format("({})", fmt::join(sizes, ", "));
}

}  // namespace

size_t npy_header_bytes(std::span<const std::byte> beginning, uint64_t file_bytes) {
  if (!characters_of(beginning).starts_with(kNpyMagic)) {
    throw ParseError("byte 0: this is not a .npy file: it does not begin with \"\\x93NUMPY\"");
  }
  FieldReader reader(beginning, kNpyMagic.size());
  const auto major = reader.number<uint8_t>(), minor = reader.number<uint8_t>();
  if (major < 1 || major > 3 || minor != 0) {
    throw ParseError("byte {}: unknown version {}.{}; known versions are 1.0, 2.0 and 3.0",
                     kNpyMagic.size(), major, minor);
  }
  const uint64_t length = major == 1 ? reader.number<uint16_t>() : reader.number<uint32_t>();
  if (length > kMostHeaderBytes) {
    throw ParseError("byte {}: a header of {} bytes; at most {} are read", reader.position(),
                     length, kMostHeaderBytes);
  }
  const uint64_t end = reader.position() + length;
  if (end > file_bytes) {
    throw ParseError("byte {}: a header of {} bytes, but {} are left", reader.position(), length,
                     file_bytes - reader.position());
  }
  return end;
}

NpyHeader parse_npy_header(std::span<const std::byte> header, uint64_t file_bytes) {
  const size_t begin = header[kNpyMagic.size()] == std::byte{1} ? kNpyPrefix - 2 : kNpyPrefix;
  const PythonLiteral dictionary =
      parse_python_literal(characters_of(header.subspan(begin)), begin);
  const Entries entries = entries_of(dictionary);
  if (entries.order->kind != Kind::boolean) {
    throw ParseError("byte {}: 'fortran_order' must be True or False", entries.order->position);
  }
  NpyHeader result;
  const StoredDType stored = dtype_of(*entries.dtype);
  result.dtype = stored.dtype;
  result.is_big_endian = stored.is_big_endian;
  result.is_fortran_order = entries.order->integer == 1;
  result.sizes = sizes_of(*entries.sizes);
  result.data_begin = header.size();
  result.data_bytes = bytes_of_elements(result, entries.sizes->position);
  if (const uint64_t left = file_bytes - header.size();
      static_cast<uint64_t>(result.data_bytes) != left) {
    throw ParseError("byte {}: expected the {} bytes of {}{}, found {}", header.size(),
                     result.data_bytes, name_of(result.dtype), text_of_sizes(result.sizes), left);
  }
  return result;
}

Layout NpyHeader::layout() const {
  Layout layout{sizes, Sizes(sizes.size()), 0};
  int64_t stride = 1;
  for (size_t i = 0; i < sizes.size(); ++i) {
    const size_t axis = is_fortran_order ? i : sizes.size() - 1 - i;
    layout.strides[axis] = stride;
    stride *= std::max<int64_t>(sizes[axis], 1);
  }
  return layout;
}

std::string npy_header(DType dtype, std::span<const int64_t> sizes) {
  std::string text = fmt::format("{{'descr': {}, 'fortran_order': False, 'shape': {}, }}",
                                 dtype_text(dtype), shape_text(sizes));
  if (!sizes.empty()) text.append(kRoomForSize - fmt::formatted_size("{}", sizes[0]), ' ');
  const auto whole = [&](uint8_t version, size_t length_bytes) {
    const size_t before = kNpyMagic.size() + 2 + length_bytes;
    const size_t padding = kElementAlignment - (before + text.size() + 1) % kElementAlignment;
    const size_t length = text.size() + padding + 1;
    std::string header = std::string(kNpyMagic) + static_cast<char>(version) + '\0';
    for (size_t i = 0; i < length_bytes; ++i) header += static_cast<char>(length >> (8 * i));
    return length >> (8 * length_bytes) ? "" : header + text + std::string(padding, ' ') + '\n';
  };
  const std::string header = whole(1, 2);
  return header.empty() ? whole(2, 4) : header;
}

}  // namespace plait
