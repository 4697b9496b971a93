#include "plait/io/inside/rows/csv_numbers.h"

#include <algorithm>
#include <charconv>
#include <system_error>

#include "plait/core/text.h"

namespace plait {
namespace {

bool is_blank_in_cell(char c) { return c == ' ' || c == '\t'; }

std::string_view trimmed(std::string_view cell) {
  while (!cell.empty() && is_blank_in_cell(cell.front())) cell.remove_prefix(1);
  while (!cell.empty() && is_blank_in_cell(cell.back())) cell.remove_suffix(1);
  return cell;
}

// from_chars takes no plus.
std::string_view without_plus(std::string_view text) {
  const bool has_plus = text.size() > 1 && text[0] == '+' && text[1] != '-';
  return has_plus ? text.substr(1) : text;
}

template <class T>
std::errc parse_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return error;
  return end == text.data() + text.size() ? std::errc() : std::errc::invalid_argument;
}

}  // namespace

std::optional<int64_t> csv_integer(std::string_view cell) {
  int64_t value = 0;
  if (parse_number(without_plus(trimmed(cell)), value) != std::errc()) return std::nullopt;
  return value;
}

std::optional<double> csv_float(std::string_view cell) {
  const std::string_view text = without_plus(trimmed(cell));
  if (text.ends_with(')')) return std::nullopt;  // nan(1)
  double value = 0;
  const std::errc error = parse_number(text, value);
  if (error == std::errc()) return value;
  if (error != std::errc::result_out_of_range) return std::nullopt;
  long double wide = 0;  // tells numbers that round to infinity from those that round to zero
  if (parse_number(text, wide) != std::errc()) return std::nullopt;
  return static_cast<double>(wide);
}

bool has_integer_form(std::string_view cell) {
  std::string_view text = trimmed(cell);
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  return !text.empty() && std::ranges::all_of(text, is_digit);
}

}  // namespace plait
