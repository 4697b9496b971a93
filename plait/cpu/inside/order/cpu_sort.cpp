// LSD radix sort of keys: every pass is stable. Keys without a permutation are sorted by vector
// instructions where available.
#include "plait/cpu/inside/order/cpu_sort.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/order/order_items.h"
#include "plait/cpu/inside/order/word_sort.h"
#include "plait/cpu/inside/reductions/axis_rows.h"

namespace plait {
namespace {

constexpr int64_t kShort = 256;       // below, comparisons are faster than counting
constexpr int64_t kLong = 1 << 16;    // above, longer digits are faster
constexpr int64_t kWork = 1 << 13;    // elements worth a thread
constexpr int64_t kShared = 1 << 17;  // elements of a row that are worth several threads

// Stable passes over `count` items, by the digits of their keys; returns whichever buffer holds the
// result.
template <class Item, class KeyOf>
class RadixSorter {
 public:
  RadixSorter(int64_t count, int parts)
      : count_(count), parts_(parts), places_(static_cast<size_t>(parts)) {}

  Item* sort(Item* items, Item* spare) {
    constexpr int kKeyBits = 8 * static_cast<int>(sizeof(std::invoke_result_t<KeyOf, Item>));
    digit_bits_ = kKeyBits > 16 && count_ >= kLong ? 11 : 8;
    for (auto& places : places_) places.resize(size_t{1} << digit_bits_);
    for (int shift = 0; shift < kKeyBits; shift += digit_bits_) {
      count_digits(items, shift);
      if (!find_places()) continue;
      move(items, spare, shift);
      std::swap(items, spare);
    }
    return items;
  }

 private:
  auto digits_at(int shift) const {
    return [shift, mask = (size_t{1} << digit_bits_) - 1](const Item& item) {
      return static_cast<size_t>(KeyOf()(item) >> shift) & mask;
    };
  }
  int64_t begin_of(int64_t part) const { return count_ * part / parts_; }

  void for_each_part(FunctionRef<void(int64_t)> body) const {
    if (parts_ == 1) return body(0);
    parallel_chunks(parts_, body);
  }

  void count_digits(const Item* items, int shift) {
    for_each_part([&](int64_t part) {
      std::vector<int64_t>& counted = places_[static_cast<size_t>(part)];
      std::fill(counted.begin(), counted.end(), 0);
      int64_t* counts = counted.data();
      const auto digit_of = digits_at(shift);
      const int64_t end = begin_of(part + 1);
      for (int64_t i = begin_of(part); i < end; ++i) ++counts[digit_of(items[i])];
    });
  }

  // Converts counts to the position of the first item of each part and digit. Returns false if all
  // items have the same digit.
  bool find_places() {
    int64_t place = 0;
    for (size_t digit = 0; digit < places_[0].size(); ++digit) {
      const int64_t before = place;
      for (auto& counts : places_) place += std::exchange(counts[digit], place);
      if (place - before == count_) return false;
    }
    return true;
  }

  void move(const Item* items, Item* to, int shift) {
    for_each_part([&](int64_t part) {
      int64_t* places = places_[static_cast<size_t>(part)].data();
      const auto digit_of = digits_at(shift);
      const int64_t end = begin_of(part + 1);
      for (int64_t i = begin_of(part); i < end; ++i) to[places[digit_of(items[i])]++] = items[i];
    });
  }

  int64_t count_;
  int parts_, digit_bits_ = 8;
  std::vector<std::vector<int64_t>> places_;  // by part and digit
};

struct KeyOfItem {
  template <class Item>
  auto operator()(const Item& item) const {
    return item.key();
  }
};

// Sorts rows of one length, one after another; `threads` share each row.
template <class T>
class RowSorter {
 public:
  using Key = typename OrderKey<T>::Key;

  RowSorter(int64_t length, bool descending, int threads)
      : length_(length), descending_(descending), threads_(threads) {}

  void sort(const T* row, T* values, int64_t* order) {
    if (order == nullptr && key_sort() != nullptr) return sort_values(row, values);
    with_item_type<T>(length_, [&]<class Item>(std::type_identity<Item>) {
      if (length_ <= kShort) return sort_short<Item>(row, values, order);
      if (order == nullptr) return sort_values(row, values);
      sort_items<Item>(row, values, order);
    });
  }

 private:
  template <class Item>
  void sort_short(const T* row, T* values, int64_t* order) {
    std::array<Item, kShort> items;
    make_items(row, items.data(), 0, length_);
    std::sort(items.begin(), items.begin() + length_);
    write(items.data(), row, values, order, 0, length_);
  }

  // Sorts keys only, and converts them back to numbers. Numbers that share a key keep their order.
  void sort_values(const T* row, T* values) {
    Key* keys = scratch<Key>(2);
    share([&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) keys[i] = ordered_key(row[i], descending_);
    });
    const Key* sorted = sorted_keys(keys, keys + length_);
    share([&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) values[i] = OrderKey<T>::number(key_of(sorted[i]));
    });
    for (const Key shared : OrderKey<T>::shared_keys()) restore(row, sorted, shared, values);
  }

  // Null if such keys cannot be sorted by vector instructions.
  static cpu::WordSort key_sort() {
    return std::is_same_v<Key, uint32_t> ? cpu::word_sort() : nullptr;
  }

  const Key* sorted_keys(Key* keys, Key* spare) const {
    if constexpr (std::is_same_v<Key, uint32_t>) {
      if (const auto sort = key_sort()) {
        return WordSorter(sort, threads_).sort(keys, spare, length_);
      }
    }
    return RadixSorter<Key, std::identity>(length_, threads_).sort(keys, spare);
  }

  Key key_of(Key ordered) const { return descending_ ? static_cast<Key>(~ordered) : ordered; }

  void restore(const T* row, const Key* sorted, Key shared, T* values) const {
    const auto range = std::equal_range(sorted, sorted + length_, key_of(shared));
    T* to = values + (range.first - sorted);
    for (T* end = to + (range.second - range.first); to != end; ++row) {
      if (OrderKey<T>::of(*row) == shared) *to++ = *row;
    }
  }

  template <class Item>
  void sort_items(const T* row, T* values, int64_t* order) {
    Item* items = scratch<Item>(2);
    share([&](int64_t begin, int64_t end) { make_items(row, items, begin, end); });
    const Item* sorted =
        RadixSorter<Item, KeyOfItem>(length_, threads_).sort(items, items + length_);
    share([&](int64_t begin, int64_t end) { write(sorted, row, values, order, begin, end); });
  }

  template <class Item>
  void make_items(const T* row, Item* items, int64_t begin, int64_t end) const {
    for (int64_t i = begin; i < end; ++i) items[i] = Item(ordered_key(row[i], descending_), i);
  }

  template <class Item>
  void write(const Item* items, const T* row, T* values, int64_t* order, int64_t begin,
             int64_t end) const {
    for (int64_t i = begin; i < end; ++i) values[i] = element_of(items[i], descending_, row);
    if (order == nullptr) return;
    for (int64_t i = begin; i < end; ++i) order[i] = items[i].index();
  }

  void share(FunctionRef<void(int64_t, int64_t)> body) const {
    if (threads_ == 1) return body(0, length_);
    parallel_for(length_, kWork, body);
  }

  // Memory for rows of items, shared by all rows of the array.
  template <class Item>
  Item* scratch(int64_t rows) {
    if (!scratch_) {
      const auto bytes = rows * length_ * static_cast<int64_t>(sizeof(Item));
      scratch_ = Array::empty(DType::u8, {bytes});
    }
    return reinterpret_cast<Item*>(scratch_.writable_data());
  }

  int64_t length_;
  bool descending_;
  int threads_;
  Array scratch_;
};

template <class T>
void sort_rows(const Array& x, bool descending, T* values, int64_t* order) {
  const int64_t length = x.sizes().back(), rows = x.element_count() / std::max<int64_t>(length, 1);
  const T* elements = reinterpret_cast<const T*>(x.data());
  const auto sort_some = [&](int64_t begin, int64_t end, int threads) {
    RowSorter<T> sorter(length, descending, threads);
    for (int64_t at = begin * length; at < end * length; at += length) {
      sorter.sort(elements + at, values + at, order ? order + at : nullptr);
    }
  };
  if (length >= kShared && rows < 2 * thread_count()) {
    return sort_some(0, rows, thread_count());
  }
  const int64_t grain = std::max<int64_t>(kWork / std::max<int64_t>(length, 1), 1);
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) { sort_some(begin, end, 1); });
}

// Merges equal neighbours.
template <class T>
Different different_in(const Array& sorted, const Array& permutation, bool equal_nan) {
  const auto* elements = reinterpret_cast<const T*>(sorted.data());
  const auto order = permutation.elements<int64_t>();
  std::vector<T> values;
  std::vector<int64_t> counts, first;
  Array inverse = Array::empty(DType::i64, sorted.sizes());
  const std::span<int64_t> which = inverse.writable_elements<int64_t>();
  const auto is_nan = [&](auto key) {
    return OrderKey<T>::is_shared(key) && key == OrderKey<T>::kNaN;
  };
  for (size_t i = 0; i < order.size(); ++i) {
    const auto key = OrderKey<T>::of(elements[i]);
    if (i == 0 || OrderKey<T>::of(elements[i - 1]) != key || (!equal_nan && is_nan(key))) {
      values.push_back(elements[i]);
      counts.push_back(0);
      first.push_back(order[i]);
    }
    ++counts.back();
    which[static_cast<size_t>(order[i])] = static_cast<int64_t>(counts.size()) - 1;
  }
  const auto count = static_cast<int64_t>(values.size());
  Array different = Array::empty(sorted.dtype(), {count});
  std::copy(values.begin(), values.end(), reinterpret_cast<T*>(different.writable_data()));
  return {different, inverse, Array::of(std::span<const int64_t>(counts), {count}),
          Array::of(std::span<const int64_t>(first), {count})};
}

[[noreturn]] void refuse(DType dtype) { throw TypeError("{} has no order", name_of(dtype)); }

}  // namespace

void sort(const Array& x, int64_t axis, bool descending, Array& values, Array* permutation) {
  if (x.element_count() == 0) return;
  const Array rows = dense_rows(x, axis);
  ResultRows value_rows(values, axis);
  std::optional<ResultRows> order_rows;
  if (permutation != nullptr) order_rows.emplace(*permutation, axis);
  with_element_type(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (kHasOrder<T>) {
      sort_rows(rows, descending, value_rows.data<T>(),
                order_rows ? order_rows->data<int64_t>() : nullptr);
    } else {
      refuse(x.dtype());
    }
  });
  value_rows.finish();
  if (order_rows) order_rows->finish();
}

Different different_of(const Array& x, bool equal_nan) {
  Array sorted = Array::empty(x.dtype(), x.sizes());
  Array permutation = Array::empty(DType::i64, x.sizes());
  sort(x, 0, false, sorted, &permutation);
  return with_element_type(x.dtype(), [&]<class T>(std::type_identity<T>) -> Different {
    if constexpr (kHasOrder<T> && !std::is_same_v<T, bool>) {
      return different_in<T>(sorted, permutation, equal_nan);
    } else if constexpr (std::is_same_v<T, bool>) {
      return different_in<uint8_t>(sorted, permutation, equal_nan);
    } else {
      refuse(x.dtype());
    }
  });
}

}  // namespace plait
