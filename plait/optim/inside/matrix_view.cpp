#include "plait/optim/inside/matrix_view.h"

#include <set>

#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"

namespace plait::optim {

MatrixView::MatrixView(std::string_view rule, const Tensor& parameter,
                       const std::vector<int64_t>& row_axes,
                       const std::vector<int64_t>& column_axes) {
  const auto rank = static_cast<int64_t>(parameter.rank());
  std::vector<int64_t> named;
  for (const auto* const group : {&row_axes, &column_axes}) {
    for (const int64_t axis : *group) named.push_back(axis < 0 ? axis + rank : axis);
  }
  const std::set<int64_t> all(named.begin(), named.end());
  if (all.size() != named.size() || (!all.empty() && (*all.begin() < 0 || *all.rbegin() >= rank))) {
    throw ValueError(
        "{}: the axes of rows are {} and those of columns {}, expected different axes of {}", rule,
        fmt::join(row_axes, ", "), fmt::join(column_axes, ", "), parameter.type().text())
        .at(Location::of_caller());
  }
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (all.contains(axis)) continue;
    order_.push_back(axis);
    batch_ *= parameter.shape(axis).number();
    has_batch_ = true;
  }
  order_.insert(order_.end(), named.begin(), named.end());
  for (size_t i = 0; i < named.size(); ++i) {
    (i < row_axes.size() ? rows_ : columns_) *= parameter.shape(named[i]).number();
  }
  for (const int64_t axis : order_) moved_.append(parameter.shape(axis));
}

Tensor MatrixView::of(const Tensor& x) const {
  const Shape shape = has_batch_ ? Shape{batch_, rows_, columns_} : Shape{rows_, columns_};
  return reshape(permute_dims(x, order_), shape);
}

Tensor MatrixView::back(const Tensor& matrices) const {
  std::vector<int64_t> places(order_.size());
  for (size_t i = 0; i < order_.size(); ++i) {
    places[static_cast<size_t>(order_[i])] = static_cast<int64_t>(i);
  }
  return permute_dims(reshape(matrices, moved_), places);
}

}  // namespace plait::optim
