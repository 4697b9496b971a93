// Refusals of sort.h.
#include <gtest/gtest.h>

#include "plait/ops/reductions/sort.h"

#include "refusals.h"

namespace plait {
namespace {

using Sorting = std::function<void(const Tensor&, int64_t)>;

const std::vector<Named<Sorting>> kSortings = {
    {"sort", [](const Tensor& x, int64_t axis) { sort(x, axis); }},
    {"argsort", [](const Tensor& x, int64_t axis) { argsort(x, axis); }},
    {"sort_with_indices", [](const Tensor& x, int64_t axis) { sort_with_indices(x, axis); }},
    {"topk", [](const Tensor& x, int64_t axis) { topk(x, 1, axis); }},
    {"partition", [](const Tensor& x, int64_t axis) { partition(x, 0, axis); }},
    {"argpartition", [](const Tensor& x, int64_t axis) { argpartition(x, 0, axis); }},
};

}  // namespace

Refusals refusals_of_sort() {
  Refusals rows = {
      {"topk", [] { topk(f32(2), 3); }, kValue, {"3", "f32[2]"}},
      {"topk", [] { topk(f32(2), -1); }, kValue, {"-1", "f32[2]"}},
      {"partition", [] { partition(f32(2), 2); }, kIndex, {"index 2", "f32[2]"}},
      {"partition", [] { partition(f32(2), -3); }, kIndex, {"index -3", "f32[2]"}},
      {"argpartition", [] { argpartition(f32(2), 2); }, kIndex, {"index 2", "f32[2]"}},
      {"searchsorted",
       [] { searchsorted(f32(2, 3), f32(3, 3)); },
       kShape,
       {"f32[2, 3]", "f32[3, 3]"}},
      {"searchsorted", [] { searchsorted(f32(2, 3), f32(2)); }, kShape, {"f32[2, 3]", "f32[2]"}},
      {"searchsorted", [] { searchsorted(f32(), f32()); }, kShape, {"f32[]"}},
      {"searchsorted", [] { searchsorted(c64(2), f32(2)); }, kType, {"c64[2]", "f32[2]"}},
      {"searchsorted", [] { searchsorted(f32(2), keys(2)); }, kType, {"f32[2]", "key[2]"}},
      {"searchsorted",
       [] { searchsorted(f32(3), f32(2), SearchSide::left, f32(3)); },
       kType,
       {"f32[3]", "sorter"}},
      {"searchsorted",
       [] { searchsorted(f32(3), f32(2), SearchSide::left, i64(3)); },
       kIndex,
       {"f32[3]", "i64[3]"}},
      {"searchsorted",
       [] { searchsorted(f32(3), f32(2), SearchSide::left, i64(2) - 1); },
       kShape,
       {"f32[3]", "i64[2]", "sorter"}},
      {"searchsorted",
       [] { searchsorted(f32(3), f32(2), SearchSide::left, i64(1, 3)); },
       kShape,
       {"f32[3]", "i64[1, 3]"}},
      {"unique", [] { unique(c64(2)); }, kType, {"c64[2]"}},
      {"unique", [] { unique(keys(2)); }, kType, {"key[2]"}},
      {"unique", [] { unique(f32(2), 1); }, kIndex, {"axis 1", "f32[2]"}},
      {"unique", [] { unique(c64(2, 2), 0); }, kType, {"c64[2, 2]"}},
      {"unique", [] { unique(Tensor()); }, kValue, {"never given"}},
  };
  for (const auto& [name, f] : kSortings) {
    rows.push_back({name, [f] { f(f32(2, 3), 2); }, kIndex, {"axis 2", "f32[2, 3]"}});
    rows.push_back({name, [f] { f(f32(2, 3), -3); }, kIndex, {"axis -3", "f32[2, 3]"}});
    rows.push_back({name, [f] { f(f32(), -1); }, kIndex, {"axis -1", "f32[]"}});
    rows.push_back({name, [f] { f(c64(2), 0); }, kType, {"c64[2]"}});
    rows.push_back({name, [f] { f(keys(2), 0); }, kType, {"key[2]"}});
    rows.push_back({name, [f] { f(Tensor(), 0); }, kValue, {"never given"}});
  }
  return rows;
}

TEST(Refusals, Sort) { expect_refused(refusals_of_sort()); }

}  // namespace plait
