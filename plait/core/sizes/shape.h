// The sizes of an array, in order. Up to six dimensions are stored inline, without an allocation.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/core/sizes/dim.h"

namespace plait {

class SizeContext;

class Shape {
 public:
  static constexpr size_t kInlineRank = 6;

  Shape() = default;  // rank 0: a scalar
  Shape(std::initializer_list<Dim> dims) : Shape(std::span(dims.begin(), dims.size())) {}
  explicit Shape(std::span<const Dim> dims);
  static Shape of_sizes(std::span<const int64_t> sizes);

  Shape(const Shape& other) : Shape(other.dims()) {}
  Shape(Shape&& other) noexcept;
  Shape& operator=(const Shape& other);
  Shape& operator=(Shape&& other) noexcept;
  ~Shape() = default;

  size_t rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  std::span<const Dim> dims() const { return {data(), rank_}; }
  const Dim* begin() const { return data(); }
  const Dim* end() const { return data() + rank_; }

  Dim operator[](size_t i) const {
    if (i >= rank_) refuse_index(static_cast<int64_t>(i));
    return data()[i];
  }
  Dim at(int64_t i) const { return data()[index_of(i)]; }  // negative: from the end
  void set(int64_t i, Dim dim) { data()[index_of(i)] = dim; }
  void append(Dim dim);
  // Normalises an index that may be negative; IndexError if it is out of range.
  size_t index_of(int64_t i) const;

  bool is_static() const;                 // all sizes are numbers
  std::vector<int64_t> to_sizes() const;  // ValueError unless is_static()
  Dim element_count() const;
  Shape substitute(const SymbolMap<Dim>& sizes) const;
  std::vector<int64_t> evaluate(const SymbolMap<int64_t>& sizes) const;

  std::string text() const;  // "[n, 784]"
  uint64_t hash() const;     // hash of the text: the same in every process
  friend bool same(const Shape& a, const Shape& b);
  friend bool operator==(const Shape& a, const Shape& b);  // as sizes are compared by host code

 private:
  const Dim* data() const { return heap_ ? heap_.get() : inline_.data(); }
  Dim* data() { return heap_ ? heap_.get() : inline_.data(); }
  [[noreturn]] void refuse_index(int64_t i) const;

  uint32_t rank_ = 0;
  uint32_t capacity_ = kInlineRank;
  std::array<Dim, kInlineRank> inline_{};
  std::unique_ptr<Dim[]> heap_;  // holds all sizes if there are more than kInlineRank
};

// The strides in elements of a contiguous row-major array.
std::vector<Dim> contiguous_strides(const Shape& shape);
std::vector<int64_t> contiguous_strides(std::span<const int64_t> sizes);

// Broadcasting as in NumPy: shapes are aligned at the end, and a literal 1 is repeated. For two
// different expressions the context decides whether they are equal or one is 1: from its facts or
// from the actual sizes (which records a guard). Without actual sizes they are taken to be equal,
// which is checked on entry. Otherwise ShapeError, with the context unchanged.
Shape broadcast(const Shape& a, const Shape& b, SizeContext& context);

}  // namespace plait

template <>
struct std::hash<plait::Shape> {
  size_t operator()(const plait::Shape& shape) const noexcept;  // valid in this process only
};

template <>
struct fmt::formatter<plait::Shape> : fmt::formatter<std::string_view> {
  fmt::format_context::iterator format(const plait::Shape& shape,
                                       fmt::format_context& context) const;
};
