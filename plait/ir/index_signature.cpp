#include "plait/ir/index_signature.h"

#include <algorithm>
#include <array>
#include <optional>

#include "plait/core/error.h"

namespace plait::ir {

namespace {

using Affine = IndexSignature::Affine;
using Dimension = IndexSignature::Dimension;
using Access = IndexSignature::Access;

bool is_letter(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }

class Reader {
 public:
  Reader(std::string_view text, std::span<const int64_t> ranks,
         const std::map<std::string, Dim>& numbers)
      : text_(text), ranks_(ranks), numbers_(numbers) {}

  IndexSignature read() {
    find_ellipsis_length();
    read_accesses(out_.operands, "->");
    if (out_.operands.size() != ranks_.size()) {
      throw ShapeError("`{}` has {} operands, {} are given", text_, out_.operands.size(),
                       ranks_.size());
    }
    read_accesses(out_.results, "|");
    skip_space();
    if (position_ < text_.size()) out_.reduction = read_reduction();
    std::vector<bool> reduced = out_.reduced();
    auto first = std::find(reduced.begin(), reduced.end(), true);
    if (first != reduced.end() && out_.reduction == Reduction::none) {
      fail("`| sum` or another reduction, since `" + out_.indices[first - reduced.begin()] +
           "` does not appear in a result");
    }
    return std::move(out_);
  }

 private:
  // "..." is the same list of dimensions everywhere; the first operand that has it determines its
  // length.
  void find_ellipsis_length() {
    std::string_view operands = text_.substr(0, text_.find("->"));
    for (size_t operand = 0; operand < ranks_.size(); ++operand) {
      std::string_view access = operands.substr(0, operands.find(','));
      if (access.find("...") != std::string_view::npos) {
        int64_t length = ranks_[operand] - explicit_rank(access);
        if (length < 0 || (ellipsis_ && *ellipsis_ != length)) wrong_rank(operand);
        ellipsis_ = length;
      }
      operands.remove_prefix(std::min(operands.size(), access.size() + 1));
    }
  }

  static int64_t explicit_rank(std::string_view access) {
    int64_t rank = 0;
    int depth = 0;
    for (size_t i = 0; i < access.size(); ++i) {
      bool starts = access[i] == '(' || ((is_letter(access[i]) || is_digit(access[i])) &&
                                         (i == 0 || access[i - 1] == ' ' || access[i - 1] == '?'));
      if (depth == 0 && starts) ++rank;
      depth += (access[i] == '(') - (access[i] == ')');
    }
    return rank;
  }

  [[noreturn]] void wrong_rank(size_t operand) const {
    throw ShapeError("operand {} has rank {}, which does not fit `{}`", operand, ranks_[operand],
                     text_);
  }

  void read_accesses(std::vector<Access>& accesses, std::string_view end) {
    bool operand_side = &accesses == &out_.operands;
    do {
      accesses.push_back(read_access());
      size_t index = accesses.size() - 1;
      if (operand_side && index < ranks_.size() &&
          static_cast<int64_t>(accesses[index].dimensions.size()) != ranks_[index]) {
        wrong_rank(index);
      }
    } while (accept(","));
    if (!accept(end) && (operand_side || position_ < text_.size()))
      fail("`" + std::string(end) + "`");
  }

  Access read_access() {
    Access access;
    while (true) {
      skip_space();
      if (accept("...")) {
        if (!ellipsis_) fail("an operand with `...` before");
        for (int64_t i = 0; i < *ellipsis_; ++i) {
          access.dimensions.push_back({{{{{index(fmt::format("e{}", i))}}}}});
        }
      } else if (accept("(")) {
        access.dimensions.push_back(read_parenthesis());
      } else if (accept("1")) {
        access.dimensions.push_back({});
      } else if (position_ < text_.size() && is_letter(text_[position_])) {
        access.dimensions.push_back({{{{{index(name())}}}}});
      } else {
        return access;
      }
      if (accept("?")) access.guarded = true;
    }
  }

  Dimension read_parenthesis() {
    size_t close = text_.find(')', position_);
    if (close == std::string_view::npos) fail("`)`");
    std::string_view inside = text_.substr(position_, close - position_);
    Dimension dimension;
    if (inside.find_first_of("+-*") != std::string_view::npos) {
      dimension.parts.push_back(read_affine());
    } else {
      while (skip_space(), position_ < close) dimension.parts.push_back({{{index(name())}}});
    }
    if (!accept(")")) fail("`)`");
    return dimension;
  }

  Affine read_affine() {
    Affine affine;
    bool negative = accept("-");
    do {
      read_term(affine, negative);
      negative = accept("-");
    } while (negative || accept("+"));
    return affine;
  }

  void read_term(Affine& affine, bool negative) {
    Dim coefficient = negative ? -1 : 1;
    std::optional<uint32_t> which;
    do {
      skip_space();
      if (position_ < text_.size() && is_digit(text_[position_])) {
        coefficient = coefficient * Dim(digits());
        continue;
      }
      std::string factor = name();
      auto number = numbers_.find(factor);
      if (number != numbers_.end())
        coefficient = coefficient * number->second;
      else if (which)
        fail("one index per term");
      else
        which = index(factor);
    } while (accept("*"));
    if (which)
      affine.terms.push_back({*which, coefficient});
    else
      affine.offset = affine.offset + coefficient;
  }

  Reduction read_reduction() {
    std::string word = name();
    auto names = enumerator_names(Reduction::none);
    auto place = std::find(names.begin(), names.end(), word);
    skip_space();
    if (place == names.end() || position_ < text_.size()) fail("a reduction at the end");
    return static_cast<Reduction>(place - names.begin());
  }

  uint32_t index(const std::string& wanted) {
    auto place = std::find(out_.indices.begin(), out_.indices.end(), wanted);
    if (place == out_.indices.end()) place = out_.indices.insert(place, wanted);
    return static_cast<uint32_t>(place - out_.indices.begin());
  }

  std::string name() {
    skip_space();
    size_t start = position_;
    while (position_ < text_.size() &&
           (is_letter(text_[position_]) || is_digit(text_[position_]))) {
      ++position_;
    }
    if (start == position_ || is_digit(text_[start])) fail("a name");
    return std::string(text_.substr(start, position_ - start));
  }

  int64_t digits() {
    int64_t value = 0;
    while (position_ < text_.size() && is_digit(text_[position_])) {
      value = value * 10 + (text_[position_++] - '0');
      if (value > (int64_t{1} << 40)) fail("a smaller number");
    }
    return value;
  }

  bool accept(std::string_view symbol) {
    skip_space();
    if (!text_.substr(position_).starts_with(symbol)) return false;
    position_ += symbol.size();
    return true;
  }

  void skip_space() {
    while (position_ < text_.size() && text_[position_] == ' ') ++position_;
  }

  [[noreturn]] void fail(std::string_view expected) const {
    throw ParseError("index signature `{}`, column {}: expected {}", text_, position_ + 1,
                     expected);
  }

  std::string_view text_;
  std::span<const int64_t> ranks_;
  const std::map<std::string, Dim>& numbers_;
  size_t position_ = 0;
  std::optional<int64_t> ellipsis_;
  IndexSignature out_;
};

void print(std::string& out, const Affine& affine, const std::vector<std::string>& names) {
  std::string text;
  auto append = [&](const std::string& part) {
    if (!text.empty() && !part.starts_with('-')) text += '+';
    text += part;
  };
  for (const Affine::Term& term : affine.terms) {
    bool plain = same(term.coefficient, Dim(1));
    append(plain ? names[term.index] : term.coefficient.text() + "*" + names[term.index]);
  }
  if (!same(affine.offset, Dim(0)) || text.empty()) append(affine.offset.text());
  out += text;
}

void print(std::string& out, const Access& access, const std::vector<std::string>& names) {
  for (size_t i = 0; i < access.dimensions.size(); ++i) {
    if (i) out += ' ';
    const std::vector<Affine>& parts = access.dimensions[i].parts;
    if (parts.empty()) {
      out += '1';
    } else if (parts.size() == 1 && parts[0].is_index()) {
      out += names[parts[0].terms[0].index];
    } else {
      out += '(';
      for (size_t k = 0; k < parts.size(); ++k) {
        if (k) out += ' ';
        print(out, parts[k], names);
      }
      out += ')';
    }
    if (access.guarded && i + 1 == access.dimensions.size()) out += '?';
  }
}

class Solver {
 public:
  Solver(const IndexSignature& signature, std::span<const Shape> shapes, std::string_view operation,
         const std::map<std::string, Dim>& known)
      : signature_(signature),
        shapes_(shapes),
        operation_(operation),
        sizes_(signature.indices.size()) {
    for (size_t i = 0; i < sizes_.size(); ++i) {
      auto place = known.find(signature.indices[i]);
      if (place != known.end()) sizes_[i] = place->second;
    }
  }

  IndexSpace solve() {
    for_each_dimension([this](const auto&... place) { take_plain(place...); });
    // Each round finds at least one size, or is the last one.
    for (found_ = true; found_;) {
      found_ = false;
      for_each_dimension([this](const auto&... place) { take_compound(place...); });
    }
    for_each_dimension([this](const auto&... place) { check(place...); });
    return finish();
  }

 private:
  template <class Visit>
  void for_each_dimension(Visit visit) {
    for (size_t operand = 0; operand < shapes_.size(); ++operand) {
      const Access& access = signature_.operands[operand];
      for (size_t i = 0; i < access.dimensions.size(); ++i) {
        visit(access, access.dimensions[i], shapes_[operand][i]);
      }
    }
  }

  void take_plain(const Access&, const Dimension& dimension, Dim size) {
    if (dimension.parts.size() != 1 || !dimension.parts[0].is_index()) return;
    uint32_t index = dimension.parts[0].terms[0].index;
    if (sizes_[index] && !same(*sizes_[index], size)) differ(index, *sizes_[index], size);
    sizes_[index] = size;
  }

  // A dimension of several indices determines one of them if the others are known.
  void take_compound(const Access& access, const Dimension& dimension, Dim size) {
    if (access.guarded) return;
    const Affine::Term* unknown = nullptr;
    for (const Affine& part : dimension.parts) {
      for (const Affine::Term& term : part.terms) {
        if (sizes_[term.index]) continue;
        if (unknown) return;
        unknown = &term;
      }
    }
    if (!unknown) return;
    if (dimension.parts.size() == 1) {
      if (unknown->coefficient.is_number() && unknown->coefficient.number() <= 0) return;
      Dim rest = size - 1 - extent(dimension.parts[0], unknown->index);
      sizes_[unknown->index] = floor_div(rest, unknown->coefficient) + 1;
    } else {
      Dim others = 1;
      for (const Affine& part : dimension.parts) {
        if (part.terms[0].index != unknown->index) others = others * *sizes_[part.terms[0].index];
      }
      sizes_[unknown->index] = floor_div(size, others);
    }
    found_ = true;
  }

  void check(const Access&, const Dimension& dimension, Dim size) {
    if (dimension.parts.empty() && !same(size, Dim(1))) {
      throw ShapeError("{}: a dimension of size 1 was expected: {}", operation_, shapes_text());
    }
    if (dimension.parts.size() < 2) return;
    Dim product = 1;
    for (const Affine& part : dimension.parts) product = product * size_of(part.terms[0].index);
    if (!same(product, size)) {
      throw ShapeError("{}: {} does not split into parts of {} in `{}`: {}", operation_,
                       size.text(), product.text(), signature_.text(), shapes_text());
    }
  }

  // The maximum of an affine expression, without the index `left_out`.
  Dim extent(const Affine& affine, std::optional<uint32_t> left_out = {}) {
    Dim total = affine.offset;
    for (const Affine::Term& term : affine.terms) {
      if (term.index != left_out) total = total + term.coefficient * (size_of(term.index) - 1);
    }
    return total;
  }

  Dim size_of(uint32_t index) const {
    if (sizes_[index]) return *sizes_[index];
    throw ValueError("{}: the size of `{}` in `{}` does not follow from {}", operation_,
                     signature_.indices[index], signature_.text(), shapes_text());
  }

  IndexSpace finish() {
    IndexSpace space;
    for (uint32_t i = 0; i < sizes_.size(); ++i) space.sizes.push_back(size_of(i));
    for (const Access& result : signature_.results) {
      std::vector<Dim> dims;
      for (const Dimension& dimension : result.dimensions) {
        Dim size = 1;
        if (dimension.parts.size() == 1)
          size = extent(dimension.parts[0]) + 1;
        else
          for (const Affine& part : dimension.parts) size = size * size_of(part.terms[0].index);
        dims.push_back(size);
      }
      space.result_shapes.emplace_back(dims);
    }
    return space;
  }

  std::string shapes_text() const {
    std::string out;
    for (const Shape& shape : shapes_) out += (out.empty() ? "" : " · ") + shape.text();
    return out;
  }

  [[noreturn]] void differ(uint32_t index, Dim a, Dim b) const {
    throw ShapeError("{}: sizes of `{}` differ: {} ({} ≠ {})", operation_,
                     signature_.indices[index], shapes_text(), a.text(), b.text());
  }

  const IndexSignature& signature_;
  std::span<const Shape> shapes_;
  std::string_view operation_;
  std::vector<std::optional<Dim>> sizes_;
  bool found_ = false;
};

}  // namespace

std::span<const std::string_view> enumerator_names(Reduction) {
  static constexpr std::array<std::string_view, 7> names{"none",    "sum", "product", "maximum",
                                                         "minimum", "all", "any"};
  return names;
}

IndexSignature IndexSignature::parse(std::string_view text, std::span<const int64_t> ranks,
                                     const std::map<std::string, Dim>& numbers) {
  return Reader(text, ranks, numbers).read();
}

std::vector<bool> IndexSignature::reduced() const {
  std::vector<bool> out(indices.size(), true);
  for (const Access& result : results) {
    for (const Dimension& dimension : result.dimensions) {
      for (const Affine& part : dimension.parts) {
        for (const Affine::Term& term : part.terms) out[term.index] = false;
      }
    }
  }
  return out;
}

std::string IndexSignature::text() const {
  std::string out;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (i) out += ", ";
    print(out, operands[i], indices);
  }
  out += " -> ";
  for (size_t i = 0; i < results.size(); ++i) {
    if (i) out += ", ";
    print(out, results[i], indices);
  }
  if (reduction != Reduction::none) {
    out += " | ";
    out += enumerator_names(reduction)[static_cast<size_t>(reduction)];
  }
  return out;
}

IndexSignature IndexSignature::batched(const std::vector<bool>& operands_batched) const {
  IndexSignature out = *this;
  std::string name = "batch";
  while (std::find(indices.begin(), indices.end(), name) != indices.end()) name += '_';
  Dimension batch{{{{{static_cast<uint32_t>(indices.size())}}}}};
  out.indices.push_back(name);
  auto prepend = [&](Access& access) {
    access.dimensions.insert(access.dimensions.begin(), batch);
  };
  for (size_t i = 0; i < operands.size(); ++i) {
    if (operands_batched[i]) prepend(out.operands[i]);
  }
  for (Access& result : out.results) prepend(result);
  return out;
}

Dim IndexSpace::points() const {
  Dim product = 1;
  for (Dim size : sizes) product = product * size;
  return product;
}

IndexSpace solve(const IndexSignature& signature, std::span<const Shape> operands,
                 std::string_view operation, const std::map<std::string, Dim>& known) {
  return Solver(signature, operands, operation, known).solve();
}

}  // namespace plait::ir
