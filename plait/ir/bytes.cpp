#include "plait/ir/bytes.h"

#include <bit>

#include "plait/core/error.h"
#include "plait/core/text.h"

namespace plait::ir {
namespace {

constexpr int kDeepest = 200;
// Literals up to this size are always written by content.
constexpr size_t kSmallLiteral = 16;

// Writes the number of `key`; true if the key is new.
template <class Map, class Key>
bool is_new_entry(ByteWriter& writer, Map& known, const Key& key) {
  const auto [place, is_new] = known.try_emplace(key, known.size());
  writer.number(place->second);
  return is_new;
}

uint64_t zigzag(int64_t value) {
  return static_cast<uint64_t>(value) << 1 ^ static_cast<uint64_t>(value >> 63);
}
int64_t from_zigzag(uint64_t value) { return static_cast<int64_t>(value >> 1 ^ -(value & 1)); }

}  // namespace

// ---- Writing.

void ByteWriter::number(uint64_t value) {
  for (; value >= 0x80; value >>= 7) byte(static_cast<uint8_t>(value | 0x80));
  byte(static_cast<uint8_t>(value));
}

void ByteWriter::signed_number(int64_t value) { number(zigzag(value)); }

void ByteWriter::real(double value) {
  const auto bits = std::bit_cast<uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) byte(static_cast<uint8_t>(bits >> shift));
}

void ByteWriter::string(std::string_view value) {
  if (!is_new_entry(*this, strings_, std::string(value))) return;
  number(value.size());
  bytes_ += value;
}

void ByteWriter::dim(Dim value) {
  if (rename_size) value = rename_size(value);
  if (!is_new_entry(*this, dims_, value)) return;
  const std::string text = value.text();
  number(text.size());
  bytes_ += text;
}

void ByteWriter::type(const Type& value) {
  if (!is_new_entry(*this, types_, value)) return;
  byte(static_cast<uint8_t>(value.kind()));
  switch (value.kind()) {
    case Type::Kind::none: break;
    case Type::Kind::array: array_type(value); break;
    case Type::Kind::tuple:
      number(value.elements().size());
      for (const Type& element : value.elements()) type(element);
      break;
    case Type::Kind::record:
      string(value.record_name());
      number(value.record_arguments().size());
      for (const Dim argument : value.record_arguments()) dim(argument);
      break;
    case Type::Kind::optional: type(value.element()); break;
  }
}

void ByteWriter::array_type(const Type& value) {
  byte(static_cast<uint8_t>(value.dtype()));
  number(static_cast<uint64_t>(value.rank()));
  for (const Dim size : value.shape()) dim(size);
  axes(value.varying());
  const Sharding& sharding = value.sharding();
  byte(sharding.said() ? 1 : 0);
  if (!sharding.said()) return;
  number(sharding.splits.size());
  for (const std::vector<std::string>& split : sharding.splits) {
    number(split.size());
    for (const std::string& axis : split) string(axis);
  }
  axes(sharding.partial);
}

void ByteWriter::axes(const AxisSet& value) {
  number(value.size());
  for (const std::string& name : value) string(name);
}

void ByteWriter::literal(const Literal& value) {
  byte(static_cast<uint8_t>(value.dtype()));
  byte(value.is_splat() ? 1 : 0);
  number(value.sizes().size());
  for (const int64_t size : value.sizes()) number(static_cast<uint64_t>(size));
  const bool by_identity = literals_by_identity && value.bytes().size() > kSmallLiteral;
  number(value.bytes().size());
  if (by_identity) {
    number(reinterpret_cast<uintptr_t>(value.identity()));
  } else {
    bytes_.append(reinterpret_cast<const char*>(value.bytes().data()), value.bytes().size());
  }
}

// ---- Reading.

void ByteReader::fail(std::string_view message) const {
  throw ParseError("byte {}: {}", position_, message);
}

std::string_view ByteReader::raw(size_t count) {
  if (count > bytes_.size() - position_) {
    fail(fmt::format("expected {} bytes, {} are left", count, bytes_.size() - position_));
  }
  const std::string_view taken = bytes_.substr(position_, count);
  position_ += count;
  return taken;
}

uint8_t ByteReader::byte() { return static_cast<uint8_t>(raw(1)[0]); }

uint64_t ByteReader::number() {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const uint64_t part = byte();
    if (shift == 63 && part > 1) break;
    value |= (part & 0x7f) << shift;
    if (part < 0x80) return value;
  }
  fail("a number of more than 64 bits");
}

int64_t ByteReader::signed_number() { return from_zigzag(number()); }

double ByteReader::real() {
  uint64_t bits = 0;
  int shift = 0;
  for (const char c : raw(sizeof(double))) {
    bits |= static_cast<uint64_t>(static_cast<uint8_t>(c)) << shift;
    shift += 8;
  }
  return std::bit_cast<double>(bits);
}

size_t ByteReader::count(size_t least_bytes) {
  const uint64_t value = number();
  if (value > (bytes_.size() - position_) / least_bytes) {
    fail(fmt::format("a count of {}, but {} bytes are left", value, bytes_.size() - position_));
  }
  return value;
}

// Reads the number of an entry: a known one, or the next one, whose content then follows.
template <class T, class ReadNew>
T ByteReader::entry(std::vector<T>& known, ReadNew read_new) {
  const uint64_t number_of_entry = number();
  if (number_of_entry < known.size()) return known[number_of_entry];
  if (number_of_entry > known.size()) {
    fail(fmt::format("entry {} is referenced, but {} were read", number_of_entry, known.size()));
  }
  return read_new();
}

std::string_view ByteReader::string() {
  return entry(strings_, [&] { return strings_.emplace_back(raw(count())); });
}

std::string_view ByteReader::name() {
  const std::string_view text = string();
  if (!is_name(text)) {
    std::string quoted;
    print_quoted(quoted, text);
    fail(quoted + " is not a name");
  }
  return text;
}

Dim ByteReader::dim() {
  return entry(dims_, [&] {
    const std::string_view text = raw(count());
    try {
      return dims_.emplace_back(parse_whole(text, parse_dim));
    } catch (const Error& error) {
      fail(error.message());
    }
  });
}

// An entry is numbered before its parts, as in the writer.
Dim ByteReader::size() {
  const Dim size = dim();
  if (size.is_number() && size.number() < 0) fail(fmt::format("a size of {}, below 0", size));
  return size;
}

std::vector<Dim> ByteReader::sizes() {
  std::vector<Dim> sizes;
  for (size_t n = count(); n > 0; --n) sizes.push_back(size());
  return sizes;
}

Type ByteReader::type() {
  return entry(types_, [&] {
    if (depth_ >= kDeepest) fail(fmt::format("types nested deeper than {} levels", kDeepest));
    ++depth_;
    const size_t place = types_.size();
    types_.emplace_back();
    try {
      types_[place] = new_type();
    } catch (const ParseError&) {
      throw;
    } catch (const Error& error) {
      fail(error.message());
    }
    --depth_;
    return types_[place];
  });
}

Type ByteReader::new_type() {
  const uint8_t kind = byte();
  switch (static_cast<Type::Kind>(kind)) {
    case Type::Kind::array: return array_type();
    case Type::Kind::tuple: {
      std::vector<Type> elements;
      for (size_t n = count(); n > 0; --n) elements.push_back(part_of_type());
      return Type::tuple(std::move(elements));
    }
    case Type::Kind::record: {
      std::string record(name());
      return Type::record(std::move(record), sizes());
    }
    case Type::Kind::optional: return Type::optional(part_of_type());
    case Type::Kind::none: break;
  }
  fail(fmt::format("{} is not a kind of type", kind));
}

// A type that is still being read has no value yet: a type cannot contain itself.
Type ByteReader::part_of_type() {
  Type part = type();
  if (!part) fail("a type contains itself");
  return part;
}

bool ByteReader::flag() {
  const uint8_t value = byte();
  if (value > 1) fail(fmt::format("{} where 0 or 1 was expected", value));
  return value != 0;
}

DType ByteReader::dtype() {
  const uint8_t value = byte();
  if (value >= kDTypeCount) fail(fmt::format("{} is not the number of a dtype", value));
  return static_cast<DType>(value);
}

AxisSet ByteReader::axes() {
  AxisSet axes;
  for (size_t n = count(); n > 0; --n) axes.insert(name());
  return axes;
}

Type ByteReader::array_type() {
  const DType element = dtype();
  const std::vector<Dim> dims = sizes();
  AxisSet varying = axes();
  Sharding sharding;
  if (flag()) {
    sharding.splits.resize(count());
    for (std::vector<std::string>& split : sharding.splits) {
      for (size_t n = count(); n > 0; --n) split.emplace_back(name());
    }
    sharding.partial = axes();
  }
  return Type::array(element, Shape(dims), std::move(varying), std::move(sharding));
}

Literal ByteReader::literal() {
  const DType element = dtype();
  const bool is_splat = flag();
  std::vector<int64_t> sizes;
  for (size_t n = count(); n > 0; --n) sizes.push_back(static_cast<int64_t>(number()));
  const std::string_view content = raw(count());
  const auto* data = reinterpret_cast<const std::byte*>(content.data());
  std::vector<std::byte> bytes(data, data + content.size());
  try {
    if (!is_splat) return Literal::of_bytes(element, std::move(sizes), std::move(bytes));
    return Literal::splat(std::move(sizes), Literal::of_bytes(element, {}, std::move(bytes)));
  } catch (const Error& error) {
    fail(error.message());
  }
}

}  // namespace plait::ir
