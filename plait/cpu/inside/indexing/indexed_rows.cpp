#include "plait/cpu/inside/indexing/indexed_rows.h"

#include <algorithm>

#include "plait/core/error.h"

namespace plait {
namespace {

Layout batch_layout(const Array& x, const Array& indices, const GatherAttributes& attributes) {
  Layout layout{indices.sizes(), Sizes(indices.rank(), 0), 0};
  for (size_t i = 0; i < static_cast<size_t>(attributes.batch); ++i) {
    layout.strides[i] = x.layout().strides[i];
  }
  return layout;
}

Layout row_layout(const Array& x, const GatherAttributes& attributes) {
  Layout layout;
  for (auto axis = static_cast<size_t>(attributes.batch); axis < x.rank(); ++axis) {
    if (std::ranges::binary_search(attributes.axes, static_cast<int64_t>(axis))) continue;
    layout.sizes.push_back(x.sizes()[axis]);
    layout.strides.push_back(x.layout().strides[axis]);
  }
  return layout;
}

JointLayout join(std::span<const Array> indices, const Layout& batch) {
  std::vector<const Layout*> layouts;
  for (const Array& array : indices) layouts.push_back(&array.layout());
  layouts.push_back(&batch);
  return JointLayout(layouts);
}

template <class T>
bool is_outside(T index, int64_t size) {
  if constexpr (std::is_signed_v<T>) {
    return index < -size || index >= size;
  } else {
    return index >= static_cast<uint64_t>(size);
  }
}

}  // namespace

IndexedRows::IndexedRows(std::string_view function, const Array& x, std::span<const Array> indices,
                         const GatherAttributes& attributes)
    : function_(function),
      x_(x),
      indices_(indices),
      attributes_(attributes),
      batch_(batch_layout(x, indices[0], attributes)),
      row_(row_layout(x, attributes)),
      joint_(join(indices, batch_)),
      count_(indices[0].element_count()) {}

int64_t IndexedRows::offset_of(const Run& run, size_t layout) const {
  int64_t offset = 0;
  for (size_t i = 0; i < run.place.size(); ++i) offset += run.place[i] * joint_.strides[layout][i];
  return offset;
}

// Calls visit(the first index, the distance between indices).
template <class Visit>
void IndexedRows::for_each_index(const Run& run, size_t i, Visit visit) const {
  const Array& array = indices_[i];
  with_element_type(array.dtype(), [&]<class T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const Sizes& strides = joint_.strides[i];
      visit(reinterpret_cast<const T*>(array.data()) + offset_of(run, i),
            strides.empty() ? 0 : strides.back());
    }
  });
}

bool IndexedRows::add_axis(const Run& run, size_t i) const {
  const auto axis = static_cast<size_t>(attributes_.axes[i]);
  const int64_t size = x_.sizes()[axis];
  const auto stride = static_cast<uint64_t>(x_.layout().strides[axis]);
  bool outside = false;
  for_each_index(run, i, [&]<class T>(const T* indices, int64_t apart) {
    for (int64_t k = 0; k < run.count; ++k) {
      const T index = indices[k * apart];
      outside |= is_outside(index, size);
      // For an index out of range this may wrap around; it is not used then.
      auto place = static_cast<uint64_t>(static_cast<int64_t>(index));
      if constexpr (std::is_signed_v<T>) place += index < 0 ? static_cast<uint64_t>(size) : 0;
      run.offsets[k] = static_cast<int64_t>(static_cast<uint64_t>(run.offsets[k]) + place * stride);
    }
  });
  return outside;
}

void IndexedRows::forget_outside(const Run& run, size_t i) const {
  const int64_t size = x_.sizes()[static_cast<size_t>(attributes_.axes[i])];
  for_each_index(run, i, [&]<class T>(const T* indices, int64_t apart) {
    for (int64_t k = 0; k < run.count; ++k) {
      if (is_outside(indices[k * apart], size)) run.offsets[k] = kNowhere;
    }
  });
}

void IndexedRows::refuse(const Run& run, size_t i) const {
  const int64_t axis = attributes_.axes[i], size = x_.sizes()[static_cast<size_t>(axis)];
  for_each_index(run, i, [&]<class T>(const T* indices, int64_t apart) {
    for (int64_t k = 0; k < run.count; ++k) {
      const T index = indices[k * apart];
      if (!is_outside(index, size)) continue;
      throw IndexError("{}: index {} is out of range for axis {} of {}{}, whose size is {}",
                       function_, index, axis, name_of(x_.dtype()), text_of_sizes(x_.sizes()),
                       size);
    }
  });
  throw IndexError("{}: an index is out of range for axis {}", function_, axis);
}

void IndexedRows::find(int64_t begin, int64_t end, int64_t* offsets) const {
  const size_t rank = joint_.sizes.size(), batch = indices_.size();
  const int64_t inner = rank == 0 ? 1 : joint_.sizes[rank - 1];
  for (int64_t at = begin; at < end;) {
    Run run{Sizes(rank), std::min(inner - at % inner, end - at), offsets + (at - begin)};
    for (size_t i = rank, rest = static_cast<size_t>(at); i-- > 0;) {
      const auto size = static_cast<size_t>(joint_.sizes[i]);
      run.place[i] = static_cast<int64_t>(rest % size);
      rest /= size;
    }
    const int64_t first = offset_of(run, batch);
    const int64_t apart = rank == 0 ? 0 : joint_.strides[batch][rank - 1];
    for (int64_t k = 0; k < run.count; ++k) run.offsets[k] = first + k * apart;
    bool outside = false;
    for (size_t i = 0; i < indices_.size(); ++i) {
      if (!add_axis(run, i)) continue;
      outside = true;
      if (attributes_.outside == Outside::fails) refuse(run, i);
    }
    for (size_t i = 0; outside && i < indices_.size(); ++i) forget_outside(run, i);
    at += run.count;
  }
}

}  // namespace plait
