// A constant array: dtype, sizes, and reference-counted bytes in row-major order, immutable.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/numbers/dtype.h"

namespace plait {

class TextReader;

class Literal {
 public:
  Literal() = default;  // f64 scalar 0
  Literal(const Literal&) = default;
  Literal& operator=(const Literal&) = default;
  Literal(Literal&& other) noexcept { swap(other); }  // leaves an f64 scalar 0
  Literal& operator=(Literal&& other) noexcept;
  ~Literal() = default;

  static Literal scalar(DType dtype, double value);  // rounded as a cast would
  // Takes ownership of the bytes; ValueError if their number is not product(sizes) *
  // size_of(dtype), or if a bool is neither 0 nor 1.
  static Literal of_bytes(DType dtype, std::vector<int64_t> sizes, std::vector<std::byte> bytes);
  // Borrows the bytes: `owner` is kept alive as long as any copy of the literal.
  static Literal borrow(DType dtype, std::vector<int64_t> sizes, std::span<const std::byte> bytes,
                        std::shared_ptr<const void> owner);
  // The same element everywhere, stored once. ValueError if `scalar` has more than one element.
  static Literal splat(std::vector<int64_t> sizes, const Literal& scalar);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  int64_t element_count() const { return element_count_; }
  bool is_splat() const { return splat_; }                     // one stored element is repeated
  std::span<const std::byte> bytes() const { return bytes_; }  // only one element if is_splat()
  // The bytes of one element, splat or not; IndexError if out of range.
  std::span<const std::byte> element_bytes(int64_t index) const;

  double as_double(int64_t index) const;  // real part for complex; ValueError for key
  // f32[2, 2](1, 2, 3.5, nan); f32[1000](0 ...) for a splat; f32[1000](0x…) past 64 elements.
  std::string text() const;

  uint64_t content_hash() const;                               // the same in every process
  friend bool operator==(const Literal& a, const Literal& b);  // dtype, sizes and content (bitwise)
  const void* identity() const { return bytes_.data(); }       // the buffer, which copies share

  void swap(Literal& other) noexcept;

 private:
  // The bytes of the element that all elements equal, or an empty span.
  std::span<const std::byte> uniform_element() const;

  static constexpr std::array<std::byte, 8> kZero{};

  DType dtype_ = DType::f64;
  bool splat_ = false;
  int64_t element_count_ = 1;
  std::vector<int64_t> sizes_;
  std::span<const std::byte> bytes_ = kZero;
  std::shared_ptr<const void> owner_;
};

// Beyond this number of elements, text() writes the bytes in hexadecimal.
inline constexpr int64_t kMaxElementsInText = 64;

// Parses the form that text() writes. Sizes without elements in the text to back them are refused
// before memory is allocated.
Literal parse_literal(TextReader& reader);

}  // namespace plait
