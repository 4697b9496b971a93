// Results of a nest: stores, reductions along a row, and totals over rows.
#include "plait/cpu/inside/codegen/llvm_nest.h"

namespace plait::cpu::code {

using compile::NestResult;

// ---- Reductions along a row.

void NestCode::begin_reductions(uint32_t stage) {
  const auto begin = [&](ir::Reduction reduction, DType dtype) {
    const Code total = variable(vector_of(computed_type(dtype)));
    set(total, splat(identity_of(reduction, dtype)));
    return total;
  };
  for (const uint32_t v : plan_.stages[stage].reductions) {
    totals_[v] = begin(nest_.values[v].reduction, nest_.values[v].dtype);
  }
  if (accumulates_in_call()) return;
  for (const uint32_t r : plan_.stages[stage].results) {
    if (plan_.result_kinds[r] != ResultKind::accumulated_whole) continue;
    const NestResult& result = nest_.results[r];
    result_totals_[r] = begin(result.reduction, nest_.values[result.value].dtype);
  }
}

// Lanes behind the last column contribute nothing.
void NestCode::add_to_total(ir::Reduction reduction, DType dtype, Code value, Code total,
                            const Step& step) {
  const Type type = vector_of(computed_type(dtype));
  if (step.is_full != nullptr) {
    const Code there = variable(type);
    set(there, value);
    when(bit_not(step.is_full), true, [&] {
      set(there, select(left_lanes(step), value, splat(identity_of(reduction, dtype))));
    });
    value = get(there, type);
  }
  set(total, joined(reduction, dtype, get(total, type), value));
}

void NestCode::reduce(uint32_t stage, const Step& step) {
  for (const uint32_t v : plan_.stages[stage].reductions) {
    const Value& value = nest_.values[v];
    add_to_total(value.reduction, value.dtype, operand(value.operands[0]), totals_[v], step);
  }
  for (const uint32_t r : plan_.stages[stage].results) {
    if (plan_.result_kinds[r] != ResultKind::accumulated_whole) continue;
    const NestResult& result = nest_.results[r];
    add_to_total(result.reduction, nest_.values[result.value].dtype, operand(result.value),
                 result_totals_[r], step);
  }
}

void NestCode::end_reductions(uint32_t stage) {
  const auto end = [&](ir::Reduction reduction, DType dtype, Code total) {
    return folded(reduction, dtype, get(total, vector_of(computed_type(dtype))));
  };
  for (const uint32_t v : plan_.stages[stage].reductions) {
    row_codes_[v] = end(nest_.values[v].reduction, nest_.values[v].dtype, totals_[v]);
  }
  if (accumulates_in_call()) return;
  for (const uint32_t r : plan_.stages[stage].results) {
    if (plan_.result_kinds[r] != ResultKind::accumulated_whole) continue;
    const NestResult& result = nest_.results[r];
    join_to_memory(result,
                   end(result.reduction, nest_.values[result.value].dtype, result_totals_[r]));
  }
}

// ---- Results.

void NestCode::store_results(const Step& step) {
  for (size_t i = 0; i < writes_.size(); ++i) {
    const NestResult& result = nest_.results[write_results_[i]];
    const Port& port = writes_[i];
    const auto alignment = static_cast<unsigned>(size_of(port.dtype));
    Code value = operand(result.value);
    if (result.reduction != ir::Reduction::none) {
      const Code before = load(vector_of(memory_type(port.dtype)), port.pointer, alignment);
      value = joined(result.reduction, port.dtype, from_memory(before, port.dtype), value);
    }
    store(to_memory(value, port.dtype), port.pointer, alignment);
  }
  push(writes_, step);
}

Code NestCode::place_of(const NestResult& result) const {
  const auto r = static_cast<size_t>(&result - nest_.results.data());
  return of_row(result.place, results_[r], nest_.values[result.value].dtype);
}

void NestCode::store_once(const NestResult& result) {
  const LanesOf one(1);
  const DType dtype = nest_.values[result.value].dtype;
  store(to_memory(row_codes_[result.value], dtype), place_of(result),
        static_cast<unsigned>(size_of(dtype)));
}

// ---- Totals over rows: in variables if a call covers a single total, else in memory.

void NestCode::begin_totals() {
  if (!accumulates_in_call()) return;
  for (uint32_t r = 0; r < nest_.results.size(); ++r) {
    const NestResult& result = nest_.results[r];
    const DType dtype = nest_.values[result.value].dtype;
    const ResultKind kind = plan_.result_kinds[r];
    if (kind == ResultKind::accumulated) {
      clear(result);
    } else if (kind == ResultKind::accumulated_whole || kind == ResultKind::accumulated_once) {
      const LanesOf lanes(kind == ResultKind::accumulated_once ? 1 : lanes_);
      result_totals_[r] = variable(vector_of(computed_type(dtype)));
      set(result_totals_[r], splat(identity_of(result.reduction, dtype)));
    }
  }
}

void NestCode::end_totals() {
  for (uint32_t r = 0; r < nest_.results.size(); ++r) {
    const ResultKind kind = plan_.result_kinds[r];
    if (kind != ResultKind::accumulated_whole && kind != ResultKind::accumulated_once) continue;
    const NestResult& result = nest_.results[r];
    const DType dtype = nest_.values[result.value].dtype;
    const LanesOf lanes(kind == ResultKind::accumulated_once ? 1 : lanes_);
    const Code total =
        folded(result.reduction, dtype, get(result_totals_[r], vector_of(computed_type(dtype))));
    const LanesOf one(1);
    const Code place = element_at(results_[r], memory_type(dtype), number_of(result.place.offset));
    store(to_memory(total, dtype), place, static_cast<unsigned>(size_of(dtype)));
  }
}

void NestCode::begin_group() {
  bool accumulates = false;
  for (const NestResult& result : nest_.results) {
    accumulates = accumulates || result.reduction != ir::Reduction::none;
  }
  if (!accumulates) return;
  when(begins_group(), false, [&] {
    for (const NestResult& result : nest_.results) {
      if (result.reduction != ir::Reduction::none) clear(result);
    }
  });
}

// By vectors, then the remaining elements one by one.
void NestCode::clear(const NestResult& result) {
  const DType dtype = nest_.values[result.value].dtype;
  const auto alignment = static_cast<unsigned>(size_of(dtype));
  const Type type = memory_type(dtype);
  const Code place = accumulates_in_call()
                         ? element_at(results_[static_cast<size_t>(&result - nest_.results.data())],
                                      type, number_of(result.place.offset))
                         : place_of(result);
  const auto start = [&] { return to_memory(splat(identity_of(result.reduction, dtype)), dtype); };
  const Dim along = result.place.strides.back();
  const LanesOf one(1);
  if (along.is_number() && along.number() == 0) return store(start(), place, alignment);
  Code first = first_column_;
  if (along.is_number() && along.number() == 1 && lanes_ > 1) {
    const Code columns = subtract(end_column_, first_column_);
    const Code whole = add(first_column_, bit_and(columns, index(-static_cast<int64_t>(lanes_))));
    const LanesOf all(lanes_);
    loop(first_column_, whole, lanes_,
         [&](Code column) { store(start(), element_at(place, type, column), alignment); });
    first = whole;
  }
  loop(first, end_column_, 1, [&](Code column) {
    store(start(), element_at(place, type, multiply(column, number_of(along))), alignment);
  });
}

void NestCode::join_to_memory(const NestResult& result, Code value) {
  const LanesOf one(1);
  const DType dtype = nest_.values[result.value].dtype;
  const auto alignment = static_cast<unsigned>(size_of(dtype));
  const Code place = place_of(result);
  const Code before = from_memory(load(memory_type(dtype), place, alignment), dtype);
  store(to_memory(joined(result.reduction, dtype, before, value), dtype), place, alignment);
}

}  // namespace plait::cpu::code
