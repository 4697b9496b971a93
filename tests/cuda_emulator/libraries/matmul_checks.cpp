// The rules of cuBLASLt's manual for a product.
#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "tests/cuda_emulator/libraries/matmul.h"

namespace emulator {
namespace {

bool is_of(uint32_t type, std::initializer_list<int> types) {
  return std::find(types.begin(), types.end(), static_cast<int>(type)) != types.end();
}

bool are_layouts_sound(const Matmul& matmul) {
  const MatrixLayout& d = matmul.layouts[3];
  for (const MatrixLayout& layout : matmul.layouts) {
    if (!layout.rows || !layout.columns || layout.leading < layout.line_length()) return false;
    if (layout.batches != d.batches || layout.batches < 1) return false;
  }
  const int64_t d_elements = (d.lines() - 1) * d.leading + d.line_length();
  return d.batches == 1 || std::llabs(d.batch_stride) >= d_elements;
}

bool do_sizes_match(const Matmul& matmul) {
  const auto& [a, b, c, d] = matmul.layouts;
  const MatmulDescription& asked = matmul.description;
  const uint64_t a_rows = asked.transpose_a ? a.columns : a.rows,
                 a_columns = asked.transpose_a ? a.rows : a.columns;
  const uint64_t b_rows = asked.transpose_b ? b.columns : b.rows,
                 b_columns = asked.transpose_b ? b.rows : b.columns;
  return a_rows == d.rows && b_columns == d.columns && a_columns == b_rows && c.rows == d.rows &&
         c.columns == d.columns && c.order == d.order;
}

bool are_types_supported(const Matmul& matmul) {
  const auto& [a, b, c, d] = matmul.layouts;
  const int compute = matmul.description.compute_type, scale = matmul.description.scale_type;
  const bool is_double = compute == CUBLAS_COMPUTE_64F || compute == CUBLAS_COMPUTE_64F_PEDANTIC;
  if (is_double || is_complex(a.type)) {
    const bool known =
        is_double ? is_of(a.type, {CUDA_R_64F, CUDA_C_64F})
                  : is_of(a.type, {CUDA_C_32F}) &&
                        (compute == CUBLAS_COMPUTE_32F || compute == CUBLAS_COMPUTE_32F_PEDANTIC ||
                         compute == CUBLAS_COMPUTE_32F_FAST_TF32);
    return known && static_cast<uint32_t>(scale) == a.type && b.type == a.type &&
           c.type == a.type && d.type == a.type;
  }
  if (scale != CUDA_R_32F) return false;
  const bool single =
      is_of(a.type, {CUDA_R_32F}) && b.type == a.type && c.type == a.type && d.type == a.type;
  if (compute == CUBLAS_COMPUTE_32F_FAST_TF32) return single;
  if (compute != CUBLAS_COMPUTE_32F && compute != CUBLAS_COMPUTE_32F_PEDANTIC) return false;
  if (single) return true;
  if (is_of(a.type, {CUDA_R_16F, CUDA_R_16BF})) {
    return b.type == a.type && c.type == d.type &&
           (d.type == a.type || is_of(d.type, {CUDA_R_32F}));
  }
  if (!is_eight_bits(a.type) || !is_eight_bits(b.type)) return false;
  if (is_of(a.type, {CUDA_R_8F_E5M2}) && b.type == a.type) return false;
  if (is_eight_bits(d.type)) return is_of(c.type, {CUDA_R_16F, CUDA_R_16BF});
  return c.type == d.type && is_of(d.type, {CUDA_R_16F, CUDA_R_16BF, CUDA_R_32F});
}

// Numbers of 8 bits: A transposed, B not, everything in units of 16 bytes.
bool keeps_rules_of_eight_bits(const Matmul& matmul) {
  if (!is_eight_bits(matmul.layouts[0].type)) return true;
  const MatmulDescription& asked = matmul.description;
  if (asked.compute_type != CUBLAS_COMPUTE_32F || !asked.transpose_a || asked.transpose_b)
    return false;
  if (matmul.k() % 16 || matmul.m() % 16) return false;
  for (int k = 0; k < 4; ++k) {
    const MatrixLayout& layout = matmul.layouts[k];
    if (layout.order || (static_cast<uint64_t>(layout.leading) * layout.element_bytes()) % 16)
      return false;
  }
  return true;
}

bool is_epilogue_supported(const Matmul& matmul) {
  const MatmulDescription& asked = matmul.description;
  const uint32_t epilogue = asked.epilogue;
  if (epilogue == CUBLASLT_EPILOGUE_DEFAULT) return true;
  const uint32_t known[] = {
      CUBLASLT_EPILOGUE_RELU,          CUBLASLT_EPILOGUE_BIAS,      CUBLASLT_EPILOGUE_RELU_BIAS,
      CUBLASLT_EPILOGUE_GELU,          CUBLASLT_EPILOGUE_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_AUX,
      CUBLASLT_EPILOGUE_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_DGELU,     CUBLASLT_EPILOGUE_DGELU_BGRAD,
      CUBLASLT_EPILOGUE_BGRADA,        CUBLASLT_EPILOGUE_BGRADB};
  if (std::find(std::begin(known), std::end(known), epilogue) == std::end(known)) return false;
  if (asked.scale_type != CUDA_R_32F || matmul.layouts[3].order) return false;
  if (has_auxiliary(epilogue)) {
    return asked.auxiliary_leading >= matmul.m() && asked.auxiliary_leading % 8 == 0 &&
           asked.auxiliary_batch_stride % 8 == 0 &&
           (matmul.layouts[3].batches == 1 || asked.auxiliary_batch_stride);
  }
  return true;
}

bool is_aligned(uint64_t address, uint64_t alignment) {
  return alignment == 0 || address % alignment == 0;
}

}  // namespace

bool has_bias(uint32_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BIAS || epilogue == CUBLASLT_EPILOGUE_RELU_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_GELU_BIAS || epilogue == CUBLASLT_EPILOGUE_GELU_AUX_BIAS;
}

bool writes_bias(uint32_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_BGRADA || epilogue == CUBLASLT_EPILOGUE_BGRADB ||
         epilogue == CUBLASLT_EPILOGUE_DGELU_BGRAD;
}

bool has_auxiliary(uint32_t epilogue) { return epilogue & 128; }

bool is_complex(uint32_t type) { return is_of(type, {CUDA_C_32F, CUDA_C_64F}); }

bool is_eight_bits(uint32_t type) { return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2; }

size_t MatrixLayout::element_bytes() const { return bytes_of_type(type); }

uint32_t Matmul::type_of_bias() const {
  if (description.bias_type >= 0) return static_cast<uint32_t>(description.bias_type);
  if (is_eight_bits(layouts[0].type) && !is_of(layouts[3].type, {CUDA_R_16F, CUDA_R_16BF})) {
    return layouts[2].type == CUDA_R_16F ? CUDA_R_16F : CUDA_R_16BF;
  }
  return layouts[3].type;
}

cublasStatus_t check_description(const Matmul& matmul) {
  for (const MatrixLayout& layout : matmul.layouts) {
    if (!layout.element_bytes() || (layout.order != 0 && layout.order != 1))
      return CUBLAS_STATUS_NOT_SUPPORTED;
  }
  if (!are_layouts_sound(matmul) || !do_sizes_match(matmul)) return CUBLAS_STATUS_INVALID_VALUE;
  if (matmul.description.transpose_c) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (matmul.description.pointer_mode > (is_complex(matmul.layouts[0].type) ? 0 : 1))
    return CUBLAS_STATUS_NOT_SUPPORTED;
  const bool supported = are_types_supported(matmul) && keeps_rules_of_eight_bits(matmul) &&
                         is_epilogue_supported(matmul);
  return supported ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t check_pointers(const Matmul& matmul, const uint32_t (&alignments)[4]) {
  const MatmulDescription& asked = matmul.description;
  for (int k = 0; k < 4; ++k) {
    if (k == 2 && !matmul.needs_c() && !matmul.matrices[k]) continue;
    if (!matmul.matrices[k]) return CUBLAS_STATUS_INVALID_VALUE;
    const uint64_t least =
        is_eight_bits(matmul.layouts[0].type) ? 16 : matmul.layouts[k].element_bytes();
    if (!is_aligned(matmul.matrices[k], least)) return CUBLAS_STATUS_INVALID_VALUE;
    if (!is_aligned(matmul.matrices[k], alignments[k])) return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (has_bias(asked.epilogue) || writes_bias(asked.epilogue)) {
    if (!asked.bias || !is_aligned(asked.bias, bytes_of_type(matmul.type_of_bias())))
      return CUBLAS_STATUS_INVALID_VALUE;
  }
  // The manual: the pointer of the auxiliary matrix is aligned to 16 bytes.
  if (has_auxiliary(asked.epilogue) && (!asked.auxiliary || !is_aligned(asked.auxiliary, 16)))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (matmul.workspace_bytes && (!matmul.workspace || !is_aligned(matmul.workspace, 16)))
    return CUBLAS_STATUS_INVALID_VALUE;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace emulator
