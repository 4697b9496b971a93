// Refusals of collective.h.
#include <gtest/gtest.h>

#include "plait/ops/collective.h"
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
const std::vector<Named<AlongNames>> kAlongNames = {{"all_reduce_sum", all_reduce_sum},
                                                    {"all_reduce_mean", all_reduce_mean},
                                                    {"all_reduce_max", all_reduce_max},
                                                    {"all_reduce_min", all_reduce_min},
                                                    {"vary", vary}};

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
  rows.push_back({"axis_index", [] { axis_index("batch"); }, ErrorKind::key, {"`batch`"}});
  rows.push_back({"axis_size", [] { axis_size("batch"); }, ErrorKind::key, {"`batch`"}});
  rows.push_back({"all_gather", [] { all_gather(f32(3), "batch"); }, ErrorKind::key, {"`batch`"}});
  rows.push_back({"all_gather", within([] { all_gather(f32(3), "batch", 2); }), kIndex, {"2"}});
  rows.push_back({"all_gather", within([] { all_gather(f32(3), "batch", -3); }), kIndex, {"-3"}});
  rows.push_back(
      {"axis_shift", [] { axis_shift(f32(3), "batch", 1); }, ErrorKind::key, {"`batch`"}});
  return rows;
}

TEST(Refusals, OfCollective) { expect_refused(refusals_of_collective()); }

}  // namespace plait
