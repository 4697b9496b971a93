// Refusals of reduce.h, scan.h, statistics.h.
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "plait/ops/elementwise/curves.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/reductions/statistics.h"

#include "refusals.h"

namespace plait {
namespace {

using Reduction = std::function<Tensor(const Tensor&, const Axes&)>;

const std::vector<Named<Reduction>> kReductions = {
    {"sum", [](const Tensor& x, const Axes& a) { return sum(x, a); }},
    {"sum_of_squares", [](const Tensor& x, const Axes& a) { return sum_of_squares(x, a); }},
    {"prod", [](const Tensor& x, const Axes& a) { return prod(x, a); }},
    {"max", [](const Tensor& x, const Axes& a) { return max(x, a); }},
    {"min", [](const Tensor& x, const Axes& a) { return min(x, a); }},
    {"all", [](const Tensor& x, const Axes& a) { return all(x, a); }},
    {"any", [](const Tensor& x, const Axes& a) { return any(x, a); }},
    {"mean", [](const Tensor& x, const Axes& a) { return mean(x, a); }},
    {"var", [](const Tensor& x, const Axes& a) { return var(x, a); }},
    {"stddev", [](const Tensor& x, const Axes& a) { return stddev(x, a); }},
    {"logsumexp", [](const Tensor& x, const Axes& a) { return logsumexp(x, a); }},
    {"norm", [](const Tensor& x, const Axes& a) { return norm(x, 2, a); }},
    {"norm", [](const Tensor& x, const Axes& a) { return norm(x, 0, a); }},
    {"norm", [](const Tensor& x, const Axes& a) { return norm(x, INFINITY, a); }},
    {"count_nonzero", [](const Tensor& x, const Axes& a) { return count_nonzero(x, a); }},
    {"nansum", [](const Tensor& x, const Axes& a) { return nansum(x, a); }},
    {"nanprod", [](const Tensor& x, const Axes& a) { return nanprod(x, a); }},
    {"nanmax", [](const Tensor& x, const Axes& a) { return nanmax(x, a); }},
    {"nanmin", [](const Tensor& x, const Axes& a) { return nanmin(x, a); }},
    {"nanvar", [](const Tensor& x, const Axes& a) { return nanvar(x, a); }},
    {"nanstd", [](const Tensor& x, const Axes& a) { return nanstd(x, a); }},
    {"nanmean", [](const Tensor& x, const Axes& a) { return nanmean(x, a); }},
};

using Scan = Tensor (*)(const Tensor&, int64_t, bool);
const std::vector<Named<Scan>> kScans = {{"cumsum", cumsum},
                                         {"cumprod", cumprod},
                                         {"cummax", cummax},
                                         {"cummin", cummin},
                                         {"logcumsumexp", logcumsumexp}};

void add_reductions(Refusals& rows) {
  for (const auto& [name, f] : kReductions) {
    rows.push_back({name, [f] { f(f32(2, 3), 2); }, kIndex, {"axis 2", "f32[2, 3]"}});
    rows.push_back({name, [f] { f(f32(2, 3), -3); }, kIndex, {"axis -3", "f32[2, 3]"}});
    rows.push_back(
        {name, [f] { f(f32(2, 3), {0, -2}); }, kValue, {"axis 0", "twice", "f32[2, 3]"}});
    rows.push_back({name, [f] { f(f32(), 0); }, kIndex, {"axis 0", "f32[]"}});
    rows.push_back({name, [f] { f(keys(2), {}); }, kType, {"key[2]"}});
    rows.push_back({name, [f] { f(Tensor(), {}); }, kValue, {"never given"}});
  }
  for (const auto& [name, f] : kReductions) {
    const std::string given = name;
    const std::set<std::string> ordered = {"max", "min", "logsumexp", "nanmax", "nanmin"};
    if (!ordered.contains(given)) continue;
    rows.push_back({name, [f] { f(c64(2), {}); }, kType, {"c64[2]"}});
  }
  for (const auto& [name, f] : kScans) {
    rows.push_back({name, [f] { f(f32(2, 3), 2, false); }, kIndex, {"axis 2", "f32[2, 3]"}});
    rows.push_back({name, [f] { f(f32(2, 3), -3, true); }, kIndex, {"axis -3", "f32[2, 3]"}});
    rows.push_back({name, [f] { f(f32(), 0, false); }, kIndex, {"axis 0", "f32[]"}});
    rows.push_back({name, [f] { f(keys(2), 0, false); }, kType, {"key[2]"}});
  }
}

}  // namespace

Refusals refusals_of_reduce() {
  Refusals rows = {
      {"max", [] { max(f32(2, 0)); }, kValue, {"f32[2, 0]", "axis 1"}},
      {"min", [] { min(f32(2, 0), 1); }, kValue, {"f32[2, 0]", "axis 1"}},
      {"norm", [] { norm(f32(0), INFINITY); }, kValue, {"f32[0]", "axis 0"}},
      {"norm", [] { norm(f32(2), NAN); }, kValue, {"order", "f32[2]"}},
      {"var", [] { var(f32(2), {}, NAN); }, kValue, {"correction", "f32[2]"}},
      {"stddev", [] { stddev(f32(2), {}, NAN); }, kValue, {"correction", "f32[2]"}},
      {"argmax", [] { argmax(f32(2, 3), 2); }, kIndex, {"axis 2", "f32[2, 3]"}},
      {"argmax", [] { argmax(f32(2, 0), 1); }, kValue, {"f32[2, 0]"}},
      {"argmax", [] { argmax(f32(0)); }, kValue, {"f32[0]"}},
      {"argmax", [] { argmax(c64(2)); }, kType, {"c64[2]"}},
      {"argmin", [] { argmin(f32(2, 3), -3); }, kIndex, {"axis -3", "f32[2, 3]"}},
      {"argmin", [] { argmin(f32(2, 0), 1); }, kValue, {"f32[2, 0]"}},
      {"argmin", [] { argmin(keys(2)); }, kType, {"key[2]"}},
      {"widened", [] { widened(Tensor()); }, kValue, {"never given"}},

      {"cummax", [] { cummax(c64(2), 0); }, kType, {"c64[2]"}},
      {"cummin", [] { cummin(c64(2), 0); }, kType, {"c64[2]"}},
      {"logcumsumexp", [] { logcumsumexp(c64(2), 0); }, kType, {"c64[2]"}},
      {"linear_recurrence",
       [] { linear_recurrence(f32(2), f32(3), 0); },
       kShape,
       {"f32[2]", "f32[3]"}},
      {"linear_recurrence",
       [] { linear_recurrence(f32(2), f32(2), 1); },
       kIndex,
       {"axis 1", "f32[2]"}},
      {"linear_recurrence", [] { linear_recurrence(keys(2), f32(2), 0); }, kType, {"key[2]"}},
      {"shifted", [] { shifted(f32(2), 1, false, 0); }, kIndex, {"axis 1", "f32[2]"}},
      {"shifted", [] { shifted(f32(2), 0, false, f32(3)); }, kShape, {"f32[2]", "f32[3]"}},
      {"shifted", [] { shifted(keys(2), 0, false, 0); }, kType, {"key[2]"}},

      {"median", [] { median(f32(2), 1); }, kIndex, {"axis 1", "f32[2]"}},
      {"median", [] { median(f32(0)); }, kValue, {"f32[0]"}},
      {"median", [] { median(c64(2)); }, kType, {"c64[2]"}},
      {"quantile", [] { quantile(f32(2), .5, 1); }, kIndex, {"axis 1", "f32[2]"}},
      {"quantile", [] { quantile(f32(2), 1.5); }, kValue, {"1.5", "f32[2]"}},
      {"quantile", [] { quantile(f32(2), 2); }, kValue, {"2", "f32[2]"}},
      {"quantile", [] { quantile(f32(2), -1); }, kValue, {"-1", "f32[2]"}},
      {"quantile", [] { quantile(f32(2), NAN); }, kValue, {"nan", "f32[2]"}},
      {"quantile", [] { quantile(f32(2), f32(1, 1)); }, kShape, {"f32[2]", "f32[1, 1]"}},
      {"quantile", [] { quantile(f32(2), f32(3)); }, kValue, {"2", "f32[2]"}},
      {"quantile", [] { quantile(f32(2), c64(1)); }, kType, {"c64[1]"}},
      {"quantile", [] { quantile(f32(0), .5); }, kValue, {"f32[0]"}},
      {"quantile", [] { quantile(c64(2), .5); }, kType, {"c64[2]"}},
      {"nanmedian", [] { nanmedian(f32(0)); }, kValue, {"f32[0]"}},
      {"nanmedian", [] { nanmedian(f32(2), 1); }, kIndex, {"axis 1", "f32[2]"}},
      {"nanmedian", [] { nanmedian(c64(2)); }, kType, {"c64[2]"}},
      {"nanquantile", [] { nanquantile(f32(2), 2); }, kValue, {"2", "f32[2]"}},
      {"nanquantile", [] { nanquantile(f32(2), f32(1, 1)); }, kShape, {"f32[1, 1]"}},
      {"nanquantile", [] { nanquantile(f32(2), c64(1)); }, kType, {"c64[1]"}},
      {"nanvar", [] { nanvar(f32(2), {}, NAN); }, kValue, {"correction"}},
      {"nanstd", [] { nanstd(f32(2), {}, NAN); }, kValue, {"correction"}},
      {"cov", [] { cov(f32(2, 2, 2)); }, kShape, {"f32[2, 2, 2]"}},
      {"cov", [] { cov(f32(2), NAN); }, kValue, {"correction"}},
      {"cov", [] { cov(keys(2)); }, kType, {"key[2]"}},
      {"corrcoef", [] { corrcoef(f32(2, 2, 2)); }, kShape, {"f32[2, 2, 2]"}},
      {"interp", [] { interp(f32(2), f32(2), f32(3)); }, kShape, {"f32[2]", "f32[3]"}},
      {"interp", [] { interp(f32(2), f32(2, 2), f32(2, 2)); }, kShape, {"f32[2, 2]"}},
      {"interp", [] { interp(f32(2), f32(0), f32(0)); }, kIndex, {"f32[0]"}},
      {"interp", [] { interp(c64(2), f32(2), f32(2)); }, kType, {"c64[2]"}},
      {"trapezoid", [] { trapezoid(f32(2), 1, 1); }, kIndex, {"axis 1", "f32[2]"}},
      {"trapezoid", [] { trapezoid(f32(2), f32(3)); }, kShape, {"f32[2]", "f32[3]"}},
      {"trapezoid", [] { trapezoid(f32(2, 3), f32(2)); }, kShape, {"f32[2, 3]", "f32[2]"}},
      {"trapezoid", [] { trapezoid(keys(2)); }, kType, {"key[2]"}},
      {"cumulative_trapezoid", [] { cumulative_trapezoid(f32()); }, kIndex, {"f32[]"}},
      {"cumulative_trapezoid",
       [] { cumulative_trapezoid(f32(2), f32(3)); },
       kShape,
       {"f32[2]", "f32[3]"}},
      {"diff", [] { diff(f32(2), -1); }, kValue, {"-1", "f32[2]"}},
      {"diff", [] { diff(f32(2), 1, 1); }, kIndex, {"axis 1", "f32[2]"}},
      {"diff", [] { diff(f32(2), 0, 1); }, kIndex, {"axis 1", "f32[2]"}},
      {"diff", [] { diff(keys(2)); }, kType, {"key[2]"}},
      {"bincount", [] { bincount(f32(2)); }, kType, {"f32[2]"}},
      {"bincount", [] { bincount(i64(2, 2)); }, kShape, {"i64[2, 2]"}},
      {"bincount", [] { bincount(i64(2), Dim(2)); }, kIndex, {"2"}},
      {"bincount", [] { bincount(-i64(2), Dim(9)); }, kIndex, {"i64[2]"}},
      {"bincount", [] { bincount(-i64(2)); }, kIndex, {"i64[2]"}, false},
      {"bincount", [] { bincount(i64(2), Dim(-1)); }, kShape, {"-1", "i64[2]"}},
      {"bincount", [] { bincount(i64(2), Dim(9), f32(3)); }, kShape, {"i64[2]", "f32[3]"}},
      {"bincount", [] { bincount(i64(2), Dim(9), keys(2)); }, kType, {"i64[2]", "key[2]"}},
      {"histogram", [] { histogram(f32(2), 0, 0, 1); }, kValue, {"0 bins"}},
      {"histogram", [] { histogram(f32(2), 2, 1, 1); }, kValue, {"from 1 to 1"}},
      {"histogram", [] { histogram(f32(2), 2, 0, NAN); }, kValue, {"nan"}},
      {"histogram", [] { histogram(f32(2), 2, 0, INFINITY); }, kValue, {"inf"}},
      {"histogram", [] { histogram(f32(2), f32(2, 2)); }, kShape, {"f32[2]", "f32[2, 2]"}},
      {"histogram", [] { histogram(f32(2), f32(0)); }, kShape, {"f32[2]", "f32[0]"}},
      {"histogram", [] { histogram(f32(2), -f32(3)); }, kValue, {"f32[2]", "f32[3]"}},
      {"histogram", [] { histogram(c64(2), f32(3)); }, kType, {"c64[2]"}},
  };
  add_reductions(rows);
  return rows;
}

TEST(Refusals, Reduce) { expect_refused(refusals_of_reduce()); }

}  // namespace plait
