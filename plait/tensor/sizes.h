// A short list of integers: sizes, strides, axes. Up to six are stored inline, without an
// allocation.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace plait {

class Sizes {
 public:
  static constexpr size_t kInline = 6;

  Sizes() = default;
  explicit Sizes(size_t count, int64_t value = 0) {
    resize_uninitialized(count);
    std::fill_n(data(), count, value);
  }
  Sizes(std::initializer_list<int64_t> values) : Sizes(std::span(values.begin(), values.size())) {}
  Sizes(std::span<const int64_t> values) {  // NOLINT: a view of the same thing
    resize_uninitialized(values.size());
    std::copy(values.begin(), values.end(), data());
  }
  Sizes(const std::vector<int64_t>& values) : Sizes(std::span(values)) {}  // NOLINT: likewise
  // The inline storage is copied as a whole, which is faster than a loop over count_ elements.
  Sizes(const Sizes& other) : inline_(other.inline_) {
    resize_uninitialized(other.size());
    if (other.heap_) std::copy(other.begin(), other.end(), data());
  }
  Sizes(Sizes&& other) noexcept
      : count_(std::exchange(other.count_, 0)),
        heap_capacity_(other.heap_capacity_),
        inline_(other.inline_),
        heap_(std::move(other.heap_)) {}
  Sizes& operator=(const Sizes& other) {
    if (this == &other) return *this;
    resize_uninitialized(other.size());
    if (heap_ || other.heap_) {
      std::copy(other.begin(), other.end(), data());
    } else {
      inline_ = other.inline_;
    }
    return *this;
  }
  Sizes& operator=(Sizes&& other) noexcept {
    swap(other);
    return *this;
  }
  ~Sizes() = default;

  size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  int64_t* data() { return heap_ ? heap_.get() : inline_.data(); }
  const int64_t* data() const { return heap_ ? heap_.get() : inline_.data(); }
  int64_t& operator[](size_t i) { return data()[i]; }
  int64_t operator[](size_t i) const { return data()[i]; }
  int64_t* begin() { return data(); }
  int64_t* end() { return data() + count_; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + count_; }
  int64_t back() const { return data()[count_ - 1]; }

  void push_back(int64_t value) { insert(count_, value); }
  void insert(size_t place, int64_t value) {
    Sizes longer;
    Sizes& to = count_ < capacity() ? *this : longer;
    if (&to == &longer) {
      longer.reserve(2 * count_);
      std::copy(begin(), end(), longer.data());
    }
    std::copy_backward(data() + place, data() + count_, to.data() + count_ + 1);
    to[place] = value;
    to.count_ = count_ + 1;
    if (&to == &longer) *this = std::move(longer);
  }
  void erase(size_t place) {
    std::copy(begin() + place + 1, end(), begin() + place);
    --count_;
  }

  operator std::span<const int64_t>() const { return {data(), count_}; }  // NOLINT
  friend bool operator==(const Sizes& a, const Sizes& b) {
    if (a.count_ != b.count_) return false;
    const int64_t *x = a.data(), *y = b.data();
    for (size_t i = 0; i < a.count_; ++i) {
      if (x[i] != y[i]) return false;
    }
    return true;
  }

 private:
  size_t capacity() const { return heap_ ? heap_capacity_ : kInline; }
  void reserve(size_t count) {
    if (count <= capacity()) return;
    heap_ = std::make_unique<int64_t[]>(count);
    heap_capacity_ = static_cast<uint32_t>(count);
  }
  void resize_uninitialized(size_t count) {
    reserve(count);
    count_ = static_cast<uint32_t>(count);
  }
  void swap(Sizes& other) noexcept {
    std::swap(count_, other.count_);
    std::swap(heap_capacity_, other.heap_capacity_);
    std::swap(inline_, other.inline_);
    std::swap(heap_, other.heap_);
  }

  uint32_t count_ = 0;
  uint32_t heap_capacity_ = 0;
  std::array<int64_t, kInline> inline_{};
  std::unique_ptr<int64_t[]> heap_;
};

}  // namespace plait
