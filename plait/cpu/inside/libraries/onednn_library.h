// oneDNN's C++ interface, with the library loaded on first use, so that programs without products
// do not pay for its tens of megabytes and its OpenMP.
#pragma once

#include <dnnl.h>

namespace plait {

// The address of a function of oneDNN. Throws IoError if the library is not available.
void* onednn_function(const char* name);
// The address of an optional function; null if the library does not have it.
void* onednn_function_if_any(const char* name);

}  // namespace plait

#define PLAIT_ONEDNN(name)                                                  \
  ([] {                                                                     \
    static const auto function =                                            \
        reinterpret_cast<decltype(&(name))>(plait::onednn_function(#name)); \
    return function;                                                        \
  }())

// The functions that Plait calls through the C++ interface. A function that is not in this list is
// undefined when the library is linked.
#define dnnl_dilated_convolution_backward_data_desc_init \
  PLAIT_ONEDNN(dnnl_dilated_convolution_backward_data_desc_init)
#define dnnl_dilated_convolution_backward_weights_desc_init \
  PLAIT_ONEDNN(dnnl_dilated_convolution_backward_weights_desc_init)
#define dnnl_dilated_convolution_forward_desc_init \
  PLAIT_ONEDNN(dnnl_dilated_convolution_forward_desc_init)
#define dnnl_engine_create PLAIT_ONEDNN(dnnl_engine_create)
#define dnnl_engine_destroy PLAIT_ONEDNN(dnnl_engine_destroy)
#define dnnl_matmul_desc_init PLAIT_ONEDNN(dnnl_matmul_desc_init)
#define dnnl_memory_create PLAIT_ONEDNN(dnnl_memory_create)
#define dnnl_memory_desc_equal PLAIT_ONEDNN(dnnl_memory_desc_equal)
#define dnnl_memory_desc_get_size PLAIT_ONEDNN(dnnl_memory_desc_get_size)
#define dnnl_memory_desc_init_submemory PLAIT_ONEDNN(dnnl_memory_desc_init_submemory)
#define dnnl_memory_desc_init_by_strides PLAIT_ONEDNN(dnnl_memory_desc_init_by_strides)
#define dnnl_memory_desc_init_by_tag PLAIT_ONEDNN(dnnl_memory_desc_init_by_tag)
#define dnnl_memory_destroy PLAIT_ONEDNN(dnnl_memory_destroy)
#define dnnl_memory_set_data_handle_v2 PLAIT_ONEDNN(dnnl_memory_set_data_handle_v2)
#define dnnl_post_ops_append_sum PLAIT_ONEDNN(dnnl_post_ops_append_sum)
#define dnnl_post_ops_append_sum_v2 PLAIT_ONEDNN(dnnl_post_ops_append_sum_v2)
#define dnnl_post_ops_create PLAIT_ONEDNN(dnnl_post_ops_create)
#define dnnl_post_ops_destroy PLAIT_ONEDNN(dnnl_post_ops_destroy)
#define dnnl_primitive_attr_create PLAIT_ONEDNN(dnnl_primitive_attr_create)
#define dnnl_primitive_attr_destroy PLAIT_ONEDNN(dnnl_primitive_attr_destroy)
#define dnnl_primitive_attr_set_post_ops PLAIT_ONEDNN(dnnl_primitive_attr_set_post_ops)
#define dnnl_primitive_attr_set_scratchpad_mode \
  PLAIT_ONEDNN(dnnl_primitive_attr_set_scratchpad_mode)
#define dnnl_primitive_create PLAIT_ONEDNN(dnnl_primitive_create)
#define dnnl_primitive_desc_destroy PLAIT_ONEDNN(dnnl_primitive_desc_destroy)
#define dnnl_primitive_desc_iterator_create PLAIT_ONEDNN(dnnl_primitive_desc_iterator_create)
#define dnnl_primitive_desc_iterator_destroy PLAIT_ONEDNN(dnnl_primitive_desc_iterator_destroy)
#define dnnl_primitive_desc_iterator_fetch PLAIT_ONEDNN(dnnl_primitive_desc_iterator_fetch)
#define dnnl_primitive_desc_query PLAIT_ONEDNN(dnnl_primitive_desc_query)
#define dnnl_primitive_desc_query_md PLAIT_ONEDNN(dnnl_primitive_desc_query_md)
#define dnnl_primitive_destroy PLAIT_ONEDNN(dnnl_primitive_destroy)
#define dnnl_primitive_execute PLAIT_ONEDNN(dnnl_primitive_execute)
#define dnnl_reorder_primitive_desc_create PLAIT_ONEDNN(dnnl_reorder_primitive_desc_create)
#define dnnl_set_max_cpu_isa PLAIT_ONEDNN(dnnl_set_max_cpu_isa)
#define dnnl_stream_create PLAIT_ONEDNN(dnnl_stream_create)
#define dnnl_stream_destroy PLAIT_ONEDNN(dnnl_stream_destroy)

#include <dnnl.hpp>
