// A one-element tensor as a number of the host: `if (loss.item() > 3)`. In a jitted function a
// comparison becomes a guard: the record is valid as long as the outcome is the same. Conversion to
// a host number reads the value, and then the host code runs at every call.
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
