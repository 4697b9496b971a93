#include "plait/data/dataset.h"

#include <cmath>
#include <numeric>

#include "plait/core/error.h"
#include "plait/data/constant_array.h"
#include "plait/data/permutation.h"
#include "plait/ops/indexing/take.h"

namespace plait::data {

void expect_index(int64_t index, int64_t size) {
  if (index >= 0 && index < size) return;
  throw IndexError("the index {} is out of range for a dataset of {} samples", index, size);
}

int64_t expect_equal_sizes(std::span<const int64_t> sizes) {
  if (sizes.empty()) throw ValueError("a dataset needs one tensor or dataset, or more");
  for (size_t i = 1; i < sizes.size(); ++i) {
    if (sizes[i] != sizes[0]) {
      throw ShapeError("part 0 of the dataset has {} samples and part {} has {}, expected the same",
                       sizes[0], i, sizes[i]);
    }
  }
  return sizes[0];
}

int64_t row_count(const Tensor& tensor) {
  const Array& array = tensor.array();
  if (array.rank() > 0) return array.sizes()[0];
  throw ShapeError("a tensor of a dataset is {}, expected an axis of samples",
                   tensor.type().text());
}

Tensor row_of(const Tensor& tensor, int64_t index) {
  const Array& array = constant_array("a row of a dataset", tensor);
  return Tensor(array.view(array.layout().picked(0, index)));
}

Tensor rows_of(const Tensor& tensor, std::span<const int64_t> indices) {
  const Array& array = constant_array("rows of a dataset", tensor);
  Sizes sizes = array.sizes();
  const int64_t size = row_count(tensor);
  for (const int64_t index : indices) expect_index(index, size);
  if (!array.is_on_host()) {
    const auto count = static_cast<int64_t>(indices.size());
    return take(tensor, Tensor(Array::of(indices, {count})), 0);
  }
  sizes[0] = static_cast<int64_t>(indices.size());
  Array rows = Array::empty(array.dtype(), sizes);
  for (size_t i = 0; i < indices.size(); ++i) {
    Array row = rows.view(rows.layout().picked(0, static_cast<int64_t>(i)));
    copy_elements(array.view(array.layout().picked(0, indices[i])), row);
  }
  return Tensor(std::move(rows));
}

std::vector<std::vector<int64_t>> split_indices(int64_t count, std::span<const int64_t> sizes,
                                                const Tensor& key) {
  int64_t sum = 0;
  for (const int64_t size : sizes) {
    if (size < 0) throw ValueError("random_split: a size is {}, expected 0 or more", size);
    sum = size > count - sum ? count + 1 : sum + size;
    if (sum > count) break;
  }
  if (sum != count) {
    throw ValueError("random_split: the sizes do not add up to the {} samples of the dataset",
                     count);
  }
  const Permutation order(count, key);
  std::vector<std::vector<int64_t>> parts;
  int64_t next = 0;
  for (const int64_t size : sizes) {
    std::vector<int64_t>& part = parts.emplace_back(static_cast<size_t>(size));
    for (int64_t& index : part) index = order(next++);
  }
  return parts;
}

std::vector<int64_t> sizes_of_shares(int64_t count, std::span<const double> shares) {
  double sum = 0;
  for (const double share : shares) {
    if (!(share >= 0 && share <= 1)) {
      throw ValueError("random_split: a share is {}, expected 0 to 1", share);
    }
    sum += share;
  }
  if (shares.empty() || std::abs(sum - 1) > 1e-6) {
    throw ValueError("random_split: the shares add up to {}, expected 1", sum);
  }
  std::vector<int64_t> sizes;
  for (const double share : shares) {
    sizes.push_back(static_cast<int64_t>(std::floor(static_cast<double>(count) * share)));
  }
  int64_t left = count - std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  for (size_t i = 0; left > 0; i = (i + 1) % sizes.size(), --left) ++sizes[i];
  return sizes;
}

PartIndex part_at(std::span<const int64_t> ends, int64_t index) {
  expect_index(index, ends.empty() ? 0 : ends.back());
  const auto found = std::ranges::upper_bound(ends, index);
  const auto part = static_cast<size_t>(found - ends.begin());
  return {part, part == 0 ? index : index - ends[part - 1]};
}

}  // namespace plait::data
