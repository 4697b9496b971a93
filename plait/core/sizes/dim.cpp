#include "plait/core/sizes/dim.h"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/hash.h"
#include "plait/core/inside/sizes/dim_node.h"
#include "plait/core/inside/sizes/dim_polynomial.h"
#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/core/inside/sizes/size_reader.h"
#include "plait/core/text.h"

namespace plait {

namespace {

ValueError overflow(Dim a, std::string_view sign, Dim b) {
  return ValueError("({}) {} ({}): a number in it is beyond ±2^62", short_text(a), sign,
                    short_text(b));
}

class Substitution {
 public:
  explicit Substitution(const SymbolMap<Dim>& replacements) : replacements_(replacements) {}

  Dim apply(Dim dim) {
    if (dim.is_number() || !concerns(DimTable::node(dim))) return dim;
    if (const auto done = done_.find(dim); done != done_.end()) return done->second;
    const Dim result = replaced(dim, DimTable::node(dim));
    done_.emplace(dim, result);
    return result;
  }

 private:
  bool concerns(const DimNode& node) const {
    return std::ranges::any_of(node.symbols,
                               [&](Dim symbol) { return replacements_.find(symbol) != nullptr; });
  }

  Dim replaced(Dim dim, const DimNode& node) {
    switch (node.kind) {
      case DimKind::symbol: return *replacements_.find(dim);
      case DimKind::sum: return sum(node);
      case DimKind::product: return folded(node, [](Dim a, Dim b) { return a * b; });
      case DimKind::floor_div: return folded(node, [](Dim a, Dim b) { return floor_div(a, b); });
      case DimKind::mod: return folded(node, [](Dim a, Dim b) { return mod(a, b); });
      case DimKind::max: return folded(node, [](Dim a, Dim b) { return max(a, b); });
      case DimKind::min: return folded(node, [](Dim a, Dim b) { return min(a, b); });
    }
    return dim;
  }

  Dim folded(const DimNode& node, Dim (*combine)(Dim, Dim)) {
    Dim result = apply(node.operands[0]);
    for (size_t i = 1; i < node.operands.size(); ++i) {
      result = combine(result, apply(node.operands[i]));
    }
    return result;
  }

  Dim sum(const DimNode& node) {
    Polynomial total;
    for (const Term& term : node.terms) {
      const Dim value = apply(term.base);
      if (!total.add(Polynomial(value), term.coefficient)) {
        throw overflow(value, "*", term.coefficient);
      }
    }
    return total.dim();
  }

  const SymbolMap<Dim>& replacements_;
  std::unordered_map<Dim, Dim> done_;
};

class Evaluation {
 public:
  Evaluation(Dim whole, const SymbolMap<int64_t>& sizes) : whole_(whole), sizes_(sizes) {}

  int64_t run() const {
    const WideInt result = value(whole_);
    if (!fits_a_size(result)) throw beyond();
    return static_cast<int64_t>(result);
  }

 private:
  ValueError beyond() const {
    return ValueError("{}: its value is beyond ±2^62 {}", short_text(whole_), given_sizes());
  }

  std::string given_sizes() const {
    std::string text;
    whole_.for_each_symbol([&](Dim symbol) {
      const int64_t* size = sizes_.find(symbol);
      text += fmt::format("{} {} = {}", text.empty() ? "for" : ",", symbol, size ? *size : 0);
    });
    return text.size() > 200 ? text.substr(0, 200) + "…" : text;
  }

  WideInt value(Dim dim) const {
    if (dim.is_number()) return dim.number();
    const DimNode& node = DimTable::node(dim);
    switch (node.kind) {
      case DimKind::symbol: return size_of(dim);
      case DimKind::sum: return sum(node.shown());
      case DimKind::product: return product(1, node.operands);
      case DimKind::floor_div: return floor_quotient(value(node.operands[0]), divisor(node));
      case DimKind::mod: {
        const WideInt a = value(node.operands[0]), b = divisor(node);
        return a - b * floor_quotient(a, b);
      }
      case DimKind::max:
      case DimKind::min: break;
    }
    WideInt result = value(node.operands[0]);
    for (const Dim member : node.operands) {
      const WideInt other = value(member);
      result = node.kind == DimKind::max ? std::max(result, other) : std::min(result, other);
    }
    return result;
  }

  int64_t size_of(Dim symbol) const {
    const int64_t* size = sizes_.find(symbol);
    if (!size) {
      throw KeyError("{}: the size {} is not known", short_text(whole_), symbol);
    }
    if (*size < 0 || !fits_a_size(*size)) {
      throw ValueError("{} = {}: a size is a number from 0 to 2^62 - 1", symbol, *size);
    }
    return *size;
  }

  WideInt divisor(const DimNode& node) const {
    const WideInt result = value(node.operands[1]);
    if (result == 0) {
      throw ValueError("{}: {} is divided by zero {}", short_text(whole_),
                       short_text(node.operands[0]), given_sizes());
    }
    return result;
  }

  WideInt product(WideInt coefficient, std::span<const Dim> atoms) const {
    WideInt result = coefficient;
    for (const Dim atom : atoms) {
      if (__builtin_mul_overflow(result, value(atom), &result)) throw beyond();
    }
    return result;
  }

  WideInt sum(std::span<const Term> terms) const {
    WideInt result = 0;
    for (const Term& term : terms) {
      const WideInt value = product(term.coefficient, atoms_of(term.base));
      if (__builtin_add_overflow(result, value, &result)) throw beyond();
    }
    return result;
  }

  Dim whole_;
  const SymbolMap<int64_t>& sizes_;
};

}  // namespace

Dim Dim::symbol(std::string_view name) {
  if (!is_name(name)) {
    throw ValueError("\"{}\" cannot name a size", name)
        .hint("a name is letters, digits, _ and ., and begins with a letter or _");
  }
  return DimTable::symbol(name);
}

bool Dim::are_actually_equal(Dim a, Dim b) { return SizeReader::ask_equal(a, b).value_or(false); }

int64_t Dim::actual_number() const {
  if (const auto number = SizeReader::read(*this)) return *number;
  throw ValueError("the size {} is a symbol here, not a number", text())
      .hint("compute with it as a size, or branch with `cond`");
}

void Dim::refuse(int64_t number) { throw ValueError("{} is beyond ±2^62", number); }

bool Dim::is_symbol() const { return is_kind(*this, DimKind::symbol); }

std::string_view Dim::name() const {
  require_symbol(*this);
  return DimTable::node(*this).text;
}

void require_symbol(Dim dim) {
  if (!dim.is_symbol()) throw ValueError("{} is not the name of a size", short_text(dim));
}

Dim Dim::add(Dim a, Dim b) {
  Polynomial sum(a);
  if (!sum.add(Polynomial(b))) throw overflow(a, "+", b);
  return sum.dim();
}

Dim Dim::subtract(Dim a, Dim b) {
  Polynomial difference(a);
  if (!difference.add(Polynomial(b), -1)) throw overflow(a, "-", b);
  return difference.dim();
}

Dim Dim::multiply(Dim a, Dim b) {
  const Polynomial left(a), right(b);
  if (left.terms().size() * right.terms().size() > kMaxParts) {
    throw ValueError("({}) * ({}): a size has more than {} parts", short_text(a), short_text(b),
                     kMaxParts)
        .hint("give a part of it its own name");
  }
  const auto product = left.times(right);
  if (!product) throw overflow(a, "*", b);
  return product->dim();
}

void Dim::for_each_symbol(const std::function<void(Dim symbol)>& visit) const {
  if (is_number()) return;
  for (const Dim symbol : DimTable::node(*this).symbols) visit(symbol);
}

Dim Dim::substitute(const SymbolMap<Dim>& replacements) const {
  return replacements.empty() ? *this : Substitution(replacements).apply(*this);
}

int64_t Dim::evaluate(const SymbolMap<int64_t>& sizes) const {
  return is_number() ? number() : Evaluation(*this, sizes).run();
}

std::string Dim::text() const {
  return is_number() ? fmt::format("{}", number()) : DimTable::node(*this).text;
}

uint64_t Dim::hash() const {
  return is_number() ? mix_bits(static_cast<uint64_t>(number())) : DimTable::node(*this).hash;
}

}  // namespace plait

fmt::format_context::iterator fmt::formatter<plait::Dim>::format(
    plait::Dim dim, fmt::format_context& context) const {
  return fmt::formatter<std::string_view>::format(dim.text(), context);
}
