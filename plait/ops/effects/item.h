// The one number of a tensor as host code has it: `if (loss.item() > 3)`. In a function that is
// jitted a comparison is a guard, and holds where it comes out alike; made a number of the host, it
// is read, and the host code is run at every call.
#pragma once

#include <concepts>
#include <utility>

#include "plait/ops/elementwise/elementwise.h"

namespace plait {

template <class T>
concept HostNumber = std::integral<T> || std::floating_point<T>;

class Item {
 public:
  explicit Item(Tensor tensor) : tensor_(std::move(tensor)) {}

  const Tensor& tensor() const { return tensor_; }
  explicit operator bool() const { return tensor_.truth(); }
  template <HostNumber T>
    requires(!std::same_as<T, bool>)
  operator T() const {  // NOLINT: it is a number
    return tensor_.item<T>();
  }

  friend Item operator-(const Item& a) { return Item(-a.tensor_); }
  friend Item operator+(const Item& a, const Item& b) { return Item(a.tensor_ + b.tensor_); }
  friend Item operator-(const Item& a, const Item& b) { return Item(a.tensor_ - b.tensor_); }
  friend Item operator*(const Item& a, const Item& b) { return Item(a.tensor_ * b.tensor_); }
  friend Item operator/(const Item& a, const Item& b) { return Item(a.tensor_ / b.tensor_); }
  friend bool operator==(const Item& a, const Item& b) { return (a.tensor_ == b.tensor_).truth(); }
  friend bool operator<(const Item& a, const Item& b) { return (a.tensor_ < b.tensor_).truth(); }
  friend bool operator<=(const Item& a, const Item& b) { return (a.tensor_ <= b.tensor_).truth(); }
  friend bool operator>(const Item& a, const Item& b) { return b < a; }
  friend bool operator>=(const Item& a, const Item& b) { return b <= a; }

  template <HostNumber T>
  friend Item operator+(const Item& a, T b) {
    return Item(a.tensor_ + b);
  }
  template <HostNumber T>
  friend Item operator+(T a, const Item& b) {
    return Item(a + b.tensor_);
  }
  template <HostNumber T>
  friend Item operator-(const Item& a, T b) {
    return Item(a.tensor_ - b);
  }
  template <HostNumber T>
  friend Item operator-(T a, const Item& b) {
    return Item(a - b.tensor_);
  }
  template <HostNumber T>
  friend Item operator*(const Item& a, T b) {
    return Item(a.tensor_ * b);
  }
  template <HostNumber T>
  friend Item operator*(T a, const Item& b) {
    return Item(a * b.tensor_);
  }
  template <HostNumber T>
  friend Item operator/(const Item& a, T b) {
    return Item(a.tensor_ / b);
  }
  template <HostNumber T>
  friend Item operator/(T a, const Item& b) {
    return Item(a / b.tensor_);
  }
  template <HostNumber T>
  friend bool operator==(const Item& a, T b) {
    return (a.tensor_ == b).truth();
  }
  template <HostNumber T>
  friend bool operator<(const Item& a, T b) {
    return (a.tensor_ < b).truth();
  }
  template <HostNumber T>
  friend bool operator<=(const Item& a, T b) {
    return (a.tensor_ <= b).truth();
  }
  template <HostNumber T>
  friend bool operator>(const Item& a, T b) {
    return (a.tensor_ > b).truth();
  }
  template <HostNumber T>
  friend bool operator>=(const Item& a, T b) {
    return (a.tensor_ >= b).truth();
  }
  template <HostNumber T>
  friend bool operator<(T a, const Item& b) {
    return b > a;
  }
  template <HostNumber T>
  friend bool operator<=(T a, const Item& b) {
    return b >= a;
  }
  template <HostNumber T>
  friend bool operator>(T a, const Item& b) {
    return b < a;
  }
  template <HostNumber T>
  friend bool operator>=(T a, const Item& b) {
    return b <= a;
  }

 private:
  Tensor tensor_;
};

}  // namespace plait
