// Norms with running statistics, and over neighbouring channels.
#include "plait/nn/layers/batch_norm.h"
#include "plait/nn/layers/instance_norm.h"
#include "plait/nn/layers/norm_layers.h"

#include "tests/oracles/layer_cases_simple.h"

namespace plait {
namespace {

constexpr std::optional<double> kCumulative = std::nullopt;

const LayerCases kOfBatches{
    ready("batch_norm", nn::BatchNorm::init(4, {.dtype = kF64})),
    ready("batch_norm_eval", nn::BatchNorm::init(4, {.dtype = kF64})),
    ready("batch_norm1d", nn::BatchNorm1d::init(4, {.momentum = 0.3, .dtype = kF64})),
    ready("batch_norm1d_of_rows", nn::BatchNorm1d::init(4, {.eps = 0.1, .dtype = kF64})),
    ready("batch_norm1d_cumulative",
          nn::BatchNorm1d::init(4, {.momentum = kCumulative, .dtype = kF64})),
    ready("batch_norm2d", nn::BatchNorm2d::init(4, {.affine = false, .dtype = kF64})),
    ready("batch_norm2d_eval", nn::BatchNorm2d::init(4, {.dtype = kF64})),
    ready("batch_norm2d_cumulative",
          nn::BatchNorm2d::init(4, {.momentum = kCumulative, .dtype = kF64})),
    ready("batch_norm3d", nn::BatchNorm3d::init(4, {.dtype = kF64})),
    ready("batch_norm3d_untracked_eval",
          nn::BatchNorm3d::init(4, {.track_running_stats = false, .dtype = kF64})),
    ready("sync_batch_norm", nn::SyncBatchNorm::init(4, "", {.dtype = kF64})),
};

const LayerCases kOfInstances{
    ready("instance_norm1d", nn::InstanceNorm1d::init(4, {.dtype = kF64})),
    ready(
        "instance_norm1d_tracked",
        nn::InstanceNorm1d::init(4, {.affine = true, .track_running_stats = true, .dtype = kF64})),
    ready(
        "instance_norm2d_tracked",
        nn::InstanceNorm2d::init(4, {.momentum = 0.4, .track_running_stats = true, .dtype = kF64})),
    ready(
        "instance_norm2d_tracked_eval",
        nn::InstanceNorm2d::init(4, {.affine = true, .track_running_stats = true, .dtype = kF64})),
    ready(
        "instance_norm2d_of_one",
        nn::InstanceNorm2d::init(4, {.affine = true, .track_running_stats = true, .dtype = kF64})),
    ready("instance_norm2d_without_momentum",
          nn::InstanceNorm2d::init(
              4, {.momentum = kCumulative, .track_running_stats = true, .dtype = kF64})),
    ready("instance_norm3d_eval",
          nn::InstanceNorm3d::init(4, {.eps = 0.01, .affine = true, .dtype = kF64})),
};

const LayerCases kOfNeighbours{
    ready("local_response_norm", nn::LocalResponseNorm{4, 0.3, 0.6, 1.5}),
    ready("local_response_norm_of_lines", nn::LocalResponseNorm{.size = 3}),
    ready("cross_map_lrn2d", nn::CrossMapLRN2d{3, 0.3, 0.6, 1.5}),
};

}  // namespace
}  // namespace plait
