// Products of many matrices, and structured matrices.
#include <limits>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/call.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/linalg/linalg.h"
#include "plait/ops/reductions/scan.h"

namespace plait::linalg {
namespace {

constexpr double kGuessedSize = 64;  // for an unknown size

// Matrix chain multiplication: the best split of factors i to j, by dynamic programming over the
// lengths.
class Brackets {
 public:
  explicit Brackets(std::span<const Tensor> factors)
      : factors_(factors), count_(factors.size()), splits_(count_ * count_) {
    for (size_t length = 2; length <= count_; ++length) {
      for (size_t i = 0; i + length <= count_; ++i) choose(i, i + length - 1);
    }
  }
  Tensor product() const { return product(0, count_ - 1); }

 private:
  struct Split {
    double cost = 0;
    size_t last = 0;  // the last factor of the left part
  };

  Split& split(size_t i, size_t j) { return splits_[i * count_ + j]; }
  double size_of(size_t factor, int64_t axis) const {
    const Dim size = factors_[factor].shape(axis);
    return size.is_number() ? static_cast<double>(size.number()) : kGuessedSize;
  }
  void choose(size_t i, size_t j) {
    split(i, j).cost = std::numeric_limits<double>::infinity();
    for (size_t k = i; k < j; ++k) {
      const double cost = split(i, k).cost + split(k + 1, j).cost +
                          size_of(i, -2) * size_of(k, -1) * size_of(j, -1);
      if (cost < split(i, j).cost) split(i, j) = {cost, k};
    }
  }
  Tensor product(size_t i, size_t j) const {
    if (i == j) return factors_[i];
    const size_t last = splits_[i * count_ + j].last;
    return matmul(product(i, last), product(last + 1, j));
  }

  std::span<const Tensor> factors_;
  size_t count_;
  std::vector<Split> splits_;
};

}  // namespace

Tensor multi_dot(std::span<const Tensor> factors) {
  const Call call("multi_dot", factors);
  if (factors.size() < 2) {
    throw ValueError("multi_dot: {} factors, expected 2 or more", factors.size())
        .at(Location::of_caller());
  }
  std::vector<Tensor> all(factors.begin(), factors.end());
  const bool is_row = all.front().rank() == 1, is_column = all.back().rank() == 1;
  if (is_row) all.front() = expand_dims(all.front(), 0);
  if (is_column) all.back() = expand_dims(all.back(), 1);
  for (size_t i = 0; i < all.size(); ++i) {
    if (all[i].rank() < 2) {
      throw ShapeError("multi_dot: factor {} is not a matrix, but {}", i, factors[i].type().text())
          .at(Location::of_caller());
    }
  }
  Tensor product = Brackets(all).product();
  if (is_column) product = squeeze(product, -1);
  return is_row ? squeeze(product, is_column ? -1 : -2) : product;
}

Tensor vander(const Tensor& x, std::optional<int64_t> count, bool increasing) {
  const Call call("vander", x);
  if (x.rank() == 0) {
    throw ShapeError("vander: x is a scalar, {}", x.type().text()).at(Location::of_caller());
  }
  if (count && *count < 0) {
    throw ValueError("vander: {} powers, expected 0 or more", *count).at(Location::of_caller());
  }
  const Dim powers = count ? Dim(*count) : x.shape(-1);
  Shape shape = x.shape();
  shape.append(powers);
  const Tensor is_first = iota(powers) == 0;
  const Tensor factors = where(is_first, 1, broadcast_to(expand_dims(x, -1), shape));
  const Tensor result = cumprod(factors, -1);
  return increasing ? result : flip(result, -1);
}

Tensor toeplitz(const Tensor& column, const Tensor& row) {
  const Call call("toeplitz", column, row);
  const Tensor above = row ? row : conj(column);
  for (const Tensor* each : {&column, &above}) {
    if (each->rank() > 0) continue;
    throw ShapeError("toeplitz: an operand is a scalar, {}", each->type().text())
        .at(Location::of_caller());
  }
  const Dim m = column.shape(-1), n = above.shape(-1);
  // The last to the second element of the row, then the column.
  const Tensor both[] = {flip(slice(above, -1, {.start = 1}), -1), column};
  const Tensor places = expand_dims(iota(m), 1) + Operand(n - 1) - iota(n);
  return take(concat(both, -1), places, -1);
}

Tensor block_diag(std::span<const Tensor> blocks) {
  const Call call("block_diag", blocks);
  if (blocks.empty())
    throw ValueError("block_diag: expected at least one matrix").at(Location::of_caller());
  std::vector<Tensor> all(blocks.begin(), blocks.end());
  Dim columns = 0;
  for (Tensor& each : all) {
    while (each.rank() < 2) each = expand_dims(each, 0);
    columns = columns + each.shape(-1);
  }
  Dim before = 0;
  for (Tensor& each : all) {
    const Dim own = each.shape(-1);
    each = pad_zeros(each, -1, before, columns - before - own);
    before = before + own;
  }
  return concat(all, -2);
}

}  // namespace plait::linalg
