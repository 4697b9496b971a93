// The first `count` elements in order. One pass over a row collects candidates, and reduces them to
// `count` when there are twice as many.
#include <algorithm>
#include <span>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/system/thread_team.h"
#include "plait/cpu/inside/order/cpu_sort.h"
#include "plait/cpu/inside/order/order_items.h"
#include "plait/cpu/inside/reductions/axis_rows.h"

namespace plait {
namespace {

constexpr int64_t kLeastRoom = 128;  // so that reductions are rare
constexpr int64_t kWork = 1 << 14;   // elements worth a thread
constexpr int64_t kPiece =
    1 << 17;  // elements of a piece of a long row, whose pieces threads share

template <class T, class Item>
class Candidates {
 public:
  using Key = typename OrderKey<T>::Key;

  Candidates(int64_t count, bool largest) : count_(static_cast<size_t>(count)), largest_(largest) {
    items_.reserve(static_cast<size_t>(std::max(2 * count, kLeastRoom)));
  }

  void clear() {
    items_.clear();
    is_full_ = false;
  }

  // In ascending index order, since an element equal to the last candidate comes after it.
  void add(const T* row, int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Key key = ordered_key(row[i], largest_);
      if (is_full_ && key >= last_) continue;
      items_.emplace_back(key, i);
      if (items_.size() == items_.capacity()) thin_out();
    }
  }
  void add(const Candidates& others) {
    for (const Item& item : others.items_) {
      items_.push_back(item);
      if (items_.size() == items_.capacity()) thin_out();
    }
  }

  std::span<const Item> in_order() {
    thin_out();
    std::sort(items_.begin(), items_.end());
    return items_;
  }

 private:
  void thin_out() {
    if (items_.size() <= count_) return;
    if (count_ > 0) {
      std::nth_element(items_.begin(), items_.begin() + static_cast<ptrdiff_t>(count_) - 1,
                       items_.end());
    }
    items_.resize(count_);
    if (count_ > 0) last_ = items_.back().key();
    is_full_ = true;
  }

  size_t count_;
  bool largest_;
  bool is_full_ = false;  // true if there are `count` candidates; `last_` is the key of the last
                          // one
  Key last_ = 0;
  std::vector<Item> items_;
};

template <class T>
struct Rows {
  const T* x;
  int64_t rows, length, count;
  bool largest;
  T* values;
  int64_t* places;

  template <class Item>
  void write(std::span<const Item> items, int64_t row) const {
    for (size_t i = 0; i < items.size(); ++i) {
      const int64_t to = row * count + static_cast<int64_t>(i);
      values[to] = element_of(items[i], largest, x + row * length);
      places[to] = items[i].index();
    }
  }
};

template <class Item, class T>
void find_in_pieces(const Rows<T>& r, int64_t row) {
  const int64_t pieces = (r.length + kPiece - 1) / kPiece;
  std::vector<Candidates<T, Item>> found;
  for (int64_t i = 0; i < pieces; ++i) found.emplace_back(r.count, r.largest);
  parallel_chunks(pieces, [&](int64_t piece) {
    found[static_cast<size_t>(piece)].add(r.x + row * r.length, piece * kPiece,
                                          std::min((piece + 1) * kPiece, r.length));
  });
  for (size_t i = 1; i < found.size(); ++i) found[0].add(found[i]);
  r.write(found[0].in_order(), row);
}

template <class Item, class T>
void find(const Rows<T>& r) {
  if (r.length >= 4 * kPiece && r.rows < 2 * thread_count() && r.count <= kPiece / 16) {
    for (int64_t row = 0; row < r.rows; ++row) find_in_pieces<Item>(r, row);
    return;
  }
  const int64_t grain = std::max<int64_t>(kWork / std::max<int64_t>(r.length, 1), 1);
  parallel_for(r.rows, grain, [&](int64_t begin, int64_t end) {
    Candidates<T, Item> candidates(r.count, r.largest);
    for (int64_t row = begin; row < end; ++row) {
      candidates.clear();
      candidates.add(r.x + row * r.length, 0, r.length);
      r.write(candidates.in_order(), row);
    }
  });
}

}  // namespace

void topk(const Array& x, int64_t axis, int64_t count, bool largest, Array& values,
          Array& indices) {
  const int64_t length = x.sizes()[static_cast<size_t>(axis)];
  if (count < 0 || count > length) {
    throw ValueError("topk: {} of the {} elements along axis {} of {}{}", count, length, axis,
                     name_of(x.dtype()), text_of_sizes(x.sizes()));
  }
  if (values.element_count() == 0) return;
  const Array rows = dense_rows(x, axis);
  ResultRows value_rows(values, axis), place_rows(indices, axis);
  with_element_type(x.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (kHasOrder<T>) {
      const Rows<T> r{reinterpret_cast<const T*>(rows.data()),
                      x.element_count() / length,
                      length,
                      count,
                      largest,
                      value_rows.data<T>(),
                      place_rows.data<int64_t>()};
      with_item_type<T>(length, [&]<class Item>(std::type_identity<Item>) { find<Item>(r); });
    } else {
      throw TypeError("topk: {} has no order", name_of(x.dtype()));
    }
  });
  value_rows.finish();
  place_rows.finish();
}

}  // namespace plait
