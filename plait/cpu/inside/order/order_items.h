// Items to sort: the key of an element (order_key.h) and its index. All items are distinct, so
// every sorting algorithm gives the same result.
#pragma once

#include <compare>
#include <cstdint>

#include "plait/cpu/inside/order/order_key.h"

namespace plait {

// For keys of up to 32 bits, and rows shorter than 2^32.
template <class Key>
class NarrowItem {
 public:
  NarrowItem() = default;
  NarrowItem(Key key, int64_t index)
      : word_(static_cast<uint64_t>(key) << 32 | static_cast<uint32_t>(index)) {}

  Key key() const { return static_cast<Key>(word_ >> 32); }
  int64_t index() const { return static_cast<uint32_t>(word_); }
  friend auto operator<=>(NarrowItem, NarrowItem) = default;

 private:
  uint64_t word_;
};

template <class Key>
class WideItem {
 public:
  WideItem() = default;
  WideItem(Key key, int64_t index) : key_(key), index_(index) {}

  Key key() const { return key_; }
  int64_t index() const { return index_; }
  friend auto operator<=>(const WideItem&, const WideItem&) = default;

 private:
  Key key_;
  int64_t index_;
};

// Calls visit(std::type_identity<Item>{}) with the item type for rows of T of this length.
template <class T, class Visit>
void with_item_type(int64_t length, Visit&& visit) {
  using Key = typename OrderKey<T>::Key;
  if constexpr (sizeof(Key) <= 4) {
    if (length < int64_t{1} << 32) return visit(std::type_identity<NarrowItem<Key>>{});
  }
  visit(std::type_identity<WideItem<Key>>{});
}

// The key by which elements are sorted in ascending order.
template <class T>
typename OrderKey<T>::Key ordered_key(T x, bool descending) {
  using Key = typename OrderKey<T>::Key;
  const Key key = OrderKey<T>::of(x);
  return descending ? static_cast<Key>(~key) : key;
}

// The element of a row that an item represents; in most cases computed from the key.
template <class T, class Item>
T element_of(const Item& item, bool descending, const T* row) {
  using Key = typename OrderKey<T>::Key;
  const Key key = descending ? static_cast<Key>(~item.key()) : item.key();
  return OrderKey<T>::is_shared(key) ? row[item.index()] : OrderKey<T>::number(key);
}

}  // namespace plait
