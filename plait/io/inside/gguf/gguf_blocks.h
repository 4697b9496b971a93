// Blocks of quantised elements, as ggml defines them. A block has its scales as f16, mostly in
// front, and its elements as integers of a few bits. The results are the bits that ggml's own
// functions and the Python package `gguf` compute in f32.
#pragma once

#include <cstdint>

namespace plait::gguf {

// 32 elements: scale · integer, and + minimum for those that end with 1.
void dequantize_q4_0(const uint8_t* block, float* elements);
void dequantize_q4_1(const uint8_t* block, float* elements);
void dequantize_q5_0(const uint8_t* block, float* elements);
void dequantize_q5_1(const uint8_t* block, float* elements);
void dequantize_q8_0(const uint8_t* block, float* elements);

// 256 elements, in groups of 16 or 32 with scales of their own, which are integers of a few bits.
void dequantize_q2_k(const uint8_t* block, float* elements);
void dequantize_q3_k(const uint8_t* block, float* elements);
void dequantize_q4_k(const uint8_t* block, float* elements);
void dequantize_q5_k(const uint8_t* block, float* elements);
void dequantize_q6_k(const uint8_t* block, float* elements);

// Places in a table of 16 numbers.
void dequantize_iq4_nl(const uint8_t* block, float* elements);
void dequantize_iq4_xs(const uint8_t* block, float* elements);
void dequantize_mxfp4(const uint8_t* block, float* elements);

// -1, 0 or 1, times the scale.
void dequantize_tq1_0(const uint8_t* block, float* elements);
void dequantize_tq2_0(const uint8_t* block, float* elements);

}  // namespace plait::gguf
