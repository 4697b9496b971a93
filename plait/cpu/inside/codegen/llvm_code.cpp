#include "plait/cpu/inside/codegen/llvm_code.h"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "plait/core/error.h"

namespace plait::cpu::code {
namespace {

constinit thread_local Emission* current = nullptr;

LLVMContextRef context() { return emission().context; }
LLVMBuilderRef builder() { return emission().builder; }

unsigned lanes_of(Type type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetVectorSize(type) : 0;
}
// The scalar type, with as many lanes as `type` has.
Type alike(Type single, Type type) {
  const unsigned lanes = lanes_of(type);
  return lanes == 0 ? single : LLVMVectorType(single, lanes);
}
Code constant_like(Type type, Code single) {
  const unsigned lanes = lanes_of(type);
  if (lanes == 0) return single;
  std::vector<Code> all(lanes, single);
  return LLVMConstVector(all.data(), lanes);
}

}  // namespace

Emission::Emission(LLVMContextRef own_context, LLVMModuleRef own_module, CpuLevel own_level)
    : context(own_context),
      module(own_module),
      builder(LLVMCreateBuilderInContext(own_context)),
      entry_builder(LLVMCreateBuilderInContext(own_context)),
      level(own_level),
      has_fma(own_level >= CpuLevel::avx2),
      outer_(current) {
  current = this;
}
Emission::~Emission() {
  LLVMDisposeBuilder(entry_builder);
  LLVMDisposeBuilder(builder);
  current = outer_;
}
Emission& emission() { return *current; }

// ---- Types.

Type bit_type() { return LLVMInt1TypeInContext(context()); }
Type integer_type(unsigned bits) { return LLVMIntTypeInContext(context(), bits); }
Type float_type() { return LLVMFloatTypeInContext(context()); }
Type double_type() { return LLVMDoubleTypeInContext(context()); }
Type pointer_type() { return LLVMPointerTypeInContext(context(), 0); }
Type vector_of(Type single) {
  const unsigned lanes = emission().lanes;
  return lanes == 1 ? single : LLVMVectorType(single, lanes);
}
Type single_of(Type type) { return lanes_of(type) == 0 ? type : LLVMGetElementType(type); }
bool is_float(Type type) { return LLVMGetTypeKind(single_of(type)) != LLVMIntegerTypeKind; }
unsigned bits_of(Type single) {
  switch (LLVMGetTypeKind(single)) {
    case LLVMFloatTypeKind: return 32;
    case LLVMDoubleTypeKind: return 64;
    case LLVMHalfTypeKind: return 16;
    default: return LLVMGetIntTypeWidth(single);
  }
}

Type memory_type(DType dtype) {
  if (dtype == DType::f32) return float_type();
  if (dtype == DType::f64) return double_type();
  return integer_type(static_cast<unsigned>(8 * size_of(dtype)));
}
Type computed_type(DType dtype) {
  if (is_boolean(dtype)) return bit_type();
  if (dtype == DType::f16 || dtype == DType::bf16) return float_type();
  return memory_type(dtype);
}

// ---- Constants.

Code integer(Type type, uint64_t value) {
  return constant_like(type, LLVMConstInt(single_of(type), value, 0));
}
Code number(Type type, double value) {
  return constant_like(type, LLVMConstReal(single_of(type), value));
}
Code zero(Type type) { return LLVMConstNull(type); }
Code index(int64_t value) { return integer(integer_type(64), static_cast<uint64_t>(value)); }
Code truth(bool value) { return integer(bit_type(), value ? 1 : 0); }
Code ascending(Type single, int64_t step) {
  const unsigned lanes = emission().lanes;
  if (lanes == 1) return zero(single);
  std::vector<Code> all;
  for (unsigned i = 0; i < lanes; ++i) {
    all.push_back(integer(single, static_cast<uint64_t>(i * step)));
  }
  return LLVMConstVector(all.data(), lanes);
}

// ---- Arithmetic.

Code add(Code a, Code b) {
  return is_float(type_of(a)) ? LLVMBuildFAdd(builder(), a, b, "")
                              : LLVMBuildAdd(builder(), a, b, "");
}
Code subtract(Code a, Code b) {
  return is_float(type_of(a)) ? LLVMBuildFSub(builder(), a, b, "")
                              : LLVMBuildSub(builder(), a, b, "");
}
Code multiply(Code a, Code b) {
  return is_float(type_of(a)) ? LLVMBuildFMul(builder(), a, b, "")
                              : LLVMBuildMul(builder(), a, b, "");
}
Code divide(Code a, Code b) { return LLVMBuildFDiv(builder(), a, b, ""); }
Code multiply_add(Code a, Code b, Code c) {
  if (!emission().has_fma) return add(multiply(a, b), c);
  return of_float("llvm.fma", std::array{a, b, c});
}
Code negative_multiply_add(Code a, Code b, Code c) {
  if (!emission().has_fma) return subtract(c, multiply(a, b));
  return of_float("llvm.fma", std::array{negative(a), b, c});
}
Code negative(Code a) {
  return is_float(type_of(a)) ? LLVMBuildFNeg(builder(), a, "") : LLVMBuildNeg(builder(), a, "");
}
Code bit_and(Code a, Code b) { return LLVMBuildAnd(builder(), a, b, ""); }
Code bit_or(Code a, Code b) { return LLVMBuildOr(builder(), a, b, ""); }
Code bit_xor(Code a, Code b) { return LLVMBuildXor(builder(), a, b, ""); }
Code bit_not(Code a) { return LLVMBuildNot(builder(), a, ""); }
Code shift_left(Code a, Code b) { return LLVMBuildShl(builder(), a, b, ""); }
Code shift_right(Code a, Code b, bool is_signed) {
  return is_signed ? LLVMBuildAShr(builder(), a, b, "") : LLVMBuildLShr(builder(), a, b, "");
}
Code select(Code condition, Code yes, Code no) {
  return LLVMBuildSelect(builder(), condition, yes, no, "");
}
Code of_float(const char* intrinsic, std::span<const Code> operands) {
  const std::string_view name = intrinsic;
  Type type = type_of(operands[0]);
  const Code function = LLVMGetIntrinsicDeclaration(
      emission().module, LLVMLookupIntrinsicID(name.data(), name.size()), &type, 1);
  std::vector<Code> arguments(operands.begin(), operands.end());
  return LLVMBuildCall2(builder(), LLVMGlobalGetValueType(function), function, arguments.data(),
                        static_cast<unsigned>(arguments.size()), "");
}

Code equal(Code a, Code b) {
  return is_float(type_of(a)) ? LLVMBuildFCmp(builder(), LLVMRealOEQ, a, b, "")
                              : LLVMBuildICmp(builder(), LLVMIntEQ, a, b, "");
}
Code not_equal(Code a, Code b) {
  return is_float(type_of(a)) ? LLVMBuildFCmp(builder(), LLVMRealUNE, a, b, "")
                              : LLVMBuildICmp(builder(), LLVMIntNE, a, b, "");
}
Code less(Code a, Code b, bool is_signed) {
  if (is_float(type_of(a))) return LLVMBuildFCmp(builder(), LLVMRealOLT, a, b, "");
  return LLVMBuildICmp(builder(), is_signed ? LLVMIntSLT : LLVMIntULT, a, b, "");
}
Code less_equal(Code a, Code b, bool is_signed) {
  if (is_float(type_of(a))) return LLVMBuildFCmp(builder(), LLVMRealOLE, a, b, "");
  return LLVMBuildICmp(builder(), is_signed ? LLVMIntSLE : LLVMIntULE, a, b, "");
}
Code is_nan(Code a) { return LLVMBuildFCmp(builder(), LLVMRealUNO, a, a, ""); }
Code is_number(Code a) { return LLVMBuildFCmp(builder(), LLVMRealORD, a, a, ""); }

// ---- Conversions.

Code as_bits(Code a, Type single) {
  return LLVMBuildBitCast(builder(), a, alike(single, type_of(a)), "");
}
Code resized(Code a, Type single, bool is_signed) {
  const unsigned from = bits_of(single_of(type_of(a))), to = bits_of(single);
  const Type type = alike(single, type_of(a));
  if (from == to) return a;
  if (from > to) return LLVMBuildTrunc(builder(), a, type, "");
  return is_signed ? LLVMBuildSExt(builder(), a, type, "") : LLVMBuildZExt(builder(), a, type, "");
}
Code real_of_integer(Code a, Type single, bool is_signed) {
  const Type type = alike(single, type_of(a));
  return is_signed ? LLVMBuildSIToFP(builder(), a, type, "")
                   : LLVMBuildUIToFP(builder(), a, type, "");
}
Code resized_real(Code a, Type single) {
  const unsigned from = bits_of(single_of(type_of(a))), to = bits_of(single);
  const Type type = alike(single, type_of(a));
  if (from == to) return a;
  return from > to ? LLVMBuildFPTrunc(builder(), a, type, "")
                   : LLVMBuildFPExt(builder(), a, type, "");
}
Code saturated(Code a, Type single, bool is_signed) {
  const std::string_view name = is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
  Type types[] = {alike(single, type_of(a)), type_of(a)};
  const Code function = LLVMGetIntrinsicDeclaration(
      emission().module, LLVMLookupIntrinsicID(name.data(), name.size()), types, 2);
  return LLVMBuildCall2(builder(), LLVMGlobalGetValueType(function), function, &a, 1, "");
}

Code splat(Code single) {
  const unsigned lanes = emission().lanes;
  if (lanes == 1) return single;
  if (LLVMIsConstant(single) != 0) return constant_like(vector_of(type_of(single)), single);
  const Type type = vector_of(type_of(single));
  const Type places = LLVMVectorType(integer_type(32), lanes);
  const Code first = LLVMBuildInsertElement(builder(), LLVMGetPoison(type), single,
                                            integer(integer_type(32), 0), "");
  return LLVMBuildShuffleVector(builder(), first, LLVMGetPoison(type), zero(places), "");
}
Code lane(Code vector, unsigned place) {
  if (lanes_of(type_of(vector)) == 0) return vector;
  return LLVMBuildExtractElement(builder(), vector, integer(integer_type(32), place), "");
}
Code half_of(Code vector, bool upper) {
  const unsigned half = lanes_of(type_of(vector)) / 2;
  std::vector<Code> places;
  for (unsigned i = 0; i < half; ++i) {
    places.push_back(integer(integer_type(32), i + (upper ? half : 0)));
  }
  return LLVMBuildShuffleVector(builder(), vector, LLVMGetPoison(type_of(vector)),
                                LLVMConstVector(places.data(), half), "");
}

// ---- Memory.

Code variable(Type type) {
  const Code place = LLVMBuildAlloca(emission().entry_builder, type, "");
  if (lanes_of(type) != 0 || LLVMGetTypeKind(type) == LLVMArrayTypeKind) {
    LLVMSetAlignment(place, 64);
  }
  return place;
}
Code load(Type type, Code pointer, unsigned alignment) {
  const Code value = LLVMBuildLoad2(builder(), type, pointer, "");
  LLVMSetAlignment(value, alignment);
  return value;
}
void store(Code value, Code pointer, unsigned alignment) {
  LLVMSetAlignment(LLVMBuildStore(builder(), value, pointer), alignment);
}
Code get(Code variable, Type type) { return LLVMBuildLoad2(builder(), type, variable, ""); }
void set(Code variable, Code value) { LLVMBuildStore(builder(), value, variable); }
Code element_at(Code pointer, Type element, Code place) {
  return LLVMBuildGEP2(builder(), element, pointer, &place, 1, "");
}
void copy_bytes(Code to, Code from, Code count) {
  LLVMBuildMemCpy(builder(), to, 1, from, 1, count);
}

namespace {

Code call_masked(std::string_view name, Type vector, std::span<Code> arguments) {
  Type types[] = {vector, pointer_type()};
  const Code function = LLVMGetIntrinsicDeclaration(
      emission().module, LLVMLookupIntrinsicID(name.data(), name.size()), types, 2);
  return LLVMBuildCall2(builder(), LLVMGlobalGetValueType(function), function, arguments.data(),
                        static_cast<unsigned>(arguments.size()), "");
}

}  // namespace

Code load_some(Type type, Code pointer, unsigned alignment, Code mask) {
  Code arguments[] = {pointer, integer(integer_type(32), alignment), mask, zero(type)};
  return call_masked("llvm.masked.load", type, arguments);
}
void store_some(Code value, Code pointer, unsigned alignment, Code mask) {
  Code arguments[] = {value, pointer, integer(integer_type(32), alignment), mask};
  call_masked("llvm.masked.store", type_of(value), arguments);
}

// ---- Control flow.

Block new_block(const char* name) {
  return LLVMAppendBasicBlockInContext(context(), emission().function, name);
}
void go_to(Block block) { LLVMBuildBr(builder(), block); }
void continue_at(Block block) { LLVMPositionBuilderAtEnd(builder(), block); }

namespace {

void branch(Code condition, Block yes, Block no, bool rarely) {
  const Code instruction = LLVMBuildCondBr(builder(), condition, yes, no);
  if (!rarely) return;
  constexpr std::string_view kKind = "prof", kName = "branch_weights";
  const LLVMMetadataRef weights[] = {LLVMMDStringInContext2(context(), kName.data(), kName.size()),
                                     LLVMValueAsMetadata(integer(integer_type(32), 1)),
                                     LLVMValueAsMetadata(integer(integer_type(32), 2000))};
  LLVMMetadataRef all[] = {weights[0], weights[1], weights[2]};
  LLVMSetMetadata(instruction,
                  LLVMGetMDKindIDInContext(context(), kKind.data(), unsigned{kKind.size()}),
                  LLVMMetadataAsValue(context(), LLVMMDNodeInContext2(context(), all, 3)));
}

}  // namespace

void when(Code condition, bool rare, FunctionRef<void()> body) {
  const Block inside = new_block("when"), after = new_block("then");
  branch(condition, inside, after, rare);
  continue_at(inside);
  body();
  go_to(after);
  continue_at(after);
}
void when(Code condition, FunctionRef<void()> yes, FunctionRef<void()> no) {
  const Block first = new_block("yes"), second = new_block("no"), after = new_block("then");
  branch(condition, first, second, false);
  continue_at(first);
  yes();
  go_to(after);
  continue_at(second);
  no();
  go_to(after);
  continue_at(after);
}

void loop(Code begin, Code end, int64_t step, FunctionRef<void(Code place)> body) {
  const Block before = LLVMGetInsertBlock(builder());
  const Block inside = new_block("loop"), after = new_block("after");
  branch(less(begin, end, true), inside, after, false);
  continue_at(inside);
  Code place = LLVMBuildPhi(builder(), type_of(begin), "");
  body(place);
  Code next = LLVMBuildNSWAdd(builder(), place, index(step), "");
  Block last = LLVMGetInsertBlock(builder());
  branch(less(next, end, true), inside, after, false);
  Code values[] = {begin, next};
  Block blocks[] = {before, last};
  LLVMAddIncoming(place, values, blocks, 2);
  continue_at(after);
}

Code all_lanes(Code condition) {
  if (lanes_of(type_of(condition)) == 0) return condition;
  return of_float("llvm.vector.reduce.and", std::array{condition});
}

Code unless_all(Code condition, Code usual, FunctionRef<Code()> other) {
  const Code result = variable(type_of(usual));
  set(result, usual);
  when(bit_not(all_lanes(condition)), true, [&] { set(result, other()); });
  return get(result, type_of(usual));
}

}  // namespace plait::cpu::code
