// Parsing of the equation of einsum, and conversion to labelled dimensions.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>

#include "plait/core/error.h"
#include "plait/core/text.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/products/contraction.h"
#include "plait/ops/products/products.h"

namespace plait {
namespace {

constexpr char kDots = '.';  // represents "..." among the letters

struct Equation {
  std::vector<std::string> operands = {""};
  std::string result;
  bool says_result = false;
};

Equation read(std::string_view text) {
  Equation equation;
  std::string* part = &equation.operands[0];
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == ' ') continue;
    if (c == ',' && !equation.says_result) {
      part = &equation.operands.emplace_back();
    } else if (text.substr(at, 2) == "->" && !equation.says_result) {
      ++at;
      equation.says_result = true;
      part = &equation.result;
    } else if (text.substr(at, 3) == "..." && part->find(kDots) == std::string::npos) {
      at += 2;
      *part += kDots;
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      *part += c;
    } else {
      throw ValueError("einsum: unexpected '{}' at position {} of \"{}\"",
                       text.substr(at, end_of_character(text, at) - at), at + 1, text)
          .at(Location::of_caller())
          .hint(
              "expected letters for dimensions, \"...\" once per operand, \",\" between operands, "
              "\"->\"");
    }
  }
  return equation;
}

// The elements of x whose two indices are equal, as a new last dimension. Pads the rows by one
// element and reshapes, so that the diagonal becomes the first column.
Tensor diagonal(const Tensor& x, int64_t first, int64_t second) {
  const Tensor moved = moveaxis(moveaxis(x, first, -1), second > first ? second - 1 : second, -1);
  const Shape shape = moved.shape();
  const Dim size = shape.at(-1);
  const Shape outer(shape.dims().first(shape.rank() - 2));
  Shape flat = outer, rest = outer, rows = outer, result = outer;
  flat.append(size * size);
  rest.append(size);
  rows.append(size);
  rows.append(size + 1);
  result.append(size);
  const Tensor parts[] = {reshape(moved, flat), zeros(rest, x.dtype())};
  return reshape(slice(reshape(concat(parts, -1), rows), -1, {.start = 0, .stop = 1}), result);
}

class Einsum {
 public:
  Einsum(std::string_view text, std::span<const Tensor> operands)
      : text_(text), equation_(read(text)), operands_(operands) {
    if (equation_.operands.size() != operands.size()) {
      throw ValueError("einsum: \"{}\" is for {} operands, {} given", text,
                       equation_.operands.size(), operands.size())
          .at(Location::of_caller());
    }
    for (size_t i = 0; i < operands.size(); ++i) measure(i);
    for (size_t i = 0; i < operands.size(); ++i) label(i);
  }

  Tensor run() {
    const std::vector<Label> result = result_labels();
    std::vector<Labelled> operands;
    for (Labelled& operand : labelled_) operands.push_back(prepared(std::move(operand)));
    return contract(std::move(operands), result);
  }

 private:
  // The number of dimensions that "..." covers in an operand.
  size_t dots_of(size_t operand) const {
    const std::string& letters = equation_.operands[operand];
    const bool has_dots = letters.find(kDots) != std::string::npos;
    const size_t named = letters.size() - (has_dots ? 1 : 0), rank = operands_[operand].rank();
    if (rank < named || (rank > named && !has_dots)) {
      throw ShapeError("einsum: operand {} of \"{}\" does not match {}", operand, text_,
                       operands_[operand].type().text())
          .at(Location::of_caller());
    }
    return rank - named;
  }

  void measure(size_t operand) { dots_ = std::max(dots_, dots_of(operand)); }

  Label label_of(uint32_t name) {
    const auto place = std::ranges::find(names_, name);
    const auto label = static_cast<Label>(place - names_.begin());
    if (place != names_.end()) return label;
    if (label == kMostLabels) {
      throw ValueError("einsum: \"{}\" has more than {} different dimensions", text_, kMostLabels)
          .at(Location::of_caller());
    }
    names_.push_back(name);
    sizes_.push_back(1);
    return label;
  }
  // Names of the dimensions of "...", which are counted from the end.
  static uint32_t dot_name(size_t from_end) { return 256 + static_cast<uint32_t>(from_end); }

  std::vector<Label> labels_of(const std::string& letters, size_t dots) {
    std::vector<Label> labels;
    for (const char letter : letters) {
      if (letter != kDots) labels.push_back(label_of(static_cast<unsigned char>(letter)));
      for (size_t i = dots; letter == kDots && i-- > 0;) labels.push_back(label_of(dot_name(i)));
    }
    return labels;
  }

  void label(size_t operand) {
    Labelled labelled{operands_[operand], labels_of(equation_.operands[operand], dots_of(operand))};
    for (size_t i = 0; i < labelled.labels.size(); ++i) {
      Dim& size = sizes_[labelled.labels[i]];
      const Dim own = labelled.x.shape(static_cast<int64_t>(i));
      if (!same(own, size)) size = common_shape("einsum", Shape{size}, Shape{own})[0];
    }
    labelled_.push_back(std::move(labelled));
  }

  std::vector<Label> result_labels() {
    if (equation_.says_result) {
      const size_t known = names_.size();
      const std::vector<Label> labels = labels_of(equation_.result, dots_);
      for (size_t i = 0; i < labels.size(); ++i) {
        const bool is_twice = std::ranges::count(labels, labels[i]) > 1;
        if (labels[i] < known && !is_twice) continue;
        throw ValueError("einsum: '{}' appears {} in \"{}\"", equation_.result[i],
                         is_twice ? "twice in the result" : "in no operand", text_)
            .at(Location::of_caller());
      }
      return labels;
    }
    std::string all, once;
    for (const std::string& letters : equation_.operands) all += letters;
    for (const char letter : all) {
      if (letter != kDots && std::ranges::count(all, letter) == 1) once += letter;
    }
    std::ranges::sort(once);
    return labels_of(kDots + once, dots_);
  }

  // Removes repeated labels by taking diagonals, and dimensions of size 1 that would be broadcast.
  Labelled prepared(Labelled operand) const {
    for (size_t i = 0; i < operand.labels.size();) {
      const bool broadcasts = same(operand.x.shape(static_cast<int64_t>(i)), Dim(1)) &&
                              !same(sizes_[operand.labels[i]], Dim(1));
      if (!broadcasts) {
        ++i;
        continue;
      }
      operand.x = squeeze(operand.x, static_cast<int64_t>(i));
      operand.labels.erase(operand.labels.begin() + static_cast<ptrdiff_t>(i));
    }
    for (size_t i = 0; i < operand.labels.size();) {
      const Label label = operand.labels[i];
      const auto again = std::find(operand.labels.begin() + static_cast<ptrdiff_t>(i) + 1,
                                   operand.labels.end(), label);
      if (again == operand.labels.end()) {
        ++i;
        continue;
      }
      operand.x = diagonal(operand.x, static_cast<int64_t>(i), again - operand.labels.begin());
      operand.labels.erase(again);
      operand.labels.erase(operand.labels.begin() + static_cast<ptrdiff_t>(i));
      operand.labels.push_back(label);
    }
    return operand;
  }

  std::string_view text_;
  Equation equation_;
  std::span<const Tensor> operands_;
  size_t dots_ = 0;
  std::vector<uint32_t> names_;  // by label: a letter, or a dimension of "..."
  std::vector<Dim> sizes_;       // by label
  std::vector<Labelled> labelled_;
};

}  // namespace

Tensor einsum(std::string_view equation, std::span<const Tensor> operands) {
  const Call call("einsum", operands);
  if (operands.empty())
    throw ValueError("einsum: expected at least one operand").at(Location::of_caller());
  std::vector<DType> dtypes;
  for (const Tensor& operand : operands) dtypes.push_back(operand.dtype());
  const DType dtype = promote(dtypes);
  std::vector<Tensor> promoted;
  for (const Tensor& operand : operands) promoted.push_back(astype(operand, dtype));
  return Einsum(equation, promoted).run();
}

Tensor einsum(std::string_view equation, std::initializer_list<Tensor> operands) {
  return einsum(equation, std::span(operands.begin(), operands.size()));
}

}  // namespace plait
