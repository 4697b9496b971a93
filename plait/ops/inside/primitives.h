// Handles of the primitives that passes, kernels and transforms name: a misspelt one does not
// compile. All others are only found in the table, by what their declarations say (ir/primitive.h).
// Families of which every primitive is named have a struct instead (random_primitives.h, for
// example).
#pragma once

#include "plait/ir/primitive.h"

namespace plait {

// ---- Elementwise.
const ir::Primitive& exp_primitive();
const ir::Primitive& negative_primitive();
const ir::Primitive& add_primitive();
const ir::Primitive& subtract_primitive();
const ir::Primitive& multiply_primitive();
const ir::Primitive& divide_primitive();
const ir::Primitive& maximum_primitive();
const ir::Primitive& minimum_primitive();
const ir::Primitive& bitwise_and_primitive();
const ir::Primitive& bitwise_or_primitive();
const ir::Primitive& bitwise_xor_primitive();
const ir::Primitive& equal_primitive();
const ir::Primitive& select_primitive();
const ir::Primitive& clamp_primitive();

// ---- Arrays.
const ir::Primitive& convert_primitive();
const ir::Primitive& broadcast_primitive();
const ir::Primitive& reshape_primitive();
const ir::Primitive& permute_primitive();
const ir::Primitive& concat_primitive();
const ir::Primitive& iota_primitive();
const ir::Primitive& view_dtype_primitive();
const ir::Primitive& to_device_primitive();

// ---- Products.
const ir::Primitive& matmul_primitive();

// ---- Indexing.
const ir::Primitive& ragged_dot_primitive();
const ir::Primitive& ragged_outer_primitive();
const ir::Primitive& gather_primitive();
const ir::Primitive& nonzero_primitive();
const ir::Primitive& scatter_set_primitive();
const ir::Primitive& scatter_add_primitive();
const ir::Primitive& scatter_multiply_primitive();
const ir::Primitive& scatter_minimum_primitive();
const ir::Primitive& scatter_maximum_primitive();
const ir::Primitive& update_slice_primitive();

// ---- Reductions, scans and sorts.
const ir::Primitive& reduce_sum_primitive();
const ir::Primitive& reduce_squares_primitive();
const ir::Primitive& reduce_product_primitive();
const ir::Primitive& reduce_maximum_primitive();
const ir::Primitive& reduce_minimum_primitive();
const ir::Primitive& reduce_all_primitive();
const ir::Primitive& reduce_any_primitive();
const ir::Primitive& argmax_primitive();
const ir::Primitive& argmin_primitive();
const ir::Primitive& cumulative_sum_primitive();
const ir::Primitive& cumulative_product_primitive();
const ir::Primitive& cumulative_maximum_primitive();
const ir::Primitive& cumulative_minimum_primitive();
const ir::Primitive& cumulative_logsumexp_primitive();
const ir::Primitive& linear_recurrence_primitive();
const ir::Primitive& sort_primitive();
const ir::Primitive& topk_primitive();
const ir::Primitive& searchsorted_primitive();
const ir::Primitive& unique_primitive();

// ---- Layers.
const ir::Primitive& convolution_primitive();
const ir::Primitive& convolution_input_gradient_primitive();
const ir::Primitive& convolution_weight_gradient_primitive();
const ir::Primitive& window_sum_primitive();
const ir::Primitive& window_spread_primitive();
const ir::Primitive& window_maximum_primitive();
const ir::Primitive& window_maximum_index_primitive();
const ir::Primitive& plane_take_primitive();
const ir::Primitive& plane_put_primitive();
const ir::Primitive& softmax_primitive();
const ir::Primitive& log_softmax_primitive();
const ir::Primitive& standardize_primitive();
const ir::Primitive& lattice_recurrence_primitive();
const ir::Primitive& lattice_logsumexp_primitive();

// ---- Names of values.
const ir::Primitive& checkpoint_name_primitive();

}  // namespace plait
