// A product as cuBLASLt describes it: D = epilogue(alpha op(A) op(B) + beta C).
#pragma once

#include <cstddef>
#include <cstdint>

#include "tests/cuda_emulator/abi/cublaslt.h"

namespace emulator {

struct MatrixLayout {
  uint32_t type = 0;
  int32_t order = 0;  // 0: by columns, 1: by rows
  uint64_t rows = 0, columns = 0;
  int64_t leading = 0;
  int32_t batches = 1;
  int64_t batch_stride = 0;  // in elements

  size_t element_bytes() const;
  int64_t lines() const { return static_cast<int64_t>(order ? rows : columns); }
  int64_t line_length() const { return static_cast<int64_t>(order ? columns : rows); }
  // Offset of an element in its matrix, in elements.
  int64_t at(int64_t row, int64_t column) const {
    return order ? row * leading + column : column * leading + row;
  }
};

struct MatmulDescription {
  int32_t compute_type = 0, scale_type = 0, pointer_mode = 0;
  int32_t transpose_a = 0, transpose_b = 0, transpose_c = 0;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  uint64_t bias = 0;  // addresses
  int64_t bias_batch_stride = 0;
  uint64_t auxiliary = 0;
  int64_t auxiliary_leading = 0, auxiliary_batch_stride = 0;
  uint64_t scales[4] = {};  // for A, B, C and D, for numbers of 8 bits
  uint64_t most_of_d = 0;
  int32_t auxiliary_type = -1, bias_type = -1;  // -1: the type of D
  int8_t fast_accumulation = 0;
};

struct MatmulPreference {
  uint64_t most_workspace = 0;
  uint32_t search_mode = 0, reductions = ~0u;
  uint32_t alignments[4] = {256, 256, 256, 256};  // that pointers are promised to have
  float most_waves = 0;
  uint64_t implementations = ~uint64_t{0};
};

struct Matmul {
  MatmulDescription description;
  MatrixLayout layouts[4];     // for A, B, C and D
  uint64_t matrices[4] = {};   // their addresses
  double alpha = 1, beta = 0;  // where they are given on the host
  double imaginary_alpha = 0, imaginary_beta = 0;
  uint64_t alpha_address = 0, beta_address = 0;  // else
  uint64_t workspace = 0;
  size_t workspace_bytes = 0;

  int64_t m() const { return static_cast<int64_t>(layouts[3].rows); }
  int64_t n() const { return static_cast<int64_t>(layouts[3].columns); }
  int64_t k() const {
    return static_cast<int64_t>(description.transpose_a ? layouts[0].rows : layouts[0].columns);
  }
  bool needs_c() const { return alpha_address || beta != 0 || imaginary_beta != 0; }
  uint32_t type_of_bias() const;
  uint32_t type_of_auxiliary() const {
    return description.auxiliary_type < 0 ? layouts[3].type
                                          : static_cast<uint32_t>(description.auxiliary_type);
  }
};

// The parts of an epilogue.
bool has_bias(uint32_t epilogue);
bool writes_bias(uint32_t epilogue);
bool has_auxiliary(uint32_t epilogue);

bool is_eight_bits(uint32_t type);
bool is_complex(uint32_t type);

// Checks the demands of the manual on layouts, types and epilogues; and of the pointers and the
// algorithm of a call.
cublasStatus_t check_description(const Matmul& matmul);
cublasStatus_t check_pointers(const Matmul& matmul, const uint32_t (&alignments)[4]);

// Multiplies, as work of a stream.
CUresult run_matmul(const Matmul& matmul);
// The same for one pair of complex matrices. Throws the Failure with which the work ends.
void run_complex_product(const Matmul& matmul, int64_t batch);

// The bytes that a product reads or writes. Throws the Failure with which the work ends.
char* product_bytes(uint64_t address, size_t bytes, bool reads);
// The address of a column, or of a row of a matrix by rows.
uint64_t line_address(const MatrixLayout& layout, uint64_t matrix, int64_t batch, int64_t line);

// Numbers of a type.
size_t bytes_of_type(uint32_t type);  // 0: not a type of matrices
double loaded_number(const char* bytes, uint32_t type);
void store_number(char* bytes, uint32_t type, double value);
// A number as the device multiplies it in TF32: with ten bits of mantissa.
float rounded_to_tf32(float value);

}  // namespace emulator
