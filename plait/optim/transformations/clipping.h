// Transformations that bound updates, and what to do where they are not finite.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "plait/optim/transformations/transformation.h"

namespace plait::optim {

Transformation clip(Number max_delta);  // each element to [-max_delta, max_delta]
// Scales each update down whose root of the mean square is above the threshold.
Transformation clip_by_block_rms(Number threshold);
// Scales each update down whose own norm is above max_norm.
Transformation clip_by_norm(Number max_norm);
// Scales all updates down together if their common norm is above max_norm.
Transformation clip_by_global_norm(Number max_norm);
// Scales the updates of each unit down whose norm is above `clipping` times the norm of its
// parameters. The axes of a unit are those of unitwise_norm.
Transformation adaptive_grad_clip(Number clipping, Number eps = 1e-3,
                                  const std::optional<std::vector<int64_t>>& axis = {});
// The norm of each unit of a parameter, broadcast to its shape: along the axes, or by the rank as
// for layers whose last axis is their output: all of a vector, the first axis of a matrix, the
// first three of a convolution.
Tensor unitwise_norm(const Tensor& x, const std::optional<std::vector<int64_t>>& axis = {});
// A gradient whose units have at most a norm: g_norm are the norms that they have, max_norm those
// that they may have, both of the shape of the gradient.
Tensor unitwise_clip(const Tensor& g_norm, const Tensor& max_norm, const Tensor& grad,
                     double div_eps = 1e-6);

// Clips the gradient of each example, along the first axis, to a norm; returns their sum, and how
// many were clipped.
std::pair<Tensors, Tensor> per_example_global_norm_clip(const Tensors& grads,
                                                        const Operand& l2_norm_clip);
// The same for each parameter by itself, to equal parts of the norm or to parts by the sizes;
// returns for each parameter how many were clipped.
std::pair<Tensors, Tensors> per_example_layer_norm_clip(const Tensors& grads,
                                                        double global_l2_norm_clip,
                                                        bool uniform = true);
// Clips the gradient of each example, along the first axis of the updates, adds noise to their sum,
// and divides by their number.
Transformation differentially_private_aggregate(Number l2_norm_clip, Number noise_multiplier,
                                                const Tensor& key);
// Adds normal noise of variance eta / (1 + count)^gamma to the updates.
Transformation add_noise(Number eta, Number gamma, const Tensor& key);

// Replaces NaN by zero; the state says for each parameter whether there was one.
Transformation zero_nans();
// Changes updates that would make a parameter negative, so that it becomes zero.
Transformation keep_params_nonnegative();
// Passes the updates on; CheckError that names the parameter if one has a NaN or an infinity.
Transformation expect_finite();

}  // namespace plait::optim
