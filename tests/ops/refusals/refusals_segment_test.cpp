// Refusals of segment.h, sets.h, reinterpret.h, unfold.h.
#include <gtest/gtest.h>

#include "plait/ops/arrays/reinterpret.h"
#include "plait/ops/indexing/segment.h"
#include "plait/ops/neural/unfold.h"
#include "plait/ops/reductions/sets.h"

#include "refusals.h"

namespace plait {
namespace {

using SegmentFunction = Tensor (*)(const Tensor&, const Tensor&, std::optional<Dim>);
const std::vector<Named<SegmentFunction>> kSegmentFunctions = {{"segment_sum", segment_sum},
                                                               {"segment_prod", segment_prod},
                                                               {"segment_mean", segment_mean},
                                                               {"segment_max", segment_max},
                                                               {"segment_min", segment_min}};
using RaggedFunction = Tensor (*)(const Tensor&, const Tensor&, const Tensor&);
const std::vector<Named<RaggedFunction>> kRaggedFunctions = {{"ragged_dot", ragged_dot},
                                                             {"ragged_outer", ragged_outer}};

void add_segments(Refusals& rows) {
  for (const auto& [name, f] : kSegmentFunctions) {
    rows.push_back({name, [f] { f(f32(2), f32(2), 2); }, kType, {"ids", "f32[2]"}});
    rows.push_back({name, [f] { f(keys(2), i64(2), 2); }, kType, {"key[2]"}});
    rows.push_back({name, [f] { f(f32(2), i64(3), 2); }, kShape, {"f32[2]", "i64[3]"}});
    rows.push_back({name, [f] { f(f32(2, 2), i64(2, 2), 2); }, kShape, {"i64[2, 2]"}});
    rows.push_back({name, [f] { f(f32(), i64(1), 2); }, kShape, {"f32[]"}});
    rows.push_back({name, [f] { f(f32(2), i64(2), 2); }, kIndex, {"f32[2]", "i64[2]"}});
    rows.push_back({name, [f] { f(f32(2), -i64(2), 9); }, kIndex, {"f32[2]", "i64[2]"}});
    rows.push_back({name, [f] { f(f32(2), i64(2), -1); }, kShape, {"-1", "f32[2]"}});
    rows.push_back({name, [f] { f(Tensor(), i64(2), 2); }, kValue, {"never given"}});
  }
  rows.push_back({"segment_max", [] { segment_max(c64(2), i64(2)); }, kType, {"c64[2]"}});
  rows.push_back({"segment_min", [] { segment_min(c64(2), i64(2)); }, kType, {"c64[2]"}});
}

void add_ragged(Refusals& rows) {
  for (const auto& [name, f] : kRaggedFunctions) {
    rows.push_back({name, [f] { f(f32(2, 3), keys(2, 3), i64(1)); }, kType, {"key[2, 3]"}});
    rows.push_back({name, [f] { f(f32(2), f32(1, 2, 3), i64(1)); }, kShape, {"f32[2]"}});
    rows.push_back({name, [f] { f(f32(2, 3), f32(), i64(1)); }, kShape, {"f32[]"}});
  }
  const auto dot = [](const Tensor& sizes) { ragged_dot(f32(2, 3), f32(2, 3, 4), sizes); };
  rows.push_back({"ragged_dot", [=] { dot(f32(2)); }, kType, {"f32[2]"}});
  rows.push_back({"ragged_dot", [=] { dot(i64(3)); }, kShape, {"i64[3]"}});
  rows.push_back({"ragged_dot", [=] { dot(i64(2)); }, kValue, {"group 1 has 2 rows", "1 of 2"}});
  rows.push_back({"ragged_dot", [=] { dot(-i64(2)); }, kValue, {"group 0 has -1 rows"}});
  rows.push_back({"ragged_dot",
                  [] { ragged_dot(f32(2, 3), f32(2, 4, 3), i64(2)); },
                  kShape,
                  {"f32[2, 3]", "f32[2, 4, 3]", "3 ≠ 4"}});
  const auto outer = [](const Tensor& sizes) { ragged_outer(f32(2, 3), f32(2, 4), sizes); };
  rows.push_back({"ragged_outer", [=] { outer(f32(2)); }, kType, {"f32[2]"}});
  rows.push_back({"ragged_outer", [=] { outer(i64(2)); }, kValue, {"group 1 has 2 rows"}});
  rows.push_back({"ragged_outer",
                  [] { ragged_outer(f32(2, 3), f32(3, 4), i64(1)); },
                  kShape,
                  {"f32[2, 3]", "f32[3, 4]"}});
}

void add_sets(Refusals& rows) {
  rows.insert(rows.end(), {{"isin", [] { isin(keys(2), keys(2)); }, kType, {"key[2]"}},
                           {"isin", [] { isin(f32(2), Tensor()); }, kValue, {"never given"}},
                           {"unique_all", [] { unique_all(keys(2)); }, kType, {"key[2]"}},
                           {"unique_counts", [] { unique_counts(keys(2)); }, kType, {"key[2]"}},
                           {"unique_inverse", [] { unique_inverse(keys(2)); }, kType, {"key[2]"}},
                           {"unique_values", [] { unique_values(keys(2)); }, kType, {"key[2]"}}});
}

void add_reinterpretations(Refusals& rows) {
  rows.insert(
      rows.end(),
      {{"contiguous", [] { contiguous(Tensor()); }, kValue, {"never given"}},
       {"as_strided", [] { as_strided(f32(6), {2, 2}, {1}); }, kShape, {"1 strides", "[2, 2]"}},
       {"as_strided", [] { as_strided(f32(6), {2, 3}, {3, 1}, 1); }, kIndex, {"6 elements"}},
       {"as_strided", [] { as_strided(f32(6), {3}, {-2}, 3); }, kIndex, {"[-2]", "6 elements"}},
       {"as_strided", [] { as_strided(f32(0), {}, {}); }, kIndex, {"0 elements"}},
       {"view_dtype", [] { view_dtype(keys(2), DType::u64); }, kType, {"key[2]"}},
       {"view_dtype",
        [] { view_dtype(counted(DType::f64, {2}), DType::key); },
        kType,
        {"f64[2]", "key"}},
       {"view_dtype", [] { view_dtype(f32(2), DType::boolean); }, kType, {"f32[2]", "bool"}},
       {"view_dtype", [] { view_dtype(f32(3), DType::f64); }, kShape, {"f32[3]", "8 bytes"}},
       {"view_dtype", [] { view_dtype(f32(), DType::f16); }, kShape, {"f32[]"}}});
}

void add_unfoldings(Refusals& rows) {
  rows.insert(
      rows.end(),
      {{"unfold", [] { unfold(f32(4, 4), 2); }, kShape, {"f32[4, 4]", "channels"}},
       {"unfold", [] { unfold(f32(1, 4, 4), 5); }, kShape, {"window of 5", "4"}},
       {"unfold", [] { unfold(f32(1, 4, 4), 2, {.dilation = 4}); }, kShape, {"window of 2", "4"}},
       {"unfold", [] { unfold(f32(1, 4, 4), 0); }, kValue, {"window"}},
       {"unfold", [] { unfold(f32(1, 4, 4), {1, 2, 3}); }, kValue, {"window"}},
       {"unfold", [] { unfold(f32(1, 4, 4), 2, {.stride = 0}); }, kValue, {"stride"}},
       {"unfold", [] { unfold(f32(1, 4, 4), 2, {.padding = -1}); }, kValue, {"padding"}},
       {"fold", [] { fold(f32(4), {4, 4}, 2); }, kShape, {"f32[4]"}},
       {"fold", [] { fold(f32(4, 9), {4}, 2); }, kValue, {"1 sizes"}},
       {"fold", [] { fold(f32(4, 8), {4, 4}, 2); }, kShape, {"f32[4, 8]", "9"}},
       {"fold", [] { fold(f32(5, 9), {4, 4}, 2); }, kShape, {"f32[5, 9]", "4"}},
       {"fold", [] { fold(f32(4, 9), {1, 4}, 2); }, kShape, {"window of 2", "1"}},
       {"fold", [] { fold(f32(4, 9), {4, 4}, 2, {.dilation = 0}); }, kValue, {"dilation"}}});
}

}  // namespace

Refusals refusals_of_segment() {
  Refusals rows;
  add_segments(rows);
  add_ragged(rows);
  add_sets(rows);
  add_reinterpretations(rows);
  add_unfoldings(rows);
  return rows;
}

TEST(Refusals, OfSegments) { expect_refused(refusals_of_segment()); }

}  // namespace plait
