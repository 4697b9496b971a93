#include "plait/cpu/inside/fused/run_nest.h"

#include <algorithm>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/cpu/inside/fused/accumulation.h"

namespace plait::cpu {
namespace {

// Fewer rows than threads: each row is cut.
void run_columns(const NestCall& call) {
  const NestRunner runner(call);
  const int64_t grain =
      std::max<int64_t>(kNestGrain / call.nest.cost / kColumnStep, 1) * kColumnStep;
  for (int64_t row = 0; row < call.rows(); ++row) {
    parallel_for(call.columns(), grain, [&](int64_t begin, int64_t end) {
      runner.run(call.results, {row, row + 1, begin, end});
    });
  }
}

void run_rows(const NestCall& call) {
  const NestRunner runner(call);
  const int64_t per_row = std::max<int64_t>(call.columns() * call.nest.cost, 1);
  parallel_for(call.rows(), quotient_up(kNestGrain, per_row), [&](int64_t begin, int64_t end) {
    runner.run(call.results, {begin, end, 0, call.columns()});
  });
}

}  // namespace

void run_nest(const NestCall& call) {
  if (call.nest.accumulates()) return run_accumulation(call);
  const bool cuts_columns = call.nest.may_cut_columns && call.rows() < thread_count();
  cuts_columns ? run_columns(call) : run_rows(call);
}

}  // namespace plait::cpu
