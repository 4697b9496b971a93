// Prints expressions.
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "plait/core/inside/sizes/dim_node.h"

namespace plait {

namespace {

bool is_quotient(Dim dim) { return is_kind(dim, DimKind::floor_div) || is_kind(dim, DimKind::mod); }

// True if it needs no parentheses as an operand of //: n, 3, max(m, n).
bool stands_alone(Dim dim) {
  if (dim.is_number()) return dim.number() >= 0;
  const DimKind kind = DimTable::node(dim).kind;
  return kind == DimKind::symbol || kind == DimKind::max || kind == DimKind::min;
}

std::string in_parentheses_unless(bool bare, Dim dim) {
  return bare ? dim.text() : "(" + dim.text() + ")";
}

std::string text_of_product(std::span<const Dim> atoms) {
  std::string text;
  for (const Dim atom : atoms) {
    if (!text.empty()) text += '*';
    text += in_parentheses_unless(!is_quotient(atom), atom);
  }
  return text;
}

// Without its sign, which is printed between terms. Unary minus has the precedence of *, so a
// quotient after it needs parentheses.
std::string text_of_term(const Term& term, bool after_unary_minus) {
  std::string number = fmt::to_string(term.coefficient).substr(term.coefficient < 0);
  if (term.base.is_number()) return number;
  const bool bare = !is_quotient(term.base) || (number == "1" && !after_unary_minus);
  const std::string base = in_parentheses_unless(bare, term.base);
  return number == "1" ? base : number + "*" + base;
}

// In the order of the terms, but starting with a positive one if possible: 3 - n.
std::string text_of_sum(std::span<const Term> terms) {
  const auto positive = [](const Term& term) { return term.coefficient > 0; };
  auto first = std::ranges::find_if(terms, positive);
  if (first == terms.end()) first = terms.begin();
  const bool negative = first->coefficient < 0;
  std::string text = (negative ? "-" : "") + text_of_term(*first, negative);
  for (auto term = terms.begin(); term != terms.end(); ++term) {
    if (term == first) continue;
    text += term->coefficient < 0 ? " - " : " + ";
    text += text_of_term(*term, false);
  }
  return text;
}

std::string text_of_call(std::string_view function, std::span<const Dim> members) {
  std::string text(function);
  for (const Dim member : members) {
    text += text.size() == function.size() ? "(" : ", ";
    text += member.text();
  }
  return text + ")";
}

}  // namespace

std::string text_of_node(const DimNode& node) {
  const auto on_both_sides_of = [&](std::string_view sign) {
    const Dim left = node.operands[0], right = node.operands[1];
    return in_parentheses_unless(stands_alone(left), left) + std::string(sign) +
           in_parentheses_unless(stands_alone(right), right);
  };
  switch (node.kind) {
    case DimKind::symbol: return node.text;
    case DimKind::product: return text_of_product(node.operands);
    case DimKind::sum: return text_of_sum(node.shown());
    case DimKind::floor_div: return on_both_sides_of("//");
    case DimKind::mod: return on_both_sides_of("%");
    case DimKind::max: return text_of_call("max", node.operands);
    case DimKind::min: return text_of_call("min", node.operands);
  }
  return {};
}

std::string short_text(Dim dim) {
  constexpr size_t kLongest = 120;
  std::string text = dim.text();
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  return text;
}

}  // namespace plait
