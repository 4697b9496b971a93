#include "plait/core/numbers/literal.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/hash.h"
#include "plait/core/numbers/element.h"

namespace plait {

static_assert(std::endian::native == std::endian::little, "literals are little-endian bytes");

namespace {

std::string type_text(DType dtype, const std::vector<int64_t>& sizes) {
  return fmt::format("{}[{}]", name_of(dtype), fmt::join(sizes, ", "));
}

// ValueError for sizes beyond any memory, even if another size is 0: strides of any literal must be
// computable.
int64_t counted_elements(DType dtype, const std::vector<int64_t>& sizes) {
  int64_t bytes = size_of(dtype);
  bool empty = false;
  for (const int64_t size : sizes) {
    if (size < 0) {
      throw ValueError("literal {}: a size is {}, below 0", type_text(dtype, sizes), size);
    }
    empty = empty || size == 0;
    if (size > 0 && bytes > std::numeric_limits<int64_t>::max() / size) {
      throw ValueError("literal {}: its size in bytes exceeds 64 bits", type_text(dtype, sizes));
    }
    bytes *= std::max<int64_t>(size, 1);
  }
  return empty ? 0 : bytes / size_of(dtype);
}

void check_bools(std::span<const std::byte> bytes) {
  const auto bad =
      std::find_if(bytes.begin(), bytes.end(), [](std::byte byte) { return byte > std::byte{1}; });
  if (bad == bytes.end()) return;
  throw ValueError("literal bool: element {} is the byte {}; a bool is 0 or 1", bad - bytes.begin(),
                   std::to_integer<int>(*bad));
}

}  // namespace

Literal& Literal::operator=(Literal&& other) noexcept {
  Literal taken(std::move(other));
  swap(taken);
  return *this;
}

void Literal::swap(Literal& other) noexcept {
  std::swap(dtype_, other.dtype_);
  std::swap(splat_, other.splat_);
  std::swap(element_count_, other.element_count_);
  sizes_.swap(other.sizes_);
  std::swap(bytes_, other.bytes_);
  owner_.swap(other.owner_);
}

Literal Literal::scalar(DType dtype, double value) {
  std::vector<std::byte> bytes(static_cast<size_t>(size_of(dtype)));
  store_element(dtype, Element::of(value), bytes.data());
  return of_bytes(dtype, {}, std::move(bytes));
}

Literal Literal::of_bytes(DType dtype, std::vector<int64_t> sizes, std::vector<std::byte> bytes) {
  auto owner = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  const std::span<const std::byte> view = *owner;
  return borrow(dtype, std::move(sizes), view, std::move(owner));
}

Literal Literal::borrow(DType dtype, std::vector<int64_t> sizes, std::span<const std::byte> bytes,
                        std::shared_ptr<const void> owner) {
  const int64_t count = counted_elements(dtype, sizes);
  const int64_t needed = count * size_of(dtype);
  if (bytes.size() != static_cast<uint64_t>(needed)) {
    throw ValueError("literal {}: {} bytes given, {} needed", type_text(dtype, sizes), bytes.size(),
                     needed);
  }
  if (is_boolean(dtype)) check_bools(bytes);
  Literal result;
  result.dtype_ = dtype;
  result.element_count_ = count;
  result.sizes_ = std::move(sizes);
  result.bytes_ = bytes;
  result.owner_ = std::move(owner);
  return result;
}

Literal Literal::splat(std::vector<int64_t> sizes, const Literal& scalar) {
  if (scalar.element_count() != 1) {
    throw ValueError("splat: expected one element, not {} of {} elements",
                     type_text(scalar.dtype(), scalar.sizes()), scalar.element_count());
  }
  Literal result = scalar;
  result.element_count_ = counted_elements(scalar.dtype(), sizes);
  result.splat_ = result.element_count_ > 1;
  if (result.element_count_ == 0) result.bytes_ = {};
  result.sizes_ = std::move(sizes);
  return result;
}

std::span<const std::byte> Literal::element_bytes(int64_t index) const {
  if (index < 0 || index >= element_count_) {
    throw IndexError("literal {}: element {} is out of range", type_text(dtype_, sizes_), index);
  }
  const auto size = static_cast<size_t>(size_of(dtype_));
  return bytes_.subspan(splat_ ? 0 : static_cast<size_t>(index) * size, size);
}

double Literal::as_double(int64_t index) const {
  if (is_key(dtype_)) throw ValueError("a key has no numeric value");
  double value = 0;
  convert(dtype_, element_bytes(index).data(), DType::f64, reinterpret_cast<std::byte*>(&value), 1);
  return value;
}

std::span<const std::byte> Literal::uniform_element() const {
  if (element_count_ == 0) return {};
  const auto size = static_cast<size_t>(size_of(dtype_));
  const bool uniform =
      splat_ || std::memcmp(bytes_.data(), bytes_.data() + size, bytes_.size() - size) == 0;
  return uniform ? bytes_.first(size) : std::span<const std::byte>();
}

uint64_t Literal::content_hash() const {
  Hasher hasher;
  hasher.update(name_of(dtype_));
  hasher.update(sizes_.size());
  for (const int64_t size : sizes_) hasher.update(static_cast<uint64_t>(size));
  // A splat equals the same elements written out, so their hashes must be equal.
  const std::span<const std::byte> element = uniform_element();
  hasher.update(element.empty() ? bytes_ : element);
  return hasher.finish().low;
}

bool operator==(const Literal& a, const Literal& b) {
  if (a.dtype_ != b.dtype_ || a.sizes_ != b.sizes_) return false;
  std::span<const std::byte> a_bytes = a.bytes_;
  std::span<const std::byte> b_bytes = b.bytes_;
  if (a.splat_ != b.splat_) {
    a_bytes = a.uniform_element();
    b_bytes = b.uniform_element();
  }
  return a_bytes.data() == b_bytes.data() || std::ranges::equal(a_bytes, b_bytes);
}

}  // namespace plait
