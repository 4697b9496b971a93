// Code of a loop nest: one function, `void name(const NestArguments*)`.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "plait/compile/inside/nests/nest.h"
#include "plait/compile/inside/nests/nest_plan.h"
#include "plait/cpu/cpu_level.h"
#include "plait/cpu/inside/codegen/compiled_nest.h"
#include "plait/cpu/inside/codegen/llvm_operations.h"

namespace plait::cpu::code {

// ---- Reductions (llvm_reductions.cpp).

Code identity_of(ir::Reduction reduction, DType dtype);  // scalar
// Combines like the eager reductions: NaN propagates.
Code joined(ir::Reduction reduction, DType dtype, Code total, Code more);
Code folded(ir::Reduction reduction, DType dtype, Code lanes);  // reduces the lanes to a scalar

// ---- Array accesses (llvm_ports.cpp).

// Access to an array in a loop over columns: directly, or through a buffer of one vector. The
// buffer serves the last columns, elements that are not contiguous, and elements outside of the
// array.
struct Port {
  DType dtype = DType::f32;
  Code row = nullptr;  // address of the element of column 0
  std::optional<int64_t> known_stride;
  Code stride = nullptr;
  Code low = nullptr, high = nullptr;  // range of valid columns, unless all are
  Code fill = nullptr;                 // address of the value of other columns
  bool is_read = true;
  Code buffer = nullptr;
  Code pointer = nullptr;  // address for the current step

  bool is_dense() const { return known_stride == 1; }
};

// A step of the loop: the columns from `column` on.
struct Step {
  Code column = nullptr;
  Code left = nullptr;     // number of remaining columns
  Code is_full = nullptr;  // true if these fill all lanes; null if always
};

// The mask of the lanes that have a column in a partial step.
Code left_lanes(const Step& step);

void make_buffer(Port& port);
// Sets the pointers, and fills the buffers of loads.
void pull(std::vector<Port>& ports, const Step& step);
// Writes buffers of stores back to their arrays.
void push(std::vector<Port>& ports, const Step& step);

// ---- The function.

using compile::NestPlan;
using compile::ResultKind;
using compile::StagePlan;

// The number of lanes in which the nest is computed (llvm_lanes.cpp).
unsigned lanes_of(const compile::Nest& nest, const NestPlan& plan, CpuLevel level);

// The scratch memory that the nest needs; the address is not set.
CompiledNest scratch_of(const compile::Nest& nest, const NestPlan& plan, unsigned lanes);

class NestCode {
 public:
  NestCode(const compile::Nest& nest, const NestPlan& plan, unsigned lanes);
  void emit(const std::string& name);

 private:
  using Result = compile::NestResult;
  using Value = compile::NestValue;

  // Arguments.
  void begin_function(const std::string& name);
  Code argument(size_t bytes, Type type) const;
  void read_arguments();
  void find_row_buffers();
  Code number_of(Dim size) const;

  // Rows (llvm_rows.cpp).
  void find_first_indices();
  void set_indices(Code row);
  void next_indices();
  Code begins_group() const;
  Code place_in_row(const compile::Affine& place) const;
  Code of_row(const compile::Affine& place, Code base, DType dtype) const;
  Code is_in(const compile::Domain& domain) const;
  void row_values(uint32_t stage);
  Code row_value(uint32_t v);
  Code loaded_once(const Value& value);
  void row(Code number);

  // Loops over the columns.
  void run_stage(uint32_t stage);
  Port port_of_load(const Value& value) const;
  Port port_of_result(const Result& result) const;
  void compute(uint32_t stage, const Step& step);
  Code column_value(const Value& value, const Step& step);
  Code index_value(const Value& value, const Step& step) const;
  Code operand(uint32_t v);
  Code computed(const Value& value, std::span<const Code> operands) const;
  bool is_always_full() const;
  Code kept_place(uint32_t v, const Step& step) const;
  void keep(uint32_t v, const Step& step);
  Code kept(uint32_t v, const Step& step) const;

  // Results (llvm_results.cpp).
  Code place_of(const Result& result) const;
  void store_results(const Step& step);
  void begin_reductions(uint32_t stage);
  void reduce(uint32_t stage, const Step& step);
  void add_to_total(ir::Reduction reduction, DType dtype, Code value, Code total, const Step& step);
  void end_reductions(uint32_t stage);
  void store_once(const Result& result);
  bool accumulates_in_call() const { return nest_.grouped == 0; }
  void begin_totals();
  void begin_group();
  void clear(const Result& result);
  void join_to_memory(const Result& result, Code value);
  void end_totals();

  const compile::Nest& nest_;
  const NestPlan& plan_;
  const unsigned lanes_;
  std::unordered_map<Dim, Code> sizes_;
  Code arguments_ = nullptr;
  std::vector<Code> parameters_, results_, buffers_;
  Code first_row_ = nullptr, end_row_ = nullptr, first_column_ = nullptr, end_column_ = nullptr;
  std::vector<Code> index_variables_, indices_;
  std::vector<Code> row_codes_, column_codes_;  // indexed by value
  std::vector<Code> totals_;                    // variables; indexed by value, for reductions
  std::vector<Code> result_totals_;             // variables; indexed by result
  std::vector<Port> loads_, writes_;            // loads and writes of the current loop
  std::vector<uint32_t> load_values_, write_results_;
};

}  // namespace plait::cpu::code
