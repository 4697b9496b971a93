#include "plait/cpu/inside/fused/run_nest.h"

#include <algorithm>
#include <utility>

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

// True if one thread computes all of it, directly in the results.
bool is_one_range(const NestCall& call) {
  if (call.rows() * call.columns() == 0 || call.work() > kNestGrain) return false;
  for (size_t i = 0; i < call.arrays.size(); ++i) {
    if (call.nest.is_accumulated(i) && call.nest.results[i].dtype != call.arrays[i].dtype()) {
      return false;
    }
  }
  return true;
}

class BoundNest final : public compile::FusedCall {
 public:
  explicit BoundNest(NestCall call) : call_(std::move(call)), is_one_range_(is_one_range(call_)) {
    if (!is_one_range_) return;
    const int64_t bytes = call_.nest.code.scratch_for(call_.columns());
    if (bytes > 0) scratch_ = Buffer::allocate(bytes);
    arguments_ = {.parameters = call_.operands.data(),
                  .results = call_.results.data(),
                  .sizes = call_.sizes.values.data(),
                  .first_row = 0,
                  .end_row = call_.rows(),
                  .first_column = 0,
                  .end_column = call_.columns(),
                  .scratch = scratch_ ? scratch_.data() : nullptr};
  }

  void run() override { is_one_range_ ? call_.nest.code.run(&arguments_) : run_nest(call_); }

 private:
  const NestCall call_;
  const bool is_one_range_;
  Buffer scratch_;
  NestArguments arguments_ = {};
};

}  // namespace

std::unique_ptr<compile::FusedCall> bound_nest(NestCall call) {
  return std::make_unique<BoundNest>(std::move(call));
}

void run_nest(const NestCall& call) {
  if (call.nest.accumulates()) return run_accumulation(call);
  const bool cuts_columns = call.nest.may_cut_columns && call.rows() < thread_count();
  cuts_columns ? run_columns(call) : run_rows(call);
}

}  // namespace plait::cpu
