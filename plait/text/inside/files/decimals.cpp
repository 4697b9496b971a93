#include "plait/text/inside/files/decimals.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace plait::text {
namespace {

// The shortest digits that read back as the value, and the power of ten of the first one.
struct Digits {
  std::string digits;
  int exponent;
};
template <class Real>
Digits shortest_digits(Real magnitude) {
  char buffer[40];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, magnitude, std::chars_format::scientific).ptr;
  const std::string_view text(buffer, static_cast<size_t>(end - buffer));
  const size_t e = text.find('e');
  Digits result{.digits = std::string(text.substr(0, 1)), .exponent = 0};
  if (e > 2) result.digits += text.substr(2, e - 2);
  const char* exponent = text.data() + e + (text[e + 1] == '+' ? 2 : 1);
  std::from_chars(exponent, end, result.exponent);
  return result;
}

// Decimals for powers of ten from -5 to 15, else with an exponent.
std::string text_of(const Digits& number) {
  const auto& [digits, exponent] = number;
  const int count = static_cast<int>(digits.size());
  if (exponent >= 0 && exponent < 16) {
    const auto whole = static_cast<size_t>(exponent) + 1;
    if (count <= exponent + 1) return digits + std::string(whole - digits.size(), '0') + ".0";
    return digits.substr(0, whole) + '.' + digits.substr(whole);
  }
  if (exponent < 0 && exponent >= -5) {
    return "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  }
  const std::string fraction = count > 1 ? '.' + digits.substr(1) : "";
  return digits.substr(0, 1) + fraction + 'e' + std::to_string(exponent);
}

template <class Real>
std::string signed_text(Real value) {
  const std::string sign = std::signbit(value) ? "-" : "";
  return sign + (value == 0 ? "0.0" : text_of(shortest_digits(std::abs(value))));
}

double power_of_ten(int exponent) {
  const std::string text = "1e" + std::to_string(exponent);
  double power = 0;
  std::from_chars(text.data(), text.data() + text.size(), power);
  return power;
}

}  // namespace

std::string decimal_text(double value) { return signed_text(value); }
std::string short_decimal_text(float value) { return signed_text(value); }

// All digits, the .0 included, are one integer, which is rounded and then multiplied or divided by
// a power of ten.
double as_reference_reads(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  auto [digits, first] = shortest_digits(std::abs(value));
  const int count = static_cast<int>(digits.size());
  if (first >= 0 && first < 16 && count < first + 2) {
    digits.append(static_cast<size_t>(first + 2 - count), '0');
  }
  uint64_t integer = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), integer);
  auto result = static_cast<double>(integer);
  int exponent = first + 1 - static_cast<int>(digits.size());
  constexpr int kGreatestPower = 308;
  for (; exponent < -kGreatestPower; exponent += kGreatestPower) {
    result /= power_of_ten(kGreatestPower);
  }
  result = exponent < 0 ? result / power_of_ten(-exponent) : result * power_of_ten(exponent);
  return std::copysign(result, value);
}

}  // namespace plait::text
