#include "plait/ops/inside/products/contraction.h"

#include <algorithm>
#include <array>

#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/products/contraction_order.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"

namespace plait {
namespace {

constexpr double kGuess = 64;  // for an unknown size

bool contains(LabelSet set, Label label) { return (set & set_of(label)) != 0; }

Dim size_of(const Labelled& a, Label label) {
  const auto place = std::ranges::find(a.labels, label) - a.labels.begin();
  return a.x.shape(static_cast<int64_t>(place));
}

// Sums over the labels that are not in `kept`.
Labelled summed(const Labelled& a, LabelSet kept) {
  std::vector<int64_t> axes;
  Labelled result;
  for (size_t i = 0; i < a.labels.size(); ++i) {
    if (contains(kept, a.labels[i]))
      result.labels.push_back(a.labels[i]);
    else
      axes.push_back(static_cast<int64_t>(i));
  }
  if (axes.empty()) return a;
  result.x = astype(sum(a.x, axes), a.x.dtype());
  return result;
}

Tensor ordered(const Labelled& a, const std::vector<Label>& labels) {
  std::vector<int64_t> order;
  for (const Label label : labels) {
    order.push_back(std::ranges::find(a.labels, label) - a.labels.begin());
  }
  return std::ranges::is_sorted(order) ? a.x : permute_dims(a.x, order);
}

// Labels of two operands: in both and kept, in both and summed over, in one only.
struct Groups {
  std::vector<Label> both, summed, of_a, of_b;
};

Groups groups_of(const Labelled& a, const Labelled& b, LabelSet kept) {
  Groups groups;
  for (const Label label : a.labels) {
    (!contains(b.set(), label) ? groups.of_a
     : contains(kept, label)   ? groups.both
                               : groups.summed)
        .push_back(label);
  }
  for (const Label label : b.labels) {
    if (!contains(a.set(), label)) groups.of_b.push_back(label);
  }
  return groups;
}

std::vector<Label> joined(std::initializer_list<const std::vector<Label>*> parts) {
  std::vector<Label> all;
  for (const auto* part : parts) all.insert(all.end(), part->begin(), part->end());
  return all;
}

Dim count_of(const Labelled& a, const std::vector<Label>& labels) {
  Dim count = 1;
  for (const Label label : labels) count = count * size_of(a, label);
  return count;
}

void append(Shape& shape, const Labelled& a, const std::vector<Label>& labels) {
  for (const Label label : labels) shape.append(size_of(a, label));
}

// As a stack of matrices: the labels in `both`, then two dimensions that merge `rows` and
// `columns`.
Tensor matrices(const Labelled& a, const std::vector<Label>& both, const std::vector<Label>& rows,
                const std::vector<Label>& columns) {
  Shape shape;
  append(shape, a, both);
  shape.append(count_of(a, rows));
  shape.append(count_of(a, columns));
  return reshape(ordered(a, joined({&both, &rows, &columns})), shape);
}

Labelled multiplied(const Labelled& first, const Labelled& second, LabelSet kept) {
  const Labelled a = summed(first, kept | second.set()), b = summed(second, kept | first.set());
  const Groups groups = groups_of(a, b, kept);
  const std::vector<Label> labels = joined({&groups.both, &groups.of_a, &groups.of_b});
  Shape shape;
  append(shape, a, groups.both);
  append(shape, a, groups.of_a);
  append(shape, b, groups.of_b);
  if (!groups.summed.empty()) {
    const Tensor product = matmul(matrices(a, groups.both, groups.of_a, groups.summed),
                                  matrices(b, groups.both, groups.summed, groups.of_b));
    return {reshape(product, shape), labels};
  }
  Shape of_a, of_b;
  append(of_a, a, groups.both);
  append(of_a, a, groups.of_a);
  append(of_b, b, groups.both);
  for (size_t i = 0; i < groups.of_b.size(); ++i) of_a.append(1);
  for (size_t i = 0; i < groups.of_a.size(); ++i) of_b.append(1);
  append(of_b, b, groups.of_b);
  return {reshape(ordered(a, joined({&groups.both, &groups.of_a})), of_a) *
              reshape(ordered(b, joined({&groups.both, &groups.of_b})), of_b),
          labels};
}

LabelSet set_of_all(const std::vector<Label>& labels) {
  LabelSet set = 0;
  for (const Label label : labels) set |= set_of(label);
  return set;
}

std::array<double, kMostLabels> sizes_of(const std::vector<Labelled>& operands) {
  std::array<double, kMostLabels> sizes;
  sizes.fill(1);
  for (const Labelled& operand : operands) {
    for (const Label label : operand.labels) {
      const Dim size = size_of(operand, label);
      sizes[label] = size.is_number() ? static_cast<double>(size.number()) : kGuess;
    }
  }
  return sizes;
}

}  // namespace

LabelSet Labelled::set() const { return set_of_all(labels); }

Tensor contract(std::vector<Labelled> operands, const std::vector<Label>& result) {
  const LabelSet wanted = set_of_all(result);
  std::vector<LabelSet> sets;
  for (const Labelled& operand : operands) sets.push_back(operand.set());
  for (const auto& [a, b] : contraction_order(sets, wanted, sizes_of(operands))) {
    LabelSet kept = wanted;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (i != a && i != b) kept |= operands[i].set();
    }
    Labelled product = multiplied(operands[a], operands[b], kept);
    operands.erase(operands.begin() + static_cast<ptrdiff_t>(b));
    operands.erase(operands.begin() + static_cast<ptrdiff_t>(a));
    operands.push_back(std::move(product));
  }
  return ordered(summed(operands[0], wanted), result);
}

}  // namespace plait
