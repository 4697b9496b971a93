#include "plait/ops/inside/products/contraction_order.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace plait {
namespace {

constexpr size_t kMostSearched = 10;

using Steps = std::vector<std::pair<size_t, size_t>>;

double points_of(LabelSet labels, std::span<const double> sizes) {
  double points = 1;
  for (; labels != 0; labels &= labels - 1) {
    points *= sizes[static_cast<size_t>(std::countr_zero(labels))];
  }
  return points;
}

// Dynamic programming over all subsets of the operands.
class Search {
 public:
  Search(std::span<const LabelSet> operands, LabelSet result, std::span<const double> sizes)
      : count_(operands.size()), contractions_(size_t{1} << count_) {
    const size_t all = contractions_.size() - 1;
    for (size_t subset = 1; subset <= all; ++subset) {
      Contraction& contraction = contractions_[subset];
      LabelSet inside = 0, outside = result;
      for (size_t i = 0; i < count_; ++i) {
        ((subset >> i & 1) != 0 ? inside : outside) |= operands[i];
      }
      contraction.labels = std::has_single_bit(subset) ? inside : inside & outside;
      if (!std::has_single_bit(subset)) contraction.cost = std::numeric_limits<double>::infinity();
      for (size_t part = (subset - 1) & subset; part > subset / 2; part = (part - 1) & subset) {
        const Contraction &a = contractions_[part], &b = contractions_[subset ^ part];
        const double cost = a.cost + b.cost + points_of(a.labels | b.labels, sizes);
        if (cost < contraction.cost || contraction.part == 0) {
          contraction.cost = cost;
          contraction.part = part;
        }
      }
    }
  }

  Steps steps() const {
    Steps steps;
    std::vector<size_t> list;  // the subset that each list entry represents
    for (size_t i = 0; i < count_; ++i) list.push_back(size_t{1} << i);
    add(contractions_.size() - 1, list, steps);
    return steps;
  }

 private:
  struct Contraction {
    LabelSet labels = 0;
    double cost = 0;
    size_t part = 0;
  };

  void add(size_t subset, std::vector<size_t>& list, Steps& steps) const {
    if (std::has_single_bit(subset)) return;
    const size_t part = contractions_[subset].part;
    add(part, list, steps);
    add(subset ^ part, list, steps);
    const auto place = [&](size_t of) {
      return static_cast<size_t>(std::ranges::find(list, of) - list.begin());
    };
    const size_t a = std::min(place(part), place(subset ^ part));
    const size_t b = std::max(place(part), place(subset ^ part));
    steps.emplace_back(a, b);
    list.erase(list.begin() + static_cast<ptrdiff_t>(b));
    list.erase(list.begin() + static_cast<ptrdiff_t>(a));
    list.push_back(subset);
  }

  size_t count_;
  std::vector<Contraction> contractions_;
};

Steps cheapest_first(std::vector<LabelSet> operands, LabelSet result,
                     std::span<const double> sizes) {
  Steps steps;
  while (operands.size() > 1) {
    double least = std::numeric_limits<double>::infinity();
    std::pair<size_t, size_t> best{0, 1};
    for (size_t a = 0; a < operands.size(); ++a) {
      for (size_t b = a + 1; b < operands.size(); ++b) {
        const double cost = points_of(operands[a] | operands[b], sizes);
        if (cost >= least) continue;
        least = cost;
        best = {a, b};
      }
    }
    const auto [a, b] = best;
    LabelSet kept = result;
    for (size_t i = 0; i < operands.size(); ++i) kept |= i == a || i == b ? 0 : operands[i];
    const LabelSet product = (operands[a] | operands[b]) & kept;
    operands.erase(operands.begin() + static_cast<ptrdiff_t>(b));
    operands.erase(operands.begin() + static_cast<ptrdiff_t>(a));
    operands.push_back(product);
    steps.push_back(best);
  }
  return steps;
}

}  // namespace

Steps contraction_order(std::vector<LabelSet> operands, LabelSet result,
                        std::span<const double> sizes) {
  if (operands.size() < 2) return {};
  if (operands.size() > kMostSearched) return cheapest_first(std::move(operands), result, sizes);
  return Search(operands, result, sizes).steps();
}

}  // namespace plait
