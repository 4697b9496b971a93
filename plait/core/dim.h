// A size: a number, or an expression over named sizes. One machine word, trivially copied.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plait {

template <class T>
class SymbolMap;

// Expressions are kept in a canonical form and interned for the life of the process, so equal words mean
// equal expressions, and `a == b` is a word comparison. (Expressions that are equal for all sizes but that
// the canonical form does not bring together compare unequal; see SizeFacts::prove.)
class Dim {
 public:
  Dim() = default;                 // 0
  Dim(int64_t number);             // NOLINT: a number is a size; ValueError beyond ±2^62
  static Dim symbol(std::string_view name);   // [A-Za-z_][A-Za-z0-9_.]*; else ValueError

  bool is_number() const { return (word_ & 1) == 0; }
  bool is_symbol() const;
  int64_t number() const { return static_cast<int64_t>(word_) >> 1; }  // when is_number()
  std::string_view name() const;   // when is_symbol()

  friend Dim operator+(Dim a, Dim b);
  friend Dim operator-(Dim a, Dim b);
  friend Dim operator*(Dim a, Dim b);
  friend Dim operator-(Dim a);
  friend bool operator==(Dim, Dim) = default;

  // Each symbol in it once, in a fixed order.
  void for_each_symbol(const std::function<void(Dim symbol)>& visit) const;
  // Simultaneous replacement; symbols not in the map stay.
  Dim substitute(const SymbolMap<Dim>& replacements) const;
  // The value where each symbol has one; KeyError names a symbol that has none. A divisor of 0 or an
  // overflow is a ValueError.
  int64_t evaluate(const SymbolMap<int64_t>& sizes) const;

  std::string text() const;        // "n", "2*n + 1", "(n + 3)//4", "max(n, m)"; parses back to the same Dim
  uint64_t hash() const;           // depends on the text only: the same in every process
  uint64_t word() const { return word_; }

 private:
  friend class DimTable;
  explicit constexpr Dim(uint64_t word, int) : word_(word) {}
  uint64_t word_ = 0;  // a number n as n << 1, or the address of an interned expression | 1
};

Dim floor_div(Dim a, Dim b);  // rounds towards −∞; ValueError for a literal 0 divisor
Dim mod(Dim a, Dim b);        // sign of the divisor: a == b * floor_div(a, b) + mod(a, b)
Dim max(Dim a, Dim b);
Dim min(Dim a, Dim b);

// Reads the longest expression that starts at text[position] and moves position past it.
// ParseError with the column on malformed text; nesting is bounded (ParseError past 200 levels).
Dim parse_dim(std::string_view text, size_t& position);

// What each of a function's symbols stands for. Few symbols: linear; many: hashed.
template <class T>
class SymbolMap {
 public:
  SymbolMap() = default;
  SymbolMap(std::initializer_list<std::pair<Dim, T>> entries) {
    for (const auto& [symbol, value] : entries) set(symbol, value);
  }
  void set(Dim symbol, T value);
  const T* find(Dim symbol) const;  // nullptr when absent
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<std::pair<Dim, T>> entries_;
  std::vector<uint32_t> table_;  // open addressing over entries_, used past a dozen entries
};

}  // namespace plait

template <>
struct std::hash<plait::Dim> {
  size_t operator()(plait::Dim d) const noexcept {  // by word: fast, valid within this process only
    return static_cast<size_t>((d.word() >> 1) * 0x9e3779b97f4a7c15ull);
  }
};
// STUB-BEGIN
namespace plait {
template <class T> void SymbolMap<T>::set(Dim s, T v){ for(auto&e:entries_) if(e.first==s){e.second=v;return;} entries_.push_back({s,std::move(v)});}
template <class T> const T* SymbolMap<T>::find(Dim s) const{ for(auto&e:entries_) if(e.first==s) return &e.second; return nullptr;}
}
