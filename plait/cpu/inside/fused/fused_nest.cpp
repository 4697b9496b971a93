#include "plait/cpu/inside/fused/fused_nest.h"

#include "plait/ir/primitive.h"

namespace plait::cpu {
namespace {

int64_t cost_of(const compile::Nest& nest) {
  int64_t cost = 1;
  for (const compile::NestValue& value : nest.values) {
    if (!value.has_columns) continue;
    if (value.kind != compile::NestValue::Kind::compute) continue;
    cost +=
        value.primitive->elementwise != ir::Elementwise::no && value.operands.size() == 1 ? 4 : 1;
  }
  return cost;
}

}  // namespace

FusedNest::FusedNest(const compile::Nest& nest, const CompiledNest& compiled)
    : code(compiled),
      grouped(nest.grouped),
      may_cut_columns(nest.may_cut_columns()),
      cost(cost_of(nest)) {
  for (const compile::NestResult& result : nest.results) {
    results.push_back({result.reduction, nest.values[result.value].dtype});
  }
}

bool FusedNest::accumulates() const {
  for (size_t i = 0; i < results.size(); ++i) {
    if (is_accumulated(i)) return true;
  }
  return false;
}

}  // namespace plait::cpu
