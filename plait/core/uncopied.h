// A pointer that a copy of its owner begins without: to what each copy opens for itself.
#pragma once

#include <memory>
#include <utility>

namespace plait {

template <class T>
class Uncopied {
 public:
  Uncopied() = default;
  Uncopied(std::shared_ptr<T> pointer) : pointer_(std::move(pointer)) {}  // NOLINT: a pointer
  ~Uncopied() = default;
  Uncopied(const Uncopied&) {}  // NOLINT: that is what it is for
  Uncopied& operator=(const Uncopied& other) {
    if (this != &other) pointer_ = nullptr;
    return *this;
  }
  Uncopied(Uncopied&&) noexcept = default;
  Uncopied& operator=(Uncopied&&) noexcept = default;

  T* operator->() const { return pointer_.get(); }
  explicit operator bool() const { return pointer_ != nullptr; }

 private:
  std::shared_ptr<T> pointer_;
};

}  // namespace plait
