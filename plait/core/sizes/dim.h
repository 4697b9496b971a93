// A size: a number, or an expression over named symbols. One machine word, trivially copyable.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

namespace plait {

class TextReader;

template <class T>
class SymbolMap;

// Expressions are kept in a canonical form and interned for the life of the process, so equal words
// mean equal expressions, and `a == b` is a word comparison. (Expressions that are equal for all
// sizes may still have different canonical forms and compare unequal; see SizeFacts::prove.)
//
// The canonical form is a sum of products of symbols, quotients, maxima and minima. It is valid for
// all symbols ≥ 0, so a replacement of a symbol must be ≥ 0 too. A remainder a % b is a - b*(a//b),
// which text() writes as a % b. A simplification may have a value where the original divides by
// zero (n//m - n//m is 0, (2*n)//n is 2), but never the opposite: code that must refuse a divisor
// of 0 checks it separately (is_nonempty in ops/inside/along.h). Numbers and the values of
// expressions are in [-2^62, 2^62); an expression has at most kMaxParts symbols and numbers.
class Dim {
 public:
  static constexpr int64_t kMaxParts = 1024;

  Dim() = default;                           // 0
  Dim(int64_t number);                       // NOLINT: a number is a size; ValueError beyond ±2^62
  static Dim symbol(std::string_view name);  // [A-Za-z_][A-Za-z0-9_.]*; else ValueError

  bool is_number() const { return (word_ & 1) == 0; }
  bool is_symbol() const;
  // ValueError unless is_number(), or a SizeReader of this thread knows the value (size_reader.h).
  int64_t number() const {
    return is_number() ? static_cast<int64_t>(word_) >> 1 : actual_number();
  }
  std::string_view name() const;  // ValueError unless is_symbol()

  friend Dim operator+(Dim a, Dim b);
  friend Dim operator-(Dim a, Dim b);
  friend Dim operator*(Dim a, Dim b);
  friend Dim operator-(Dim a);
  // True if they are the same expression. Plait itself compares with this.
  friend bool same(Dim a, Dim b) { return a.word_ == b.word_; }
  // Equality for host code: of the actual sizes if they are known (size_reader.h); else of the
  // expressions.
  friend bool operator==(Dim a, Dim b) {
    return same(a, b) || (!are_numbers(a, b) && are_actually_equal(a, b));
  }

  // Visits each symbol once, in a fixed order.
  void for_each_symbol(const std::function<void(Dim symbol)>& visit) const;
  // Simultaneous replacement; symbols not in the map stay.
  Dim substitute(const SymbolMap<Dim>& replacements) const;
  // The value, given one for each symbol; KeyError names a symbol without one. ValueError for a
  // divisor of 0 or an overflow.
  int64_t evaluate(const SymbolMap<int64_t>& sizes) const;

  // "n", "2*n + 1", "(n + 3)//4", "max(m, n)"; parses to the same Dim. Names are in alphabetical
  // order.
  std::string text() const;
  uint64_t hash() const;  // hash of the text: the same in every process
  uint64_t word() const { return word_; }

 private:
  friend class DimTable;
  friend Dim floor_div(Dim a, Dim b);
  friend Dim mod(Dim a, Dim b);
  friend Dim max(Dim a, Dim b);
  friend Dim min(Dim a, Dim b);

  explicit constexpr Dim(uint64_t word, int) : word_(word) {}
  static bool are_numbers(Dim a, Dim b) { return ((a.word_ | b.word_) & 1) == 0; }
  int64_t signed_word() const { return static_cast<int64_t>(word_); }
  [[noreturn]] static void refuse(int64_t number);
  int64_t actual_number() const;
  static bool are_actually_equal(Dim a, Dim b);

  // The slow path of the operators: expressions, and overflow of numbers.
  static Dim add(Dim a, Dim b);
  static Dim subtract(Dim a, Dim b);
  static Dim multiply(Dim a, Dim b);
  static Dim divide(Dim a, Dim b);
  static Dim remainder(Dim a, Dim b);
  static Dim greatest(Dim a, Dim b);
  static Dim least(Dim a, Dim b);

  uint64_t word_ = 0;  // a number n as n << 1, or the address of an interned expression | 1
};

Dim floor_div(Dim a, Dim b);  // rounds towards −∞; ValueError for a literal 0 divisor
Dim mod(Dim a, Dim b);        // sign of the divisor: a == b * floor_div(a, b) + mod(a, b)
Dim max(Dim a, Dim b);
Dim min(Dim a, Dim b);
// Equality of expressions, for algorithms.
inline constexpr auto kSame = [](const auto& a, const auto& b) { return same(a, b); };
inline auto is_same_as(Dim dim) {
  return [dim](Dim other) { return same(dim, other); };
}
// True if both are numbers, and not equal.
inline bool differ(Dim a, Dim b) { return a.is_number() && b.is_number() && !same(a, b); }

// Parses the longest expression. ParseError for malformed text, and beyond 200 levels of nesting.
Dim parse_dim(TextReader& reader);

// Maps the symbols of a function to values. Linear search for few symbols, a hash table for many.
template <class T>
class SymbolMap {
 public:
  SymbolMap() = default;
  SymbolMap(std::initializer_list<std::pair<Dim, T>> entries) {
    for (const auto& [symbol, value] : entries) set(symbol, value);
  }
  void set(Dim symbol, T value);    // replaces an earlier value; ValueError if it is not a symbol
  const T* find(Dim symbol) const;  // null if absent
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  static constexpr size_t kLinearSize = 12;

  size_t index_of(Dim symbol) const;  // in entries_; their number if absent
  size_t slot_of(Dim symbol) const;   // in table_: where it is, or the free place for it
  void grow_table();

  std::vector<std::pair<Dim, T>> entries_;
  // Open addressing: 1 + the index in entries_, 0 if free. Used beyond kLinearSize entries.
  std::vector<uint32_t> table_;
};

}  // namespace plait

// Containers compare expressions.
template <>
struct std::equal_to<plait::Dim> {
  bool operator()(plait::Dim a, plait::Dim b) const { return same(a, b); }
};

template <>
struct std::hash<plait::Dim> {
  size_t operator()(plait::Dim d) const noexcept {  // hash of the word: valid in this process only
    return static_cast<size_t>((d.word() >> 1) * 0x9e3779b97f4a7c15ull);
  }
};

template <>
struct fmt::formatter<plait::Dim> : fmt::formatter<std::string_view> {
  fmt::format_context::iterator format(plait::Dim dim, fmt::format_context& context) const;
};

namespace plait {

inline Dim::Dim(int64_t number) : word_(static_cast<uint64_t>(number) << 1) {
  if (this->number() != number) refuse(number);
}

// The word of a number is twice the number, so the word overflows exactly if the number leaves its
// range.
inline Dim operator+(Dim a, Dim b) {
  int64_t word;
  if (Dim::are_numbers(a, b) && !__builtin_add_overflow(a.signed_word(), b.signed_word(), &word)) {
    return Dim(static_cast<uint64_t>(word), 0);
  }
  return Dim::add(a, b);
}

inline Dim operator-(Dim a, Dim b) {
  int64_t word;
  if (Dim::are_numbers(a, b) && !__builtin_sub_overflow(a.signed_word(), b.signed_word(), &word)) {
    return Dim(static_cast<uint64_t>(word), 0);
  }
  return Dim::subtract(a, b);
}

inline Dim operator-(Dim a) { return Dim() - a; }

inline Dim operator*(Dim a, Dim b) {
  int64_t word;
  if (Dim::are_numbers(a, b) && !__builtin_mul_overflow(a.signed_word(), b.number(), &word)) {
    return Dim(static_cast<uint64_t>(word), 0);
  }
  return Dim::multiply(a, b);
}

inline Dim floor_div(Dim a, Dim b) {
  if (Dim::are_numbers(a, b) && a.signed_word() >= 0 && b.signed_word() > 0) {
    return Dim((a.word_ / b.word_) << 1, 0);
  }
  return Dim::divide(a, b);
}

inline Dim mod(Dim a, Dim b) {
  if (Dim::are_numbers(a, b) && a.signed_word() >= 0 && b.signed_word() > 0) {
    return Dim(a.word_ % b.word_, 0);
  }
  return Dim::remainder(a, b);
}

inline Dim max(Dim a, Dim b) {
  if (Dim::are_numbers(a, b)) return a.signed_word() < b.signed_word() ? b : a;
  return Dim::greatest(a, b);
}

inline Dim min(Dim a, Dim b) {
  if (Dim::are_numbers(a, b)) return a.signed_word() < b.signed_word() ? a : b;
  return Dim::least(a, b);
}

void require_symbol(Dim dim);  // ValueError for anything else

template <class T>
size_t SymbolMap<T>::slot_of(Dim symbol) const {
  const size_t mask = table_.size() - 1;
  size_t slot = std::hash<Dim>()(symbol) >> 16 & mask;
  while (table_[slot] != 0 && !same(entries_[table_[slot] - 1].first, symbol))
    slot = (slot + 1) & mask;
  return slot;
}

template <class T>
size_t SymbolMap<T>::index_of(Dim symbol) const {
  if (!table_.empty()) {
    const uint32_t place = table_[slot_of(symbol)];
    return place == 0 ? entries_.size() : place - 1;
  }
  size_t i = 0;
  while (i < entries_.size() && !same(entries_[i].first, symbol)) ++i;
  return i;
}

template <class T>
void SymbolMap<T>::grow_table() {
  table_.assign(table_.empty() ? 8 * kLinearSize / 3 : 2 * table_.size(), 0);
  for (size_t i = 0; i < entries_.size(); ++i) {
    table_[slot_of(entries_[i].first)] = static_cast<uint32_t>(i + 1);
  }
}

template <class T>
void SymbolMap<T>::set(Dim symbol, T value) {
  require_symbol(symbol);
  const size_t i = index_of(symbol);
  if (i < entries_.size()) {
    entries_[i].second = std::move(value);
    return;
  }
  entries_.emplace_back(symbol, std::move(value));
  if (entries_.size() <= kLinearSize) return;
  if (2 * entries_.size() > table_.size())
    grow_table();
  else
    table_[slot_of(symbol)] = static_cast<uint32_t>(i + 1);
}

template <class T>
const T* SymbolMap<T>::find(Dim symbol) const {
  const size_t i = index_of(symbol);
  return i < entries_.size() ? &entries_[i].second : nullptr;
}

}  // namespace plait
