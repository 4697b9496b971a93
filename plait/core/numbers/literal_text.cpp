// Prints and parses literals.
#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/inside/numbers/element_text.h"
#include "plait/core/numbers/literal.h"
#include "plait/core/text.h"

namespace plait {

namespace {

DType read_dtype(TextReader& reader) {
  reader.skip_space();
  const size_t start = reader.position();
  const std::optional<DType> dtype =
      reader.next_is_name() ? parse_dtype(reader.name()) : std::nullopt;
  if (dtype) return *dtype;
  reader.seek(start);
  reader.fail_expecting("a dtype");
}

int64_t read_size(TextReader& reader) {
  reader.skip_space();
  if (!is_digit(reader.next())) reader.fail_expecting("a size");
  return reader.integer();
}

std::vector<int64_t> read_sizes(TextReader& reader) {
  std::vector<int64_t> sizes;
  reader.expect("[");
  if (reader.accept("]")) return sizes;
  do {
    sizes.push_back(read_size(reader));
  } while (reader.accept(","));
  reader.expect("]");
  return sizes;
}

std::vector<std::byte> read_one(TextReader& reader, DType dtype) {
  std::vector<std::byte> element(static_cast<size_t>(size_of(dtype)));
  read_element(reader, dtype, element.data());
  return element;
}

// Parses the elements after the first. Memory grows with the text, not with the number of elements
// that the sizes claim.
std::vector<std::byte> read_others(TextReader& reader, DType dtype, int64_t count,
                                   std::vector<std::byte> bytes) {
  const auto size = static_cast<size_t>(size_of(dtype));
  for (int64_t i = 1; i < count; ++i) {
    if (!reader.accept(",")) {
      reader.fail_expecting(fmt::format("',' and element {} of {}", i + 1, count));
    }
    bytes.resize(bytes.size() + size);
    read_element(reader, dtype, bytes.data() + bytes.size() - size);
  }
  return bytes;
}

// True if the bytes of all elements follow; a single key looks the same but for its length.
bool is_in_hex(TextReader reader, DType dtype) {
  if (!reader.accept("0x")) return false;
  return !is_key(dtype) || count_hex_digits(reader) != 2 * static_cast<size_t>(size_of(dtype));
}

std::vector<std::byte> read_all_in_hex(TextReader& reader, int64_t byte_count) {
  reader.expect("0x");
  const size_t digits = count_hex_digits(reader);
  if (digits % 2 != 0 || digits / 2 != static_cast<uint64_t>(byte_count)) {
    reader.fail("expected two hexadecimal digits for each of {} bytes, found {}", byte_count,
                digits);
  }
  std::vector<std::byte> bytes(static_cast<size_t>(byte_count));
  read_hex(reader, bytes);
  return bytes;
}

Literal read_elements(TextReader& reader, DType dtype, std::vector<int64_t> sizes) {
  // A splat checks the sizes without allocating the elements.
  const Literal zero =
      Literal::of_bytes(dtype, {}, std::vector<std::byte>(static_cast<size_t>(size_of(dtype))));
  const int64_t count = Literal::splat(sizes, zero).element_count();
  if (count == 0) return Literal::of_bytes(dtype, std::move(sizes), {});
  if (is_in_hex(reader, dtype)) {
    return Literal::of_bytes(dtype, std::move(sizes),
                             read_all_in_hex(reader, count * size_of(dtype)));
  }
  std::vector<std::byte> first = read_one(reader, dtype);
  if (reader.accept("...")) {
    return Literal::splat(std::move(sizes), Literal::of_bytes(dtype, {}, std::move(first)));
  }
  return Literal::of_bytes(dtype, std::move(sizes),
                           read_others(reader, dtype, count, std::move(first)));
}

}  // namespace

std::string Literal::text() const {
  std::string text = fmt::format("{}[{}](", name_of(dtype_), fmt::join(sizes_, ", "));
  if (splat_) {
    append_element_text(text, dtype_, bytes_.data());
    text += " ...";
  } else if (element_count_ > kMaxElementsInText) {
    text += "0x";
    append_hex(text, bytes_);
  } else {
    for (int64_t i = 0; i < element_count_; ++i) {
      if (i > 0) text += ", ";
      append_element_text(text, dtype_, element_bytes(i).data());
    }
  }
  return text + ")";
}

Literal parse_literal(TextReader& reader) {
  reader.skip_space();
  const size_t start = reader.position();
  const DType dtype = read_dtype(reader);
  std::vector<int64_t> sizes = read_sizes(reader);
  reader.expect("(");
  Literal result;
  try {
    result = read_elements(reader, dtype, std::move(sizes));
  } catch (const ValueError& error) {
    reader.fail_at(start, error.message());
  }
  reader.expect(")");
  return result;
}

}  // namespace plait
