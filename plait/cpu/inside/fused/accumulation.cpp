#include "plait/cpu/inside/fused/accumulation.h"

#include <algorithm>

#include "plait/core/inside/sizes/integer_arithmetic.h"
#include "plait/cpu/inside/fused/partial_results.h"

namespace plait::cpu {
namespace {

// Maximum number of parts of an accumulation, each with memory of its own.
constexpr int64_t kMostParts = 64;

// Rows without columns can be accumulated: a reduction of nothing is its identity.
void run_empty(const NestCall& call) {
  if (call.rows() == 0) return fill_with_identities(call);
  const WideResults wide(call);
  NestRunner(call).run(wide.places(), {0, call.rows(), 0, call.columns()});
  wide.round();
}

void run_groups(const NestCall& call) {
  const WideResults wide(call);
  const int64_t rows = call.rows_in_group;
  const int64_t per_group = std::max<int64_t>(rows * call.columns() * call.nest.cost, 1);
  {
    const NestRunner runner(call);
    parallel_for(call.groups, quotient_up(kNestGrain, per_group), [&](int64_t begin, int64_t end) {
      runner.run(wide.places(), {begin * rows, end * rows, 0, call.columns()});
    });
  }
  wide.round();
}

// How one group is cut: into ranges of rows, or of the columns of its only row. Does not depend on
// the number of threads.
struct Cut {
  explicit Cut(const NestCall& call)
      : is_of_columns(call.rows() == 1 && call.nest.may_cut_columns),
        end(is_of_columns ? call.columns() : call.rows()),
        unit(is_of_columns ? kColumnStep : 1) {
    const int64_t units = quotient_up(end, unit);
    const int64_t wanted =
        std::clamp<int64_t>(call.work() / kNestGrain, 1, std::min(units, kMostParts));
    each = quotient_up(units, wanted) * unit;
    parts = quotient_up(end, each);
  }

  NestRange range(int64_t part, const NestCall& call) const {
    const int64_t from = part * each, to = std::min(from + each, end);
    if (is_of_columns) return {0, 1, from, to};
    return {from, to, 0, call.columns()};
  }

  bool is_of_columns;
  int64_t end, unit, each = 1, parts = 1;
};

// Each part accumulates in its own memory; the parts are combined in order.
void run_parts(const NestCall& call) {
  const Cut cut(call);
  const WideResults wide(call);
  const PartialResults partial(call, wide.places(), cut.parts);
  {
    const NestRunner runner(call);
    parallel_chunks(cut.parts,
                    [&](int64_t part) { runner.run(partial.places(part), cut.range(part, call)); });
  }
  partial.join();
  wide.round();
}

}  // namespace

void run_accumulation(const NestCall& call) {
  if (call.rows() * call.columns() == 0) return run_empty(call);
  call.groups == 1 ? run_parts(call) : run_groups(call);
}

}  // namespace plait::cpu
