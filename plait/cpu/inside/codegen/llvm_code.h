// Arithmetic on values of code under construction: a layer over LLVM's builder for scalars, and for
// vectors of them. All functions emit into the current function of this thread.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string>

#include "plait/core/function_ref.h"
#include "plait/core/numbers/dtype.h"
#include "plait/cpu/cpu_level.h"
#include "plait/cpu/inside/codegen/llvm_library.h"

namespace plait::cpu::code {

using Code = LLVMValueRef;
using Type = LLVMTypeRef;
using Block = LLVMBasicBlockRef;

// A module under construction, owned by the thread that made it.
class Emission {
 public:
  Emission(LLVMContextRef context, LLVMModuleRef module, CpuLevel level);
  ~Emission();
  Emission(const Emission&) = delete;
  Emission& operator=(const Emission&) = delete;

  LLVMContextRef context;
  LLVMModuleRef module;
  LLVMBuilderRef builder, entry_builder;  // the second one for local variables
  LLVMValueRef function = nullptr;
  CpuLevel level;
  bool has_fma;
  unsigned lanes = 1;                   // lanes of the emitted vectors; scalars if 1
  std::string_view operation;           // the operation that is being emitted
  std::set<std::string> outside_names;  // external functions that the code calls

 private:
  Emission* outer_;
};
Emission& emission();

// Sets the number of lanes within a scope.
class LanesOf {
 public:
  explicit LanesOf(unsigned lanes) : outer_(emission().lanes) { emission().lanes = lanes; }
  ~LanesOf() { emission().lanes = outer_; }
  LanesOf(const LanesOf&) = delete;
  LanesOf& operator=(const LanesOf&) = delete;

 private:
  unsigned outer_;
};

// ---- Types.

inline Type type_of(Code a) { return LLVMTypeOf(a); }
Type bit_type();
Type integer_type(unsigned bits);
Type float_type();
Type double_type();
Type pointer_type();
Type vector_of(Type single);  // with the current number of lanes
Type single_of(Type type);    // the type of one lane
bool is_float(Type type);
unsigned bits_of(Type single);

// The representation of elements in memory, and in computations: narrow floats as f32, bool as i1.
Type memory_type(DType dtype);
Type computed_type(DType dtype);

// ---- Constants; splats if the type is a vector type.

Code integer(Type type, uint64_t value);
inline Code like(Code a, uint64_t value) { return integer(type_of(a), value); }
Code number(Type type, double value);
Code zero(Type type);
Code index(int64_t value);  // an i64
Code truth(bool value);
Code ascending(Type single, int64_t step);  // 0, step, 2 * step, ...: one per lane

// ---- Arithmetic on floats or integers, according to the type.

Code add(Code a, Code b);
Code subtract(Code a, Code b);
Code multiply(Code a, Code b);
Code divide(Code a, Code b);                         // for floats
Code multiply_add(Code a, Code b, Code c);           // a * b + c, fused if the level has that
Code negative_multiply_add(Code a, Code b, Code c);  // c - a * b
Code negative(Code a);
Code bit_and(Code a, Code b);
Code bit_or(Code a, Code b);
Code bit_xor(Code a, Code b);
Code bit_not(Code a);
Code shift_left(Code a, Code b);
Code shift_right(Code a, Code b, bool is_signed);
Code select(Code condition, Code yes, Code no);
Code of_float(const char* intrinsic, std::span<const Code> operands);  // "llvm.floor"

Code equal(Code a, Code b);
Code not_equal(Code a, Code b);  // also true for NaN
Code less(Code a, Code b, bool is_signed);
Code less_equal(Code a, Code b, bool is_signed);
inline Code greater(Code a, Code b, bool is_signed) { return less(b, a, is_signed); }
inline Code greater_equal(Code a, Code b, bool is_signed) { return less_equal(b, a, is_signed); }
Code is_nan(Code a);
Code is_number(Code a);

// ---- Conversions.

Code as_bits(Code a, Type single);                  // bit cast
Code resized(Code a, Type single, bool is_signed);  // for integers
Code real_of_integer(Code a, Type single, bool is_signed);
Code resized_real(Code a, Type single);
Code saturated(Code a, Type single, bool is_signed);

Code splat(Code single);  // unchanged for one lane
Code lane(Code vector, unsigned place);
// The upper or the lower half of a vector's lanes.
Code half_of(Code vector, bool upper);

// ---- Memory.

Code variable(Type type);  // stack variable
Code load(Type type, Code pointer, unsigned alignment);
void store(Code value, Code pointer, unsigned alignment);
Code get(Code variable, Type type);
void set(Code variable, Code value);
Code element_at(Code pointer, Type element, Code place);
void copy_bytes(Code to, Code from, Code count);
// Masked access. Lanes outside of the mask are loaded as 0, and are not stored.
Code load_some(Type type, Code pointer, unsigned alignment, Code mask);
void store_some(Code value, Code pointer, unsigned alignment, Code mask);

// ---- Control flow.

Block new_block(const char* name);
void go_to(Block block);
void continue_at(Block block);
// Both branches continue after the statement. `rare` marks the condition as unlikely.
void when(Code condition, bool rare, FunctionRef<void()> body);
void when(Code condition, FunctionRef<void()> yes, FunctionRef<void()> no);
// for (place = begin; place < end; place += step).
void loop(Code begin, Code end, int64_t step, FunctionRef<void(Code place)> body);
// `usual` if the condition holds in every lane, else the result of `other`.
Code unless_all(Code condition, Code usual, FunctionRef<Code()> other);
Code all_lanes(Code condition);

}  // namespace plait::cpu::code
