// Refusals of collective.h.
#include <gtest/gtest.h>

#include "plait/ops/collectives/collective.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/named_axes.h"

#include "refusals.h"

namespace plait {
namespace {

// Calls it for one index of an axis of size three.
std::function<void()> within(const std::function<void()>& call) {
  return [call] {
    NamedAxisScope axis("batch", 3);
    Trace trace("one", Trace::apart);
    axis.set_index(trace.parameter(ir::Type::scalar(DType::i64)));
    call();
  };
}

using AlongNames = Tensor (*)(const Tensor&, const AxisNames&);
const std::vector<Named<AlongNames>> kAlongNames = {
    {"all_reduce_sum", all_reduce_sum},   {"all_reduce_mean", all_reduce_mean},
    {"all_reduce_max", all_reduce_max},   {"all_reduce_min", all_reduce_min},
    {"all_reduce_prod", all_reduce_prod}, {"all_reduce_and", all_reduce_and},
    {"all_reduce_or", all_reduce_or},     {"vary", vary}};

}  // namespace

Refusals refusals_of_collective() {
  Refusals rows;
  for (const auto& [name, function] : kAlongNames) {
    rows.push_back(
        {name, [function] { function(f32(3), "batch"); }, ErrorKind::key, {"`batch`", "no axis"}});
    rows.push_back({name,
                    within([function] { function(f32(3), "rows"); }),
                    ErrorKind::key,
                    {"`rows`", "the open axes are batch"}});
    rows.push_back({name,
                    within([function] { function(f32(3), {"batch", "batch"}); }),
                    kValue,
                    {"`batch`", "twice"}});
    rows.push_back({name,
                    within([function] { function(f32(3), std::vector<std::string>()); }),
                    kValue,
                    {"no axis is named"}});
    if (std::string_view(name) == "vary") continue;
    rows.push_back({name, within([function] { function(keys(3), "batch"); }), kType, {"key"}});
  }
  for (const auto& [name, function] : {kAlongNames[2], kAlongNames[3]}) {
    rows.push_back(
        {name, within([function = function] { function(c64(3), "batch"); }), kType, {"c64"}});
  }
  rows.push_back({"all_reduce_or",
                  within([] { all_reduce_or(f32(3), "batch"); }),
                  kType,
                  {"takes booleans", "f32[3]"}});
  rows.push_back({"axis_index", [] { axis_index("batch"); }, ErrorKind::key, {"`batch`"}});
  rows.push_back({"axis_size", [] { axis_size("batch"); }, ErrorKind::key, {"`batch`"}});
  rows.push_back({"all_gather", [] { all_gather(f32(3), "batch"); }, ErrorKind::key, {"`batch`"}});
  rows.push_back(
      {"reduce_scatter", [] { reduce_scatter(f32(3), "batch"); }, ErrorKind::key, {"`batch`"}});
  rows.push_back({"reduce_scatter",
                  within([] { reduce_scatter(f32(4), "batch"); }),
                  kShape,
                  {"f32[4]", "must have the size 3"}});
  rows.push_back({"reduce_scatter",
                  within([] { reduce_scatter(f32(4), "batch", 0, true); }),
                  kShape,
                  {"f32[4]", "must be divisible by 3"}});
  rows.push_back(
      {"reduce_scatter", within([] { reduce_scatter(f32(3), "batch", 1); }), kIndex, {"1"}});
  rows.push_back(
      {"all_to_all", [] { all_to_all(f32(3), "batch", 0, 0); }, ErrorKind::key, {"`batch`"}});
  rows.push_back({"all_to_all",
                  within([] { all_to_all(f32(4), "batch", 0, 0); }),
                  kShape,
                  {"f32[4]", "must have the size 3"}});
  rows.push_back({"all_to_all", within([] { all_to_all(f32(3), "batch", 0, 1); }), kIndex, {"1"}});
  rows.push_back(
      {"axis_permute", [] { axis_permute(f32(3), "batch", {}); }, ErrorKind::key, {"`batch`"}});
  rows.push_back({"axis_permute",
                  within([] { axis_permute(f32(3), "batch", {{0, 3}}); }),
                  kIndex,
                  {"place 3", "size 3"}});
  rows.push_back({"axis_permute",
                  within([] { axis_permute(f32(3), "batch", {{1, 0}, {1, 2}}); }),
                  kValue,
                  {"place 1 is a source twice"}});
  rows.push_back(
      {"axis_broadcast", [] { axis_broadcast(f32(3), "batch", 0); }, ErrorKind::key, {"`batch`"}});
  rows.push_back({"axis_broadcast",
                  within([] { axis_broadcast(f32(3), "batch", -1); }),
                  kIndex,
                  {"place -1", "size 3"}});
  rows.push_back({"all_gather", within([] { all_gather(f32(3), "batch", 2); }), kIndex, {"2"}});
  rows.push_back({"all_gather", within([] { all_gather(f32(3), "batch", -3); }), kIndex, {"-3"}});
  rows.push_back(
      {"axis_shift", [] { axis_shift(f32(3), "batch", 1); }, ErrorKind::key, {"`batch`"}});
  return rows;
}

TEST(Refusals, OfCollective) { expect_refused(refusals_of_collective()); }

}  // namespace plait
