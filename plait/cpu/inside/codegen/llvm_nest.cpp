#include "plait/cpu/inside/codegen/llvm_nest.h"

#include <cstddef>

#include "plait/ir/primitive.h"

namespace plait::cpu::code {
namespace {

constexpr int64_t kLine = 64;  // bytes

void add_attribute(Code function, std::string_view name, std::string_view value) {
  LLVMAddAttributeAtIndex(
      function, LLVMAttributeFunctionIndex,
      LLVMCreateStringAttribute(emission().context, name.data(), static_cast<unsigned>(name.size()),
                                value.data(), static_cast<unsigned>(value.size())));
}

// The type in a row buffer: that of the computation, and a byte for a bit.
Type kept_type(DType dtype) { return is_boolean(dtype) ? integer_type(8) : computed_type(dtype); }
int64_t kept_size(DType dtype) { return size_of(computed_dtype(dtype)); }

}  // namespace

NestCode::NestCode(const compile::Nest& nest, const NestPlan& plan, unsigned lanes)
    : nest_(nest), plan_(plan), lanes_(lanes) {}

void NestCode::emit(const std::string& name) {
  begin_function(name);
  read_arguments();
  row_codes_.assign(nest_.values.size(), nullptr);
  column_codes_.assign(nest_.values.size(), nullptr);
  totals_.assign(nest_.values.size(), nullptr);
  result_totals_.assign(nest_.results.size(), nullptr);
  const LanesOf all(lanes_);
  find_row_buffers();
  find_first_indices();
  begin_totals();
  if (nest_.outer.empty()) {
    row(index(0));
  } else {
    loop(first_row_, end_row_, 1, [&](Code number) { row(number); });
  }
  if (accumulates_in_call()) end_totals();
  LLVMBuildRetVoid(emission().builder);
  const Block entry = LLVMGetEntryBasicBlock(emission().function);
  LLVMBuildBr(emission().entry_builder, LLVMGetNextBasicBlock(entry));
}

void NestCode::begin_function(const std::string& name) {
  Emission& own = emission();
  Type pointer = pointer_type();
  const Type type = LLVMFunctionType(LLVMVoidTypeInContext(own.context), &pointer, 1, 0);
  own.function = LLVMAddFunction(own.module, name.c_str(), type);
  arguments_ = LLVMGetParam(own.function, 0);
  constexpr std::string_view kNoUnwind = "nounwind";
  const unsigned kind = LLVMGetEnumAttributeKindForName(kNoUnwind.data(), kNoUnwind.size());
  LLVMAddAttributeAtIndex(own.function, LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(own.context, kind, 0));
  // Without this, LLVM uses vectors of half that width.
  if (own.level == CpuLevel::avx512) add_attribute(own.function, "prefer-vector-width", "512");
  LLVMPositionBuilderAtEnd(own.entry_builder, new_block("entry"));
  continue_at(new_block("begin"));
}

Code NestCode::argument(size_t bytes, Type type) const {
  const Code place = element_at(arguments_, integer_type(8), index(static_cast<int64_t>(bytes)));
  return load(type, place, 8);
}

void NestCode::read_arguments() {
  const Type word = integer_type(64), pointer = pointer_type();
  const auto each = [&](size_t bytes, size_t count, Type type) {
    std::vector<Code> result;
    const Code from = argument(bytes, pointer);
    for (size_t i = 0; i < count; ++i) {
      result.push_back(load(type, element_at(from, type, index(static_cast<int64_t>(i))), 8));
    }
    return result;
  };
  parameters_ = each(offsetof(NestArguments, parameters), nest_.parameters.size(), pointer);
  results_ = each(offsetof(NestArguments, results), nest_.results.size(), pointer);
  const std::vector<Dim> sizes = nest_.sizes();
  const std::vector<Code> numbers = each(offsetof(NestArguments, sizes), sizes.size(), word);
  for (size_t i = 0; i < sizes.size(); ++i) sizes_.emplace(sizes[i], numbers[i]);
  first_row_ = argument(offsetof(NestArguments, first_row), word);
  end_row_ = argument(offsetof(NestArguments, end_row), word);
  if (nest_.may_cut_columns() || nest_.takes_column_range) {
    first_column_ = argument(offsetof(NestArguments, first_column), word);
    end_column_ = argument(offsetof(NestArguments, end_column), word);
  } else {
    first_column_ = index(0);
    end_column_ = number_of(nest_.columns);
  }
}

Code NestCode::number_of(Dim size) const {
  return size.is_number() ? index(size.number()) : sizes_.at(size);
}

// Each buffer begins at a cache line, and has room for a whole vector after its last column.
void NestCode::find_row_buffers() {
  buffers_.assign(nest_.values.size(), nullptr);
  if (plan_.buffer_count == 0) return;
  Code next = argument(offsetof(NestArguments, scratch), pointer_type());
  const Code columns = number_of(nest_.columns);
  for (uint32_t v = 0; v < nest_.values.size(); ++v) {
    if (!plan_.buffers[v]) continue;
    buffers_[v] = next;
    const int64_t size = kept_size(nest_.values[v].dtype);
    const Code bytes = multiply(columns, index(size));
    const Code lines = bit_and(add(bytes, index(kLine - 1)), index(-kLine));
    const int64_t more = (lanes_ * size + kLine - 1) / kLine * kLine;
    next = element_at(next, integer_type(8), add(lines, index(more)));
  }
}

bool NestCode::is_always_full() const {
  if (lanes_ == 1) return true;
  return nest_.columns.is_number() && nest_.columns.number() % lanes_ == 0;
}

// ---- Loops over columns.

Port NestCode::port_of_load(const Value& value) const {
  Port port{.dtype = value.dtype};
  port.row = of_row(value.place, parameters_[value.parameter], value.dtype);
  const Dim stride = value.place.strides.back();
  if (stride.is_number()) port.known_stride = stride.number();
  port.stride = number_of(stride);
  if (!value.domains.empty()) {
    Code is_there = truth(true);
    port.low = first_column_;
    port.high = end_column_;
    for (const compile::Domain& domain : value.domains) {
      if (domain.dimension < nest_.outer.size()) {
        is_there = bit_and(is_there, is_in(domain));
        continue;
      }
      const Code low = number_of(domain.low), high = number_of(domain.high);
      port.low = select(less(port.low, low, true), low, port.low);
      port.high = select(less(high, port.high, true), high, port.high);
    }
    port.high = select(is_there, port.high, port.low);
    port.fill = constant_in_memory(value.dtype, value.number);
  }
  make_buffer(port);
  return port;
}

Port NestCode::port_of_result(const Result& result) const {
  Port port{.dtype = nest_.values[result.value].dtype};
  port.row = of_row(result.place, results_[static_cast<size_t>(&result - nest_.results.data())],
                    port.dtype);
  const Dim stride = result.place.strides.back();
  if (stride.is_number()) port.known_stride = stride.number();
  port.stride = number_of(stride);
  port.is_read = result.reduction != ir::Reduction::none;
  make_buffer(port);
  return port;
}

void NestCode::run_stage(uint32_t stage) {
  const StagePlan& plan = plan_.stages[stage];
  loads_.clear();
  load_values_.clear();
  writes_.clear();
  write_results_.clear();
  for (const uint32_t v : plan.values) {
    const bool is_kept = plan_.buffers[v] && plan_.home[v] < stage;
    if (nest_.values[v].kind != Value::Kind::load || is_kept) continue;
    loads_.push_back(port_of_load(nest_.values[v]));
    load_values_.push_back(v);
  }
  for (const uint32_t r : plan.results) {
    const ResultKind kind = plan_.result_kinds[r];
    if (kind != ResultKind::stored && kind != ResultKind::accumulated) continue;
    writes_.push_back(port_of_result(nest_.results[r]));
    write_results_.push_back(r);
  }
  begin_reductions(stage);
  loop(first_column_, end_column_, emission().lanes, [&](Code column) {
    Step step{.column = column, .left = subtract(end_column_, column)};
    if (!is_always_full()) step.is_full = less_equal(index(emission().lanes), step.left, true);
    compute(stage, step);
  });
  end_reductions(stage);
}

void NestCode::compute(uint32_t stage, const Step& step) {
  const StagePlan& plan = plan_.stages[stage];
  pull(loads_, step);
  pull(writes_, step);
  for (size_t i = 0; i < loads_.size(); ++i) {
    const Port& port = loads_[i];
    const Code lanes = load(vector_of(memory_type(port.dtype)), port.pointer,
                            static_cast<unsigned>(size_of(port.dtype)));
    column_codes_[load_values_[i]] = from_memory(lanes, port.dtype);
  }
  for (const uint32_t v : plan.values) {
    const bool is_loaded = nest_.values[v].kind == Value::Kind::load;
    if (plan_.buffers[v] && plan_.home[v] < stage) {
      column_codes_[v] = kept(v, step);
    } else if (!is_loaded) {
      column_codes_[v] = column_value(nest_.values[v], step);
    }
  }
  for (const uint32_t v : plan.kept) keep(v, step);
  store_results(step);
  reduce(stage, step);
}

Code NestCode::column_value(const Value& value, const Step& step) {
  switch (value.kind) {
    case Value::Kind::number: return splat(constant(value.dtype, value.number));
    case Value::Kind::index: return index_value(value, step);
    case Value::Kind::compute: {
      std::vector<Code> operands;
      for (const uint32_t v : value.operands) operands.push_back(operand(v));
      return computed(value, operands);
    }
    default: break;
  }
  return nullptr;
}

Code NestCode::operand(uint32_t v) {
  return nest_.values[v].has_columns ? column_codes_[v] : splat(row_codes_[v]);
}

// Integers are computed in their own width, since indices are defined modulo that.
Code NestCode::index_value(const Value& value, const Step& step) const {
  const Code stride = number_of(value.place.strides.back());
  const Code first = add(place_in_row(value.place), multiply(step.column, stride));
  const bool is_whole = is_integer(value.dtype);
  const Type type = is_whole ? computed_type(value.dtype) : integer_type(64);
  const Dim known = value.place.strides.back();
  const Code steps = known.is_number()
                         ? ascending(type, known.number())
                         : multiply(ascending(type, 1), splat(resized(stride, type, true)));
  const Code places = add(splat(resized(first, type, true)), steps);
  return is_whole ? places : converted(places, DType::i64, value.dtype);
}

Code NestCode::kept_place(uint32_t v, const Step& step) const {
  return element_at(buffers_[v], kept_type(nest_.values[v].dtype), step.column);
}
void NestCode::keep(uint32_t v, const Step& step) {
  const DType dtype = nest_.values[v].dtype;
  const Code code = is_boolean(dtype) ? to_memory(operand(v), dtype) : operand(v);
  store(code, kept_place(v, step), static_cast<unsigned>(kept_size(dtype)));
}
Code NestCode::kept(uint32_t v, const Step& step) const {
  const DType dtype = nest_.values[v].dtype;
  const Code code = load(vector_of(kept_type(dtype)), kept_place(v, step),
                         static_cast<unsigned>(kept_size(dtype)));
  return is_boolean(dtype) ? from_memory(code, dtype) : code;
}

CompiledNest scratch_of(const compile::Nest& nest, const NestPlan& plan, unsigned lanes) {
  CompiledNest compiled;
  for (uint32_t v = 0; v < nest.values.size(); ++v) {
    if (!plan.buffers[v]) continue;
    const int64_t size = kept_size(nest.values[v].dtype);
    compiled.scratch_bytes_per_column += size;
    compiled.scratch_bytes += kLine + (lanes * size + kLine - 1) / kLine * kLine;
  }
  return compiled;
}

}  // namespace plait::cpu::code
