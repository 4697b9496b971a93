// The functions of cuBLASLt.
#include "tests/cuda_emulator/abi/cublaslt.h"

#include <cstring>
#include <span>

#include "tests/cuda_emulator/driver/state.h"
#include "tests/cuda_emulator/libraries/matmul.h"

namespace emulator {
namespace {

struct LtHandle {
  int device = 0;
};

struct LtObjects {
  Handles<LtHandle> handles;
  Handles<MatmulDescription> descriptions;
  Handles<MatrixLayout> layouts;
  Handles<MatmulPreference> preferences;
};

LtObjects& objects() {
  static auto* all = new LtObjects;
  return *all;
}

// Where an attribute is in its structure.
struct Field {
  int attribute;
  size_t offset, bytes;
};

constexpr Field kDescriptionFields[] = {
    {CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, offsetof(MatmulDescription, compute_type), 4},
    {CUBLASLT_MATMUL_DESC_SCALE_TYPE, offsetof(MatmulDescription, scale_type), 4},
    {CUBLASLT_MATMUL_DESC_POINTER_MODE, offsetof(MatmulDescription, pointer_mode), 4},
    {CUBLASLT_MATMUL_DESC_TRANSA, offsetof(MatmulDescription, transpose_a), 4},
    {CUBLASLT_MATMUL_DESC_TRANSB, offsetof(MatmulDescription, transpose_b), 4},
    {CUBLASLT_MATMUL_DESC_TRANSC, offsetof(MatmulDescription, transpose_c), 4},
    {CUBLASLT_MATMUL_DESC_EPILOGUE, offsetof(MatmulDescription, epilogue), 4},
    {CUBLASLT_MATMUL_DESC_BIAS_POINTER, offsetof(MatmulDescription, bias), 8},
    {CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, offsetof(MatmulDescription, bias_batch_stride), 8},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, offsetof(MatmulDescription, auxiliary), 8},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, offsetof(MatmulDescription, auxiliary_leading), 8},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE,
     offsetof(MatmulDescription, auxiliary_batch_stride), 8},
    {CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, offsetof(MatmulDescription, scales), 8},
    {CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, offsetof(MatmulDescription, scales) + 8, 8},
    {CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, offsetof(MatmulDescription, scales) + 16, 8},
    {CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, offsetof(MatmulDescription, scales) + 24, 8},
    {CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, offsetof(MatmulDescription, most_of_d), 8},
    {CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, offsetof(MatmulDescription, auxiliary_type), 4},
    {CUBLASLT_MATMUL_DESC_FAST_ACCUM, offsetof(MatmulDescription, fast_accumulation), 1},
    {CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, offsetof(MatmulDescription, bias_type), 4},
};

constexpr Field kLayoutFields[] = {
    {CUBLASLT_MATRIX_LAYOUT_TYPE, offsetof(MatrixLayout, type), 4},
    {CUBLASLT_MATRIX_LAYOUT_ORDER, offsetof(MatrixLayout, order), 4},
    {CUBLASLT_MATRIX_LAYOUT_ROWS, offsetof(MatrixLayout, rows), 8},
    {CUBLASLT_MATRIX_LAYOUT_COLS, offsetof(MatrixLayout, columns), 8},
    {CUBLASLT_MATRIX_LAYOUT_LD, offsetof(MatrixLayout, leading), 8},
    {CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, offsetof(MatrixLayout, batches), 4},
    {CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, offsetof(MatrixLayout, batch_stride), 8},
};

constexpr Field kPreferenceFields[] = {
    {CUBLASLT_MATMUL_PREF_SEARCH_MODE, offsetof(MatmulPreference, search_mode), 4},
    {CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, offsetof(MatmulPreference, most_workspace), 8},
    {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, offsetof(MatmulPreference, reductions), 4},
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, offsetof(MatmulPreference, alignments), 4},
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, offsetof(MatmulPreference, alignments) + 4, 4},
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, offsetof(MatmulPreference, alignments) + 8, 4},
    {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, offsetof(MatmulPreference, alignments) + 12, 4},
    {CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, offsetof(MatmulPreference, most_waves), 4},
    {CUBLASLT_MATMUL_PREF_IMPL_MASK, offsetof(MatmulPreference, implementations), 8},
};

const Field* field_of(std::span<const Field> fields, int attribute) {
  for (const Field& field : fields) {
    if (field.attribute == attribute) return &field;
  }
  return nullptr;
}

template <class F>
cublasStatus_t guarded(F&& body) {
  try {
    const std::lock_guard lock(driver_mutex());
    return body();
  } catch (const Failure& failure) {
    const bool is_capture = failure.result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    return is_capture ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_INVALID_VALUE;
  } catch (const std::bad_alloc&) {
    return CUBLAS_STATUS_ALLOC_FAILED;
  }
}

template <class T>
cublasStatus_t set_field(Handles<T>& known, const void* handle, std::span<const Field> fields,
                         int attribute, const void* value, size_t bytes) {
  return guarded([&] {
    T& object = known.at(handle);
    const Field* const field = field_of(fields, attribute);
    if (!field || !value || bytes != field->bytes) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(reinterpret_cast<char*>(&object) + field->offset, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
  });
}

template <class T, class H>
cublasStatus_t create(Handles<T>& known, H* handle, const T& object) {
  return guarded([&] {
    required(handle) = reinterpret_cast<H>(known.add(std::make_unique<T>(object)));
    return CUBLAS_STATUS_SUCCESS;
  });
}

template <class T>
cublasStatus_t destroy(Handles<T>& known, const void* handle) {
  return guarded([&] {
    known.take(handle);
    return CUBLAS_STATUS_SUCCESS;
  });
}

Matmul described(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                 cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  Matmul matmul;
  matmul.description = objects().descriptions.at(desc);
  const cublasLtMatrixLayout_t layouts[] = {a, b, c, d};
  for (int k = 0; k < 4; ++k) matmul.layouts[k] = objects().layouts.at(layouts[k]);
  return matmul;
}

// Algorithms here differ in the memory that they need, and in the alignment that they rely on.
constexpr uint64_t kAlgorithmMark = 0x706c6169745f6c74u;
constexpr size_t kUsefulWorkspace = size_t{1} << 20;

cublasLtMatmulHeuristicResult_t algorithm(size_t workspace, const MatmulPreference& preference) {
  cublasLtMatmulHeuristicResult_t result = {};
  result.algo.data[0] = kAlgorithmMark;
  result.algo.data[1] = workspace;
  std::memcpy(&result.algo.data[2], preference.alignments, sizeof preference.alignments);
  result.workspaceSize = workspace;
  result.state = CUBLAS_STATUS_SUCCESS;
  result.wavesCount = 1;
  return result;
}

void read_scalars(Matmul& matmul, const void* alpha, const void* beta) {
  if (matmul.description.pointer_mode == 1) {
    matmul.alpha_address = reinterpret_cast<uint64_t>(alpha);
    matmul.beta_address = reinterpret_cast<uint64_t>(beta);
    return;
  }
  const auto type = static_cast<uint32_t>(matmul.description.scale_type);
  const auto* const alpha_bytes = static_cast<const char*>(alpha);
  const auto* const beta_bytes = static_cast<const char*>(beta);
  const uint32_t part = type == CUDA_C_32F ? CUDA_R_32F : type == CUDA_C_64F ? CUDA_R_64F : type;
  matmul.alpha = loaded_number(alpha_bytes, part);
  matmul.beta = loaded_number(beta_bytes, part);
  if (!is_complex(type)) return;
  matmul.imaginary_alpha = loaded_number(alpha_bytes + bytes_of_type(part), part);
  matmul.imaginary_beta = loaded_number(beta_bytes + bytes_of_type(part), part);
}

// The checks of a call, and its place in the stream.
cublasStatus_t queue_matmul(Matmul matmul, const cublasLtMatmulAlgo_t* algorithm, CUstream stream,
                            const LtHandle& handle) {
  if (const cublasStatus_t status = check_description(matmul); status != CUBLAS_STATUS_SUCCESS)
    return status;
  uint32_t alignments[4] = {};
  if (algorithm) {
    if (algorithm->data[0] != kAlgorithmMark || matmul.workspace_bytes < algorithm->data[1])
      return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(alignments, &algorithm->data[2], sizeof alignments);
    matmul.workspace_bytes = algorithm->data[1];
  }
  if (const cublasStatus_t status = check_pointers(matmul, alignments);
      status != CUBLAS_STATUS_SUCCESS)
    return status;
  Stream& own = stream_of(stream);
  if (own.context->device != handle.device) return CUBLAS_STATUS_INVALID_VALUE;
  Work work;
  work.kind = CU_GRAPH_NODE_TYPE_KERNEL;
  work.run = [matmul] { return run_matmul(matmul); };
  enqueue(own, std::move(work));
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace emulator

using namespace emulator;

size_t cublasLtGetVersion() { return 120400; }

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED: return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH: return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_EXECUTION_FAILED: return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR: return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED: return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "CUBLAS_STATUS unknown";
}

const char* cublasLtGetStatusString(cublasStatus_t status) { return cublasLtGetStatusName(status); }

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return guarded([&] {
    if (!current_context() || current_context()->sticky) return CUBLAS_STATUS_NOT_INITIALIZED;
    LtHandle made{current_context()->device};
    required(handle) =
        reinterpret_cast<cublasLtHandle_t>(objects().handles.add(std::make_unique<LtHandle>(made)));
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return destroy(objects().handles, handle);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, int compute_type,
                                        int scale_type) {
  MatmulDescription made;
  made.compute_type = compute_type;
  made.scale_type = scale_type;
  return create(objects().descriptions, desc, made);
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  return destroy(objects().descriptions, desc);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, int attribute,
                                              const void* value, size_t bytes) {
  return set_field(objects().descriptions, desc, kDescriptionFields, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc, int attribute, void* value,
                                              size_t bytes, size_t* written) {
  return guarded([&] {
    const MatmulDescription& own = objects().descriptions.at(desc);
    const Field* const field = field_of(kDescriptionFields, attribute);
    if (!field || (bytes && !value) || (!bytes && !written) || (bytes && bytes < field->bytes))
      return CUBLAS_STATUS_INVALID_VALUE;
    if (written) *written = field->bytes;
    if (bytes)
      std::memcpy(value, reinterpret_cast<const char*>(&own) + field->offset, field->bytes);
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, int type, uint64_t rows,
                                          uint64_t columns, int64_t leading) {
  MatrixLayout made;
  made.type = static_cast<uint32_t>(type);
  made.rows = rows;
  made.columns = columns;
  made.leading = leading;
  return create(objects().layouts, layout, made);
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy(objects().layouts, layout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, int attribute,
                                                const void* value, size_t bytes) {
  return set_field(objects().layouts, layout, kLayoutFields, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return create(objects().preferences, preference, MatmulPreference());
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy(objects().preferences, preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    int attribute, const void* value,
                                                    size_t bytes) {
  return set_field(objects().preferences, preference, kPreferenceFields, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int wanted,
                                              cublasLtMatmulHeuristicResult_t* results,
                                              int* found) {
  return guarded([&] {
    objects().handles.at(handle);
    if (wanted < 1 || !results || !found) return CUBLAS_STATUS_INVALID_VALUE;
    *found = 0;
    const MatmulPreference asked =
        preference ? objects().preferences.at(preference) : MatmulPreference();
    const cublasStatus_t status = check_description(described(desc, a, b, c, d));
    if (status != CUBLAS_STATUS_SUCCESS) return status;
    if (asked.most_workspace >= kUsefulWorkspace)
      results[(*found)++] = algorithm(kUsefulWorkspace, asked);
    if (*found < wanted) results[(*found)++] = algorithm(0, asked);
    return CUBLAS_STATUS_SUCCESS;
  });
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                              cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                              cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, CUstream stream) {
  return guarded([&] {
    const LtHandle& own = objects().handles.at(handle);
    if (!current_context()) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (current_context()->sticky) return CUBLAS_STATUS_EXECUTION_FAILED;
    if (!alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
    Matmul matmul = described(desc, a_layout, b_layout, c_layout, d_layout);
    const void* const matrices[] = {a, b, c, d};
    for (int k = 0; k < 4; ++k) matmul.matrices[k] = reinterpret_cast<uint64_t>(matrices[k]);
    matmul.workspace = reinterpret_cast<uint64_t>(workspace);
    matmul.workspace_bytes = workspace_bytes;
    read_scalars(matmul, alpha, beta);
    return queue_matmul(matmul, algorithm, stream, own);
  });
}
