// Prints arrays as NumPy does: one format for all elements, so that columns are aligned.
#include <charconv>
#include <cmath>
#include <limits>

#include "plait/core/inside/numbers/element_text.h"
#include "plait/tensor/memory/array.h"

namespace plait {
namespace {

constexpr int64_t kMostShown = 1000;  // elements; larger arrays show their edges only
constexpr int64_t kEdge = 3;
constexpr size_t kLineWidth = 75;
constexpr int kDigits = 8;  // after the decimal point

// The shortest decimal that rounds to the element's value.
double shortest_number(DType dtype, const std::byte* element) {
  std::string text;
  append_element_text(text, dtype, element);
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

double number_of(DType dtype, const std::byte* element) {
  const double number = load_element(dtype, element).number.real();
  return std::isfinite(number) ? shortest_number(dtype, element) : number;
}

// The parts of a number for alignment at the decimal point: "-12", "5", "" for -12.5.
struct Parts {
  std::string whole, fraction, exponent;
};

std::string without_zeros(std::string digits) {
  digits.erase(digits.find_last_not_of('0') + 1);
  return digits;
}

// Chooses between fixed and scientific notation (0.001, 1.e-03) for all numbers together, and pads
// them to the same width.
class FloatFormatter {
 public:
  explicit FloatFormatter(std::span<const double> numbers, bool always_signed = false)
      : always_signed_(always_signed) {
    choose_form(numbers);
    for (const double number : numbers) {
      if (!std::isfinite(number)) continue;
      const Parts parts = decomposition_of(number);
      whole_ = std::max(whole_, parts.whole.size());
      fraction_ = std::max(fraction_, parts.fraction.size());
      exponent_ = std::max(exponent_, parts.exponent.size());
    }
    for (const double number : numbers) {
      if (std::isfinite(number)) continue;
      const size_t size = special(number).size();
      if (size > width()) whole_ += size - width();
    }
  }

  std::string text(double number) const {
    if (!std::isfinite(number)) return fmt::format("{:>{}}", special(number), width());
    Parts parts = decomposition_of(number);
    if (scientific_) parts.fraction.resize(fraction_, '0');
    return fmt::format("{:>{}}.{:<{}}{}", parts.whole, whole_, parts.fraction, fraction_,
                       parts.exponent);
  }

 private:
  void choose_form(std::span<const double> numbers) {
    double least = std::numeric_limits<double>::infinity(), greatest = 0;
    for (const double number : numbers) {
      if (!std::isfinite(number) || number == 0) continue;
      least = std::min(least, std::abs(number));
      greatest = std::max(greatest, std::abs(number));
    }
    scientific_ = greatest > 0 && (greatest >= 1e8 || least < 1e-4 || greatest / least > 1000);
  }

  std::string special(double number) const {
    if (std::isnan(number)) return always_signed_ ? "+nan" : "nan";  // the sign is meaningless
    return always_signed_ ? fmt::format("{:+}", number) : fmt::format("{}", number);
  }
  size_t width() const { return whole_ + 1 + fraction_ + exponent_; }

  Parts decomposition_of(double number) const {
    const char form = scientific_ ? 'e' : 'f';
    char buffer[400];
    const auto end =
        std::to_chars(buffer, std::end(buffer), number,
                      scientific_ ? std::chars_format::scientific : std::chars_format::fixed)
            .ptr;
    Parts parts = split({buffer, end});
    if (parts.fraction.size() > kDigits) {
      parts = split(form == 'e' ? fmt::format("{:.{}e}", number, kDigits)
                                : fmt::format("{:.{}f}", number, kDigits));
    }
    parts.fraction = without_zeros(std::move(parts.fraction));
    if (always_signed_ && !std::signbit(number)) parts.whole.insert(0, 1, '+');
    return parts;
  }

  static Parts split(std::string_view text) {
    const size_t exponent = std::min(text.find('e'), text.size());
    const size_t point = std::min(text.find('.'), exponent);
    const size_t fraction = std::min(point + 1, exponent);
    return {std::string(text.substr(0, point)),
            std::string(text.substr(fraction, exponent - fraction)),
            std::string(text.substr(exponent))};
  }

  bool always_signed_, scientific_ = false;
  size_t whole_ = 1, fraction_ = 0, exponent_ = 0;
};

class ArrayPrinter {
 public:
  explicit ArrayPrinter(const Array& array)
      : array_(array), is_cut_(array.element_count() > kMostShown) {
    if (array.element_count() == 0) return;
    collect(0, array_.layout().offset);
    format();
  }

  std::string text() {
    std::string out;
    if (array_.element_count() == 0) {
      out = "[]";
    } else {
      print(out, 0);
    }
    return fmt::format("{} : {}{}", out, name_of(array_.dtype()), text_of_sizes(array_.sizes()));
  }

 private:
  // The indices shown along a dimension; an omitted part is before `second`.
  struct Shown {
    int64_t first_end, second, end;
  };
  Shown shown(size_t axis) const {
    const int64_t size = array_.sizes()[axis];
    if (!is_cut_ || size <= 2 * kEdge) return {size, size, size};
    return {kEdge, size - kEdge, size};
  }

  template <class Visit>
  void for_each_shown(size_t axis, Visit visit) const {
    const Shown s = shown(axis);
    for (int64_t i = 0; i < s.first_end; ++i) visit(i);
    for (int64_t i = s.second; i < s.end; ++i) visit(i);
  }

  void collect(size_t axis, int64_t place) {
    if (axis == array_.rank()) {
      elements_.push_back(array_.buffer().data() + place * array_.element_size());
      return;
    }
    for_each_shown(
        axis, [&](int64_t i) { collect(axis + 1, place + i * array_.layout().strides[axis]); });
  }

  void format() {
    const DType dtype = array_.dtype();
    if (is_floating(dtype)) {
      texts_ = numbers_as_text(dtype, 0, false);
    } else if (is_complex(dtype)) {
      const DType part = real_dtype(dtype);
      texts_ = numbers_as_text(part, 0, false);
      const auto imaginary = numbers_as_text(part, size_of(part), true);
      for (size_t i = 0; i < texts_.size(); ++i) texts_[i] += with_unit(imaginary[i]);
    } else {
      for (const std::byte* element : elements_) {
        std::string& text = texts_.emplace_back();
        append_element_text(text, dtype, element);
        if (is_boolean(dtype)) text[0] = static_cast<char>(text[0] - 'a' + 'A');
      }
    }
    // Bools of an array are as wide as "False", even if all are true.
    size_t width = is_boolean(dtype) && array_.rank() > 0 ? std::string_view("False").size() : 0;
    for (const std::string& text : texts_) width = std::max(width, text.size());
    for (std::string& text : texts_) text.insert(0, width - text.size(), ' ');
  }

  // The j directly follows the digits: "+1.5j  ".
  static std::string with_unit(std::string text) {
    text.insert(text.find_last_not_of(' ') + 1, "j");
    return text;
  }

  std::vector<std::string> numbers_as_text(DType dtype, int64_t offset, bool always_signed) const {
    std::vector<double> numbers;
    for (const std::byte* element : elements_)
      numbers.push_back(number_of(dtype, element + offset));
    const FloatFormatter formatter(numbers, always_signed);
    std::vector<std::string> texts;
    for (const double number : numbers) texts.push_back(formatter.text(number));
    return texts;
  }

  void print(std::string& out, size_t axis) {
    if (axis == array_.rank()) {
      out += texts_[next_++];
      return;
    }
    const bool is_row = axis + 1 == array_.rank();
    const Shown s = shown(axis);
    out += '[';
    size_t line = out.rfind('\n') == std::string::npos ? 0 : out.rfind('\n') + 1;
    for (int64_t i = 0; i < s.end; ++i) {
      if (i > 0) separate(out, line, axis, is_row);
      if (i == s.first_end && i < s.second) {
        out += "...";
        i = s.second - 1;
      } else {
        print(out, axis + 1);
      }
    }
    out += ']';
  }

  void separate(std::string& out, size_t& line, size_t axis, bool is_row) const {
    if (!is_row) {
      out.append(array_.rank() - axis - 1, '\n');
      out.append(axis + 1, ' ');
      return;
    }
    if (out.size() - line + 1 + texts_[0].size() >= kLineWidth) {
      out += '\n';
      line = out.size();
      out.append(axis, ' ');
    }
    out += ' ';
  }

  const Array& array_;
  const bool is_cut_;
  std::vector<const std::byte*> elements_;  // those shown, in order
  std::vector<std::string> texts_;
  size_t next_ = 0;
};

}  // namespace

std::string text_of(const Array& array) { return ArrayPrinter(array.on_host()).text(); }

}  // namespace plait
