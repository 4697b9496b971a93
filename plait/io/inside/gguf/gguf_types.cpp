#include "plait/io/inside/gguf/gguf_types.h"

#include <algorithm>
#include <array>

#include "plait/core/error.h"
#include "plait/io/inside/gguf/gguf_blocks.h"

namespace plait {
namespace {

using namespace gguf;

constexpr std::array kGgufTypes = {
    GgufType{0, "F32", 1, 4, DType::f32},
    GgufType{1, "F16", 1, 2, DType::f16},
    GgufType{2, "Q4_0", 32, 18, {}, dequantize_q4_0},
    GgufType{3, "Q4_1", 32, 20, {}, dequantize_q4_1},
    GgufType{6, "Q5_0", 32, 22, {}, dequantize_q5_0},
    GgufType{7, "Q5_1", 32, 24, {}, dequantize_q5_1},
    GgufType{8, "Q8_0", 32, 34, {}, dequantize_q8_0},
    GgufType{9, "Q8_1", 32, 40},
    GgufType{10, "Q2_K", 256, 84, {}, dequantize_q2_k},
    GgufType{11, "Q3_K", 256, 110, {}, dequantize_q3_k},
    GgufType{12, "Q4_K", 256, 144, {}, dequantize_q4_k},
    GgufType{13, "Q5_K", 256, 176, {}, dequantize_q5_k},
    GgufType{14, "Q6_K", 256, 210, {}, dequantize_q6_k},
    GgufType{15, "Q8_K", 256, 292},
    GgufType{16, "IQ2_XXS", 256, 66},
    GgufType{17, "IQ2_XS", 256, 74},
    GgufType{18, "IQ3_XXS", 256, 98},
    GgufType{19, "IQ1_S", 256, 50},
    GgufType{20, "IQ4_NL", 32, 18, {}, dequantize_iq4_nl},
    GgufType{21, "IQ3_S", 256, 110},
    GgufType{22, "IQ2_S", 256, 82},
    GgufType{23, "IQ4_XS", 256, 136, {}, dequantize_iq4_xs},
    GgufType{24, "I8", 1, 1, DType::i8},
    GgufType{25, "I16", 1, 2, DType::i16},
    GgufType{26, "I32", 1, 4, DType::i32},
    GgufType{27, "I64", 1, 8, DType::i64},
    GgufType{28, "F64", 1, 8, DType::f64},
    GgufType{29, "IQ1_M", 256, 56},
    GgufType{30, "BF16", 1, 2, DType::bf16},
    GgufType{34, "TQ1_0", 256, 54, {}, dequantize_tq1_0},
    GgufType{35, "TQ2_0", 256, 66, {}, dequantize_tq2_0},
    GgufType{39, "MXFP4", 32, 17, {}, dequantize_mxfp4},
    GgufType{40, "NVFP4", 64, 36},
    GgufType{41, "Q1_0", 128, 18},
};

template <class Wanted>
std::string names_of_types(Wanted wanted) {
  std::string names;
  for (const GgufType& type : kGgufTypes) {
    if (!wanted(type)) continue;
    if (!names.empty()) names += ", ";
    names += type.name;
  }
  return names;
}

}  // namespace

const GgufType& gguf_type(uint32_t number) {
  const auto* found = std::ranges::find(kGgufTypes, number, &GgufType::number);
  if (found != kGgufTypes.end()) return *found;
  throw ParseError("the type of its elements is {}, which is unknown; known are {}", number,
                   names_of_types([](const GgufType&) { return true; }));
}

std::string readable_gguf_types() {
  return names_of_types([](const GgufType& type) { return type.is_readable(); });
}

}  // namespace plait
