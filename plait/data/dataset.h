// Datasets: any type with size() and at(index), or at(index, key), which returns a sample: a tree
// of tensors. Both are called by several threads, so they change nothing. The key is a random key
// of the sample in this epoch, for what is drawn for it.
//
//   struct Squares {
//     int64_t size() const { return 100; }
//     Tensor at(int64_t index) const { return full({}, index * index); }
//   };
//
// Those here are values, and share their data: all of a tree of tensors (TensorDataset), some
// samples of another (Subset, random_split), several one after another (ConcatDataset) or side by
// side (StackDataset), and functions of samples (mapped).
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/data/sample_key.h"
#include "plait/ops/random/random.h"
#include "plait/tensor/tensor.h"

namespace plait::data {

template <class D>
concept TakesKey = requires(const D& dataset, const Tensor& key) { dataset.at(0, key); };

template <class D>
concept Dataset = requires(const D& dataset) {
  { dataset.size() } -> std::convertible_to<int64_t>;
} && (TakesKey<D> || requires(const D& dataset) { dataset.at(0); });

// IndexError unless 0 ≤ index < size.
void expect_index(int64_t index, int64_t size);
int64_t expect_equal_sizes(std::span<const int64_t> sizes);  // returns them

// The sample of a dataset, with its key if the dataset takes one.
template <Dataset D>
auto sample_at(const D& dataset, int64_t index, const Tensor& key) {
  if constexpr (TakesKey<D>) {
    return dataset.at(index, key);
  } else {
    return dataset.at(index);
  }
}

template <Dataset D>
using SampleOf = decltype(sample_at(std::declval<const D&>(), 0, std::declval<const Tensor&>()));

// ---- Tensors.

int64_t row_count(const Tensor& tensor);  // ShapeError for a tensor without axes
Tensor row_of(const Tensor& tensor, int64_t index);
// Copies of the rows with these indices, as one tensor. IndexError if one is out of range.
Tensor rows_of(const Tensor& tensor, std::span<const int64_t> indices);

// The rows of the tensors of a tree, which have one first size. Samples are views. Rows of an array
// in a mapped file (load_npy) are read when they are used.
template <class Tree>
class TensorDataset {
 public:
  explicit TensorDataset(Tree tree) : tree_(std::move(tree)) {
    std::vector<int64_t> sizes;
    for_each_tensor(std::as_const(tree_),
                    [&](const Tensor& tensor) { sizes.push_back(row_count(tensor)); });
    size_ = expect_equal_sizes(sizes);
  }
  template <std::same_as<Tensor>... More>
    requires(sizeof...(More) > 0)
  explicit TensorDataset(Tensor first, More... more)
      : TensorDataset(Tree(std::move(first), std::move(more)...)) {}

  int64_t size() const { return size_; }
  Tree at(int64_t index) const {
    expect_index(index, size_);
    return map_leaves(tree_, [&](const Tensor& tensor) { return row_of(tensor, index); });
  }
  const Tree& tree() const { return tree_; }

 private:
  Tree tree_;
  int64_t size_;
};

// TensorDataset(images, labels) has tuples as samples.
template <std::same_as<Tensor>... More>
  requires(sizeof...(More) > 0)
TensorDataset(Tensor, More...) -> TensorDataset<std::tuple<Tensor, More...>>;

// ---- Parts of datasets.

// These samples of a dataset, in this order.
template <Dataset D>
class Subset {
 public:
  // IndexError for an index that the dataset does not have.
  Subset(D dataset, std::vector<int64_t> indices)
      : Subset(std::make_shared<const D>(std::move(dataset)), std::move(indices)) {}
  Subset(std::shared_ptr<const D> dataset, std::vector<int64_t> indices)
      : dataset_(std::move(dataset)), indices_(std::move(indices)) {
    for (const int64_t index : indices_) expect_index(index, dataset_->size());
  }

  int64_t size() const { return static_cast<int64_t>(indices_.size()); }
  auto at(int64_t index) const
    requires(!TakesKey<D>)
  {
    expect_index(index, size());
    return dataset_->at(indices_[static_cast<size_t>(index)]);
  }
  auto at(int64_t index, const Tensor& key) const
    requires TakesKey<D>
  {
    expect_index(index, size());
    return dataset_->at(indices_[static_cast<size_t>(index)], key);
  }
  const std::vector<int64_t>& indices() const { return indices_; }

 private:
  std::shared_ptr<const D> dataset_;
  std::vector<int64_t> indices_;
};

// The indices of parts of these sizes, in a random order. ValueError unless the sizes add up to
// `count`.
std::vector<std::vector<int64_t>> split_indices(int64_t count, std::span<const int64_t> sizes,
                                                const Tensor& key);
// The sizes of parts with these shares, which add up to 1; what rounding leaves over goes to the
// first parts, one sample each.
std::vector<int64_t> sizes_of_shares(int64_t count, std::span<const double> shares);

// Parts of a dataset with these sizes, chosen at random.
template <Dataset D>
std::vector<Subset<D>> random_split(D dataset, const std::vector<int64_t>& sizes,
                                    const Tensor& key) {
  const auto shared = std::make_shared<const D>(std::move(dataset));
  std::vector<Subset<D>> parts;
  for (std::vector<int64_t>& indices : split_indices(shared->size(), sizes, key)) {
    parts.emplace_back(shared, std::move(indices));
  }
  return parts;
}
template <Dataset D>
std::vector<Subset<D>> random_split(D dataset, const std::vector<double>& shares,
                                    const Tensor& key) {
  const std::vector<int64_t> sizes = sizes_of_shares(dataset.size(), shares);
  return random_split(std::move(dataset), sizes, key);
}

// ---- Several datasets.

// Where an index is among datasets one after another.
struct PartIndex {
  size_t part;
  int64_t index;  // in the part
};
PartIndex part_at(std::span<const int64_t> ends, int64_t index);

// The samples of datasets of one type, one dataset after another.
template <Dataset D>
class ConcatDataset {
 public:
  explicit ConcatDataset(std::vector<D> datasets)
      : datasets_(std::make_shared<const std::vector<D>>(std::move(datasets))) {
    int64_t end = 0;
    for (const D& each : *datasets_) ends_.push_back(end += each.size());
  }

  int64_t size() const { return ends_.empty() ? 0 : ends_.back(); }
  auto at(int64_t index) const
    requires(!TakesKey<D>)
  {
    const PartIndex found = part_at(ends_, index);
    return (*datasets_)[found.part].at(found.index);
  }
  auto at(int64_t index, const Tensor& key) const
    requires TakesKey<D>
  {
    const PartIndex found = part_at(ends_, index);
    return (*datasets_)[found.part].at(found.index, key);
  }

 private:
  std::shared_ptr<const std::vector<D>> datasets_;
  std::vector<int64_t> ends_;
};

// Tuples of the samples of several datasets of one size, each with a key of its own.
template <Dataset... D>
class StackDataset {
 public:
  explicit StackDataset(D... datasets)
      : datasets_(std::make_shared<const std::tuple<D...>>(std::move(datasets)...)) {
    std::vector<int64_t> sizes;
    std::apply([&](const D&... each) { (sizes.push_back(each.size()), ...); }, *datasets_);
    size_ = expect_equal_sizes(sizes);
  }

  int64_t size() const { return size_; }
  auto at(int64_t index) const
    requires(!(TakesKey<D> || ...))
  {
    expect_index(index, size_);
    return std::apply(
        [&](const D&... each) { return std::tuple<SampleOf<D>...>(each.at(index)...); },
        *datasets_);
  }
  auto at(int64_t index, const Tensor& key) const
    requires(TakesKey<D> || ...)
  {
    expect_index(index, size_);
    return [&]<size_t... i>(std::index_sequence<i...>) {
      return std::tuple<SampleOf<D>...>(
          sample_at(std::get<i>(*datasets_), index, key_of_part(key, static_cast<int64_t>(i)))...);
    }(std::index_sequence_for<D...>{});
  }

 private:
  static Tensor key_of_part(const Tensor& key, int64_t part) {
    return tensor_of(fold_in(bits_of(key), part));
  }

  std::shared_ptr<const std::tuple<D...>> datasets_;
  int64_t size_;
};

// ---- Functions of samples.

// function(sample), or function(sample, key) with the random key of the sample.
template <Dataset D, class F>
class MappedDataset {
 public:
  MappedDataset(D dataset, F function)
      : parts_(std::make_shared<const Parts>(std::move(dataset), std::move(function))) {}

  int64_t size() const { return parts_->dataset.size(); }
  auto at(int64_t index) const
    requires(!TakesKey<D> && std::invocable<const F&, SampleOf<D>>)
  {
    return std::invoke(parts_->function, parts_->dataset.at(index));
  }
  auto at(int64_t index, const Tensor& key) const
    requires(TakesKey<D> || !std::invocable<const F&, SampleOf<D>>)
  {
    if constexpr (std::invocable<const F&, SampleOf<D>>) {
      return std::invoke(parts_->function, sample_at(parts_->dataset, index, key));
    } else {  // two keys, so that the function does not draw what the dataset draws
      const Tensor inner = tensor_of(fold_in(bits_of(key), 0));
      return std::invoke(parts_->function, sample_at(parts_->dataset, index, inner), key);
    }
  }

 private:
  struct Parts {
    D dataset;
    F function;
    Parts(D d, F f) : dataset(std::move(d)), function(std::move(f)) {}
  };
  std::shared_ptr<const Parts> parts_;
};

template <Dataset D, class F>
MappedDataset<D, F> mapped(D dataset, F function) {
  return {std::move(dataset), std::move(function)};
}

}  // namespace plait::data
