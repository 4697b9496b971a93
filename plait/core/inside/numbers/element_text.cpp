#include "plait/core/inside/numbers/element_text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "plait/core/numbers/element.h"

namespace plait {

namespace {

template <class T>
struct WordOf {
  using type = typename T::Bits;
};
template <>
struct WordOf<float> {
  using type = uint32_t;
};
template <>
struct WordOf<double> {
  using type = uint64_t;
};

// The quiet NaN without sign or payload.
uint64_t default_nan(FloatFormat format) {
  const int quiet_and_exponent =
      format.exponent_bits + (format.has_infinity ? 1 : format.mantissa_bits);
  const int below = format.mantissa_bits + format.exponent_bits - quiet_and_exponent;
  return ((uint64_t{1} << quiet_and_exponent) - 1) << below;
}

template <class Number>
std::string number_text(Number value) {
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  return {buffer, end};
}

// The shortest decimal that parses to the same bits: for each number of digits the nearest decimal,
// then the next larger one, which alone may fit where the spacing of the format doubles.
double shortest_decimal(double value, FloatFormat format) {
  const uint32_t bits = encode_float(value, format);
  for (int digits = 1; digits < 17; ++digits) {
    char buffer[32];
    const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value,
                                            std::chars_format::scientific, digits - 1);
    char& last_digit = *(std::find(buffer, end, 'e') - 1);
    for (int attempt = 0; attempt < 2; ++attempt, ++last_digit) {
      double candidate = 0;
      std::from_chars(buffer, end, candidate);
      if (encode_float(candidate, format) == bits) return candidate;
      if (last_digit == '9') break;  // the next larger one has fewer digits and was tried
    }
  }
  return value;
}

template <class T>
void append_float(std::string& text, const std::byte* element) {
  T value;
  std::memcpy(&value, element, sizeof(T));
  const auto word = std::bit_cast<typename WordOf<T>::type>(value);
  const auto number = static_cast<double>(value);
  if (std::isnan(number)) {
    text += "nan";
    const FloatFormat format = info_of(kDTypeOf<T>).format;
    if (word != default_nan(format)) text += fmt::format(":0x{:0{}x}", word, 2 * sizeof(T));
  } else if constexpr (kIsPackedFloat<T>) {
    // The exact number unless it is longer, as in std::to_chars for the other formats: 448, not
    // 450.
    const std::string exact = number_text(number);
    const std::string shortest = number_text(shortest_decimal(number, T::kFormat));
    text += exact.size() <= shortest.size() ? exact : shortest;
  } else {
    text += number_text(value);
  }
}

template <class T>
void append_complex(std::string& text, const std::byte* element) {
  text += '(';
  append_float<T>(text, element);
  std::string imaginary;
  append_float<T>(imaginary, element + sizeof(T));
  if (!imaginary.starts_with('-')) text += '+';
  text += imaginary + "j)";
}

int hex_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

// The part of the text that looks like a number, for messages.
std::string_view number_at(const TextReader& reader) {
  const std::string_view rest = reader.rest();
  return rest.substr(0, rest.find_first_not_of("0123456789+-.eE"));
}

[[noreturn]] void fail_range(const TextReader& reader, DType dtype) {
  const std::string range =
      is_integer(dtype)
          ? fmt::format("{} to {}", integer_limits(dtype).min, integer_limits(dtype).max)
          : fmt::format("{} to {}", -float_limits(dtype).max, float_limits(dtype).max);
  reader.fail("{} does not fit into {}, whose range is {}", number_at(reader), name_of(dtype),
              range);
}

// After "nan": the default NaN, or the bits that follow.
template <class T>
T read_nan(TextReader& reader) {
  using Word = typename WordOf<T>::type;
  const FloatFormat format = info_of(kDTypeOf<T>).format;
  if (!reader.rest().starts_with(":0x")) {
    return std::bit_cast<T>(static_cast<Word>(default_nan(format)));
  }
  reader.advance(3);
  const size_t digits = count_hex_digits(reader);
  uint64_t word = 0;
  if (digits == 2 * sizeof(T)) {
    const std::string_view text = reader.rest().substr(0, digits);
    std::from_chars(text.data(), text.data() + text.size(), word, 16);
    const T value = std::bit_cast<T>(static_cast<Word>(word));
    if (std::isnan(static_cast<double>(value))) {
      reader.advance(digits);
      return value;
    }
  }
  reader.fail("expected the {} hexadecimal digits of a NaN of {}", 2 * sizeof(T),
              name_of(kDTypeOf<T>));
}

template <class T>
T read_finite(TextReader& reader) {
  using Read = std::conditional_t<kIsPackedFloat<T>, double, T>;
  const std::string_view rest = reader.rest();
  Read read = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), read);
  if (error == std::errc::invalid_argument) reader.fail_expecting("a number");
  const auto value = static_cast<T>(read);
  const auto number = static_cast<double>(value);
  const bool vanished = number == 0 && read != 0;
  if (error != std::errc() || !std::isfinite(number) || vanished) fail_range(reader, kDTypeOf<T>);
  reader.advance(static_cast<size_t>(end - rest.data()));
  return value;
}

template <class T>
T read_float(TextReader& reader) {
  const std::string_view rest = reader.rest();
  if (rest.starts_with("nan")) {
    reader.advance(3);
    return read_nan<T>(reader);
  }
  const bool negative = rest.starts_with('-');
  if (rest.substr(negative).starts_with("inf")) {
    if (!info_of(kDTypeOf<T>).format.has_infinity) {
      reader.fail("{} has no infinity", name_of(kDTypeOf<T>));
    }
    reader.advance(negative ? 4 : 3);
    return static_cast<T>(negative ? -INFINITY : INFINITY);
  }
  const char first = rest.size() > negative ? rest[negative] : '\0';
  if (first != '.' && !is_digit(first)) reader.fail_expecting("a number");
  return read_finite<T>(reader);
}

template <class T>
std::complex<T> read_complex(TextReader& reader) {
  reader.expect("(");
  reader.skip_space();
  const T real = read_float<T>(reader);
  if (reader.next() != '-') {
    reader.expect("+");
    if (reader.next() == '-') reader.fail_expecting("a number without a sign");
  }
  const T imaginary = read_float<T>(reader);
  reader.expect("j");
  reader.expect(")");
  return {real, imaginary};
}

template <class T>
T read_integer(TextReader& reader) {
  const std::string_view rest = reader.rest();
  T value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  const bool negative_unsigned = std::is_unsigned_v<T> && rest.starts_with('-');
  if (error == std::errc::result_out_of_range || (negative_unsigned && number_at(reader) != "-")) {
    fail_range(reader, kDTypeOf<T>);
  }
  if (error != std::errc()) reader.fail_expecting("an integer");
  reader.advance(static_cast<size_t>(end - rest.data()));
  return value;
}

bool read_bool(TextReader& reader) {
  if (reader.accept("true")) return true;
  if (reader.accept("false")) return false;
  reader.fail_expecting("true or false");
}

KeyBits read_key(TextReader& reader) {
  reader.expect("0x");
  std::byte bytes[sizeof(KeyBits)];
  read_hex(reader, bytes);
  return std::bit_cast<KeyBits>(bytes);
}

}  // namespace

void append_element_text(std::string& text, DType dtype, const std::byte* element) {
  with_element_type(dtype, [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_same_v<T, bool>) {
      text += *element != std::byte{0} ? "true" : "false";
    } else if constexpr (std::is_same_v<T, KeyBits>) {
      text += "0x";
      append_hex(text, {element, sizeof(KeyBits)});
    } else if constexpr (std::is_integral_v<T>) {
      T value;
      std::memcpy(&value, element, sizeof(T));
      text += number_text(value);
    } else if constexpr (kIsComplex<T>) {
      append_complex<typename T::value_type>(text, element);
    } else {
      append_float<T>(text, element);
    }
  });
}

void read_element(TextReader& reader, DType dtype, std::byte* element) {
  reader.skip_space();
  with_element_type(dtype, [&]<class T>(std::type_identity<T>) {
    T value;
    if constexpr (std::is_same_v<T, bool>) {
      value = read_bool(reader);
    } else if constexpr (std::is_same_v<T, KeyBits>) {
      value = read_key(reader);
    } else if constexpr (std::is_integral_v<T>) {
      value = read_integer<T>(reader);
    } else if constexpr (kIsComplex<T>) {
      value = read_complex<typename T::value_type>(reader);
    } else {
      value = read_float<T>(reader);
    }
    std::memcpy(element, &value, sizeof(T));
  });
}

void append_real(std::string& text, double value) {
  append_element_text(text, DType::f64, reinterpret_cast<const std::byte*>(&value));
}

double read_real(TextReader& reader) {
  reader.skip_space();
  return read_float<double>(reader);
}

void append_hex(std::string& text, std::span<const std::byte> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  text.reserve(text.size() + 2 * bytes.size());
  for (const std::byte byte : bytes) {
    text += kDigits[std::to_integer<size_t>(byte >> 4)];
    text += kDigits[std::to_integer<size_t>(byte & std::byte{15})];
  }
}

void read_hex(TextReader& reader, std::span<std::byte> bytes) {
  const size_t digits = count_hex_digits(reader);
  if (digits != 2 * bytes.size()) {
    reader.fail("expected {} hexadecimal digits, found {}", 2 * bytes.size(), digits);
  }
  const std::string_view text = reader.rest();
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<std::byte>(hex_value(text[2 * i]) * 16 + hex_value(text[2 * i + 1]));
  }
  reader.advance(digits);
}

size_t count_hex_digits(const TextReader& reader) {
  const std::string_view text = reader.rest();
  const auto end = std::find_if(text.begin(), text.end(), [](char c) { return hex_value(c) < 0; });
  return static_cast<size_t>(end - text.begin());
}

}  // namespace plait
