// A header that Debian's libgloo-dev leaves out, although its other headers include it. Members of
// Gloo's classes have these types: each holds one pointer, and libgloo has the functions that use
// them.
#pragma once

#include <memory>

namespace gloo {

template <class T>
class NonOwningPtr final {
  std::shared_ptr<T> pointer_;
};

template <class T>
class ShareableNonOwningPtr;

template <class T>
class WeakNonOwningPtr final {
 public:
  WeakNonOwningPtr() = default;
  explicit WeakNonOwningPtr(const ShareableNonOwningPtr<T>& shared) : pointer_(shared.pointer_) {}

 private:
  std::weak_ptr<T> pointer_;
};

template <class T>
class ShareableNonOwningPtr final {
 public:
  ShareableNonOwningPtr(const ShareableNonOwningPtr&) = delete;
  ShareableNonOwningPtr& operator=(const ShareableNonOwningPtr&) = delete;

 private:
  friend class WeakNonOwningPtr<T>;
  std::shared_ptr<T> pointer_;
};

}  // namespace gloo
