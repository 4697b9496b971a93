// Refusals of take.h and embedding.h.
#include <gtest/gtest.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/indexing/embedding.h"
#include "plait/ops/indexing/take.h"

#include "refusals.h"

namespace plait {
namespace {

using Scattering = std::function<void(const Tensor&, int64_t, const Tensor&, const Operand&)>;

const std::vector<Named<Scattering>> kScatters = {
    {"scatter", [](auto& x, auto axis, auto& index, auto& y) { scatter(x, axis, index, y); }},
    {"scatter_add",
     [](auto& x, auto axis, auto& index, auto& y) { scatter_add(x, axis, index, y); }},
    {"scatter_reduce", [](auto& x, auto axis, auto& index,
                          auto& y) { scatter_reduce(x, axis, index, y, ScatterReduction::sum); }},
    {"scatter_reduce",
     [](auto& x, auto axis, auto& index, auto& y) {
       scatter_reduce(x, axis, index, y, ScatterReduction::maximum, false);
     }},
};

void add_scatters(Refusals& rows) {
  for (const auto& [name, f] : kScatters) {
    rows.push_back({name, [f] { f(f32(3), 1, places({0}), 1); }, kIndex, {"axis 1", "f32[3]"}});
    rows.push_back(
        {name, [f] { f(f32(3), 0, f32(1), 1); }, kType, {"f32[1]", "f32[3]", "indices"}});
    rows.push_back({name, [f] { f(f32(3), 0, i64(1, 1), 1); }, kShape, {"i64[1, 1]", "f32[3]"}});
    rows.push_back(
        {name, [f] { f(f32(3, 1), 0, i64(1, 2), 1); }, kShape, {"i64[1, 2]", "f32[3, 1]"}});
    rows.push_back({name, [f] { f(f32(3), 0, places({3}), 1); }, kIndex, {"3", "f32[3]"}});
    rows.push_back({name, [f] { f(f32(3), 0, places({-4}), 1); }, kIndex, {"-4", "f32[3]"}});
    rows.push_back(
        {name, [f] { f(f32(3), 0, places({0, 1}), c64(2)); }, kType, {"c64[2]", "f32[3]"}});
    rows.push_back(
        {name, [f] { f(f32(3), 0, places({0, 1, 2}), f32(2)); }, kShape, {"[2]", "[3]"}});
    rows.push_back({name, [f] { f(keys(3), 0, places({0}), 1); }, kType, {"key[3]"}});
    rows.push_back({name, [f] { f(f32(3), 0, Tensor(), 1); }, kValue, {"never given"}});
  }
}

void add_bags(Refusals& rows) {
  const auto bag = [](const Tensor& ids, const Tensor& table, const EmbeddingBagOptions& options) {
    return [=] { embedding_bag(ids, table, options); };
  };
  const Tensor ids = places({0, 1, 2}), pairs = reshape(places({0, 1, 2, 0}), {2, 2});
  const Tensor table = f32(3, 2);
  const auto from = [](std::initializer_list<int64_t> offsets) {
    return EmbeddingBagOptions{.offsets = places(offsets)};
  };
  const Refusals more = {
      {"embedding_bag", bag(ids, table, {}), kShape, {"i64[3]", "f32[3, 2]"}},
      {"embedding_bag", bag(pairs, table, from({0})), kShape, {"i64[2, 2]"}},
      {"embedding_bag", bag(f32(2, 2), table, {}), kType, {"f32[2, 2]"}},
      {"embedding_bag", bag(pairs, f32(3), {}), kShape, {"f32[3]"}},
      {"embedding_bag", bag(pairs, c64(3, 2), {}), kType, {"c64[3, 2]"}},
      {"embedding_bag", bag(pairs + 3, table, {}), kIndex, {"3", "f32[3, 2]"}},
      {"embedding_bag", bag(ids, table, {.offsets = f32(1)}), kType, {"f32[1]"}},
      {"embedding_bag", bag(ids, table, {.offsets = i64(1, 1)}), kShape, {"i64[1, 1]"}},
      {"embedding_bag", bag(ids, table, from({1})), ErrorKind::check, {"ascend"}, false},
      {"embedding_bag", bag(ids, table, from({0, 2, 1})), ErrorKind::check, {"ascend"}, false},
      {"embedding_bag", bag(ids, table, from({0, 4})), ErrorKind::check, {"ascend"}, false},
      {"embedding_bag", bag(pairs, table, {.include_last_offset = true}), kValue, {"offsets"}},
      {"embedding_bag",
       bag(pairs, table, {.per_sample_weights = f32(2, 2)}),
       kValue,
       {"sums", "i64[2, 2]"}},
      {"embedding_bag",
       bag(pairs, table, {.mode = BagMode::sum, .per_sample_weights = f32(2)}),
       kShape,
       {"f32[2]", "i64[2, 2]"}},
      {"embedding_bag", bag(pairs, table, {.padding_idx = 3}), kIndex, {"3", "f32[3, 2]"}},
      {"embedding_bag", bag(pairs, table, {.padding_idx = -4}), kIndex, {"-4", "f32[3, 2]"}},
      {"embedding_bag", bag(pairs, Tensor(), {}), kValue, {"never given"}},
  };
  rows.insert(rows.end(), more.begin(), more.end());
}

}  // namespace

Refusals refusals_of_take() {
  Refusals rows = {
      {"take", [] { take(f32(3), f32(1)); }, kType, {"indices", "f32[1]", "f32[3]"}},
      {"take", [] { take(f32(3), truths(3)); }, kType, {"indices", "bool[3]"}},
      {"take", [] { take(f32(3), places({3})); }, kIndex, {"3", "f32[3]"}},
      {"take", [] { take(f32(3), places({-4}), 0); }, kIndex, {"-4", "f32[3]"}},
      {"take", [] { take(f32(3), places({0}), 1); }, kIndex, {"axis 1", "f32[3]"}},
      {"take", [] { take(f32(0), places({0})); }, kIndex, {"0", "f32[0]"}},
      {"take_along_axis", [] { take_along_axis(f32(3), f32(3)); }, kType, {"indices", "f32[3]"}},
      {"take_along_axis",
       [] { take_along_axis(f32(3, 2), i64(3)); },
       kShape,
       {"indices", "i64[3]", "f32[3, 2]"}},
      {"take_along_axis",
       [] { take_along_axis(f32(3, 2), i64(2, 2)); },
       kShape,
       {"i64[2, 2]", "f32[3, 2]"}},
      {"take_along_axis", [] { take_along_axis(f32(3), i64(3), 1); }, kIndex, {"axis 1", "f32[3]"}},
      {"take_along_axis", [] { take_along_axis(f32(3), i64(3)); }, kIndex, {"3", "f32[3]"}},
      {"put_along_axis", [] { put_along_axis(f32(3), f32(3), 1); }, kType, {"indices", "f32[3]"}},
      {"put_along_axis",
       [] { put_along_axis(f32(3, 2), i64(4), 1); },
       kShape,
       {"i64[4]", "f32[3, 2]"}},
      {"put_along_axis",
       [] { put_along_axis(f32(3), places({0, 1}), f32(3)); },
       kShape,
       {"i64[2]", "f32[3]"}},
      {"put_along_axis", [] { put_along_axis(f32(3), i64(3), 1); }, kIndex, {"3", "f32[3]"}},
      {"put_along_axis", [] { put_along_axis(f32(3), i64(3), 1, 1); }, kIndex, {"axis 1"}},
      {"put_along_axis",
       [] { put_along_axis(i64(3), places({0}), 1.5); },
       kType,
       {"i64[3]", "number"}},
      {"unravel_index", [] { unravel_index(f32(2), {2, 3}); }, kType, {"f32[2]"}},
      {"unravel_index", [] { unravel_index(i64(6), {2, 3}); }, kIndex, {"i64[6]", "[2, 3]"}},
      {"nonzero", [] { nonzero(f32()); }, kValue, {"f32[]"}},
      {"nonzero", [] { nonzero(keys(2)); }, kType, {"key[2]"}},
      {"argwhere", [] { argwhere(keys(2)); }, kType, {"key[2]"}},
      {"gather", [] { gather(f32(3), 0, f32(1)); }, kType, {"indices", "f32[1]", "f32[3]"}},
      {"gather", [] { gather(f32(3), 1, places({0})); }, kIndex, {"axis 1", "f32[3]"}},
      {"gather", [] { gather(f32(3), 0, i64(1, 1)); }, kShape, {"i64[1, 1]", "f32[3]"}},
      {"gather", [] { gather(f32(3, 1), 0, i64(1, 2)); }, kShape, {"i64[1, 2]", "f32[3, 1]"}},
      {"gather", [] { gather(f32(3), 0, places({3})); }, kIndex, {"3", "f32[3]"}},
      {"scatter_reduce",
       [] { scatter_reduce(i64(3), 0, places({0}), 1, ScatterReduction::mean); },
       kType,
       {"i64[3]", "mean"}},
      {"scatter_reduce",
       [] { scatter_reduce(c64(3), 0, places({0}), 1, ScatterReduction::maximum); },
       kType,
       {"c64[3]"}},
      {"index_add", [] { index_add(f32(3), 0, f32(1), 1); }, kType, {"indices", "f32[1]"}},
      {"index_add", [] { index_add(f32(3), 0, i64(1, 1), 1); }, kShape, {"i64[1, 1]", "vector"}},
      {"index_add", [] { index_add(f32(3), 1, i64(1), 1); }, kIndex, {"axis 1", "f32[3]"}},
      {"index_add", [] { index_add(f32(3), 0, places({3}), 1); }, kIndex, {"3", "f32[3]"}},
      {"index_add", [] { index_add(f32(3), 0, i64(1), f32(2)); }, kShape, {"f32[3]", "f32[2]"}},
      {"index_add", [] { index_add(f32(3), 0, i64(1), c64(1)); }, kType, {"f32[3]", "c64[1]"}},
      {"index_add", [] { index_add(i64(3), 0, places({0}), 1, .5); }, kType, {"i64[3]"}},
      {"masked_fill", [] { masked_fill(f32(3), truths(2), 0); }, kShape, {"f32[3]", "bool[2]"}},
      {"masked_fill",
       [] { masked_fill(f32(3), truths(2, 3), 0); },
       kShape,
       {"f32[3]", "bool[2, 3]"}},
      {"masked_fill", [] { masked_fill(f32(3), truths(3), c64()); }, kType, {"f32[3]", "c64[]"}},
      {"masked_fill", [] { masked_fill(f32(3), keys(3), 0); }, kType, {"f32[3]", "key[3]"}},
      {"masked_fill", [] { masked_fill(f32(3), truths(3), f32(2)); }, kShape, {"f32[3]", "f32[2]"}},
      {"masked_select", [] { masked_select(f32(3), truths(2)); }, kShape, {"f32[3]", "bool[2]"}},
      {"masked_select", [] { masked_select(f32(3), keys(3)); }, kType, {"f32[3]", "key[3]"}},
      {"embedding", [] { embedding(i64(2), f32()); }, kShape, {"i64[2]", "f32[]"}},
      {"embedding", [] { embedding(f32(2), f32(3, 2)); }, kType, {"f32[2]", "f32[3, 2]"}},
      {"embedding", [] { embedding(places({3}), f32(3, 2)); }, kIndex, {"3", "f32[3, 2]"}},
      {"embedding", [] { embedding(places({0}), f32(3, 2), 3); }, kIndex, {"padding", "3"}},
      {"one_hot", [] { one_hot(f32(2), 3); }, kType, {"f32[2]"}},
      {"one_hot", [] { one_hot(places({3}), 3); }, kIndex, {"3", "i64[1]"}},
      {"one_hot", [] { one_hot(places({0}), -1); }, kShape, {"-1", "i64[1]"}},
      {"one_hot", [] { one_hot(places({0}), 3, DType::key); }, kType, {"key"}},
      {"dynamic_slice",
       [] { dynamic_slice(f32(3), f32(1), {0}, {2}); },
       kType,
       {"f32[1]", "f32[3]"}},
      {"dynamic_slice",
       [] { dynamic_slice(f32(3), i64(2), {0}, {2}); },
       kShape,
       {"i64[2]", "f32[3]"}},
      {"dynamic_slice", [] { dynamic_slice(f32(3), i64(1), {1}, {2}); }, kIndex, {"axis 1"}},
      {"dynamic_slice",
       [] { dynamic_slice(f32(3, 3), places({0, 0}), {0, -2}, {1, 1}); },
       kValue,
       {"axis 0", "f32[3, 3]"}},
      {"dynamic_slice",
       [] { dynamic_slice(f32(3), places({2}), {0}, {2}); },
       kIndex,
       {"f32[3]", "i64[1]"}},
      {"dynamic_slice",
       [] { dynamic_slice(f32(3), places({-4}), {0}, {2}); },
       kIndex,
       {"f32[3]", "i64[1]"}},
      {"dynamic_slice", [] { dynamic_slice(f32(3), places({0}), {0}, {-1}); }, kValue, {"-1"}},
      {"slice_update",
       [] { slice_update(f32(3), f32(1, 1), i64(1), {0}); },
       kShape,
       {"f32[3]", "f32[1, 1]"}},
      {"slice_update",
       [] { slice_update(f32(3), f32(2), f32(1), {0}); },
       kType,
       {"f32[3]", "f32[1]"}},
      {"slice_update", [] { slice_update(f32(3), f32(2), i64(1), {1}); }, kIndex, {"axis 1"}},
      {"slice_update", [] { slice_update(f32(3), f32(2), places({2}), {0}); }, kIndex, {"f32[3]"}},
      {"slice_update",
       [] { slice_update(f32(3), c64(1), places({0}), {0}); },
       kType,
       {"f32[3]", "c64[1]"}},
      {"slice_update",
       [] { slice_update(f32(3, 3), f32(1, 2), places({0}), {0}); },
       kShape,
       {"f32[3, 3]", "f32[1, 2]"}},
  };
  add_scatters(rows);
  add_bags(rows);
  return rows;
}

TEST(Refusals, Take) { expect_refused(refusals_of_take()); }

}  // namespace plait
