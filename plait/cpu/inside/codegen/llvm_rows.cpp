// The rows of a nest as code: their addresses, and values that are computed once per row.
#include "plait/cpu/inside/codegen/llvm_nest.h"
#include "plait/ir/primitive.h"
#include "plait/ops/inside/primitives.h"

namespace plait::cpu::code {
namespace {

bool is_zero(Dim size) { return size.is_number() && size.number() == 0; }
bool is_one(Dim size) { return size.is_number() && size.number() == 1; }

Code remainder(Code a, Code b) { return LLVMBuildURem(emission().builder, a, b, ""); }
Code quotient(Code a, Code b) { return LLVMBuildUDiv(emission().builder, a, b, ""); }

}  // namespace

// The outermost index needs no modulo, and a single index is the row number.
void NestCode::find_first_indices() {
  const size_t count = nest_.outer.size();
  index_variables_.clear();
  indices_.assign(count, nullptr);
  if (count < 2) return;
  for (size_t d = 0; d < count; ++d) index_variables_.push_back(variable(integer_type(64)));
  Code rest = first_row_;
  for (size_t d = count; d-- > 1;) {
    const Code size = number_of(nest_.outer[d]);
    const Code divisor = select(equal(size, index(0)), index(1), size);  // there are no rows, but
                                                                         // avoid a division by 0
    set(index_variables_[d], remainder(rest, divisor));
    rest = quotient(rest, divisor);
  }
  set(index_variables_[0], rest);
}

void NestCode::set_indices(Code row) {
  if (nest_.outer.size() == 1) indices_[0] = row;
  for (size_t d = 0; d < index_variables_.size(); ++d) {
    indices_[d] = get(index_variables_[d], integer_type(64));
  }
}

void NestCode::next_indices() {
  if (index_variables_.empty()) return;
  Code carry = truth(true);
  for (size_t d = index_variables_.size(); d-- > 0;) {
    const Code next = add(indices_[d], resized(carry, integer_type(64), false));
    carry = d == 0 ? truth(false) : equal(next, number_of(nest_.outer[d]));
    set(index_variables_[d], select(carry, index(0), next));
  }
}

// True if the row is the first of its group.
Code NestCode::begins_group() const {
  Code begins = truth(true);
  for (size_t d = nest_.grouped; d < nest_.outer.size(); ++d) {
    begins = bit_and(begins, equal(indices_[d], index(0)));
  }
  return begins;
}

Code NestCode::place_in_row(const compile::Affine& place) const {
  Code sum = number_of(place.offset);
  for (size_t d = 0; d < nest_.outer.size(); ++d) {
    const Dim stride = place.strides[d];
    if (is_zero(stride)) continue;
    const Code along = is_one(stride) ? indices_[d] : multiply(indices_[d], number_of(stride));
    sum = add(sum, along);
  }
  return sum;
}

Code NestCode::of_row(const compile::Affine& place, Code base, DType dtype) const {
  return element_at(base, memory_type(dtype), place_in_row(place));
}

Code NestCode::is_in(const compile::Domain& domain) const {
  const Code place = indices_[domain.dimension];
  return bit_and(less_equal(number_of(domain.low), place, true),
                 less(place, number_of(domain.high), true));
}

// Loads an element if it is in range, else its fill value.
Code NestCode::loaded_once(const Value& value) {
  Code pointer = of_row(value.place, parameters_[value.parameter], value.dtype);
  const Type type = memory_type(value.dtype);
  if (!value.domains.empty()) {
    Code is_there = truth(true);
    for (const compile::Domain& domain : value.domains) {
      is_there = bit_and(is_there, is_in(domain));
    }
    const Code fill = variable(type);
    set(fill, constant_in_memory(value.dtype, value.number));
    pointer = select(is_there, pointer, fill);
  }
  return from_memory(load(type, pointer, static_cast<unsigned>(size_of(value.dtype))), value.dtype);
}

Code NestCode::row_value(uint32_t v) {
  const Value& value = nest_.values[v];
  switch (value.kind) {
    case Value::Kind::load: return loaded_once(value);
    case Value::Kind::number: return constant(value.dtype, value.number);
    case Value::Kind::size: return converted(number_of(value.size), DType::i64, value.dtype);
    case Value::Kind::index: return converted(place_in_row(value.place), DType::i64, value.dtype);
    case Value::Kind::compute: {
      std::vector<Code> operands;
      for (const uint32_t operand : value.operands) operands.push_back(row_codes_[operand]);
      return computed(value, operands);
    }
    case Value::Kind::reduce: break;  // available after its loop
  }
  return row_codes_[v];
}

void NestCode::row_values(uint32_t stage) {
  const LanesOf one(1);
  for (const uint32_t v : plan_.row_values) {
    if (plan_.stage[v] == stage) row_codes_[v] = row_value(v);
  }
}

Code NestCode::computed(const Value& value, std::span<const Code> operands) const {
  const DType dtype = nest_.values[value.operands.back()].dtype;
  if (value.primitive == &convert_primitive()) return converted(operands[0], dtype, value.dtype);
  return operation(value.primitive->name, dtype, operands);
}

void NestCode::row(Code number) {
  set_indices(number);
  if (!accumulates_in_call()) begin_group();
  for (uint32_t s = 0; s < plan_.stages.size(); ++s) {
    row_values(s);
    if (!plan_.stages[s].is_empty()) run_stage(s);
  }
  for (uint32_t r = 0; r < nest_.results.size(); ++r) {
    const ResultKind kind = plan_.result_kinds[r];
    if (kind == ResultKind::stored_once) store_once(nest_.results[r]);
    if (kind != ResultKind::accumulated_once) continue;
    const Result& result = nest_.results[r];
    const DType dtype = nest_.values[result.value].dtype;
    if (!accumulates_in_call()) {
      join_to_memory(result, row_codes_[result.value]);
      continue;
    }
    const Type type = computed_type(dtype);
    set(result_totals_[r],
        joined(result.reduction, dtype, get(result_totals_[r], type), row_codes_[result.value]));
  }
  next_indices();
}

}  // namespace plait::cpu::code
