// Layers that rearrange, pad or resample.
#include "plait/nn/layers/padding_layers.h"
#include "plait/nn/layers/resampling_layers.h"
#include "plait/nn/layers/shape_layers.h"

#include "tests/oracles/layer_cases_simple.h"

namespace plait {
namespace {

const LayerCases kRearranged{
    ready("identity", nn::Identity{}),
    ready("flatten", nn::Flatten{}),
    ready("flatten_first", nn::Flatten{.start_dim = 0, .end_dim = 2}),
    ready("flatten_a_scalar", nn::Flatten{.start_dim = 0}),
    ready("unflatten", nn::Unflatten{.dim = 1, .unflattened_size = {2, -1}}),
    ready("pixel_shuffle", nn::PixelShuffle{.upscale_factor = 2}),
    ready("pixel_unshuffle", nn::PixelUnshuffle{.downscale_factor = 3}),
    ready("channel_shuffle", nn::ChannelShuffle{.groups = 2}),
    ready("channel_shuffle_of_volumes", nn::ChannelShuffle{.groups = 2}),
    ready("unfold", nn::Unfold{{2, 3}, {2}, {1}, {2}}),
    ready("fold", nn::Fold{{5, 6}, {2, 3}, {1}, {1}, {2}}),
};

const LayerCases kPadded{
    ready("zero_pad1d", nn::ZeroPad1d{{-1, 2}}),
    ready("zero_pad2d", nn::ZeroPad2d{{-1, 2, 1, -2}}),
    ready("zero_pad3d", nn::ZeroPad3d{{-1, 2, 1, -2, 0, -1}}),
    ready("zero_pad2d_all_around", nn::ZeroPad2d{{2}}),
    ready("constant_pad1d", nn::ConstantPad1d{{-1, -1}, 1.5}),
    ready("constant_pad2d", nn::ConstantPad2d{{-1, -1, 1, -2}, 1.5}),
    ready("constant_pad3d", nn::ConstantPad3d{{-1, -1, 1, -2, 0, 3}, 1.5}),
    ready("constant_pad1d_of_one", nn::ConstantPad1d{{3}, -2}),
    ready("reflection_pad1d", nn::ReflectionPad1d{{1, 2}}),
    ready("reflection_pad2d", nn::ReflectionPad2d{{1, 2, 0, 1}}),
    ready("reflection_pad3d", nn::ReflectionPad3d{{1, 2, 0, 1, 2, 0}}),
    ready("replication_pad1d", nn::ReplicationPad1d{{1, 2}}),
    ready("replication_pad2d", nn::ReplicationPad2d{{1, 2, 0, 9}}),
    ready("replication_pad3d", nn::ReplicationPad3d{{1, 2, 0, 9, 2, 0}}),
    ready("circular_pad1d", nn::CircularPad1d{{1, 2}}),
    ready("circular_pad2d", nn::CircularPad2d{{1, 2, 0, 1}}),
    ready("circular_pad3d", nn::CircularPad3d{{1, 2, 0, 1, 2, 0}}),
};

const LayerCases kResampled{
    ready("upsample1d_size", nn::Upsample{.size = {9}}),
    ready("upsample2d_scales", nn::Upsample{.scale_factor = {1.7, 2.3}}),
    ready("upsample3d_scale", nn::Upsample{.scale_factor = {2}}),
    ready("upsample2d_nearest_exact",
          nn::Upsample{.size = {5}, .mode = Interpolation::nearest_exact}),
    ready("upsample1d_linear", nn::Upsample{.scale_factor = {1.5}, .mode = Interpolation::linear}),
    ready("upsample2d_linear",
          nn::Upsample{.size = {9, 3}, .mode = Interpolation::linear, .align_corners = true}),
    ready("upsample3d_linear",
          nn::Upsample{.size = {9, 3, 4}, .mode = Interpolation::linear, .align_corners = true}),
    ready("upsample2d_recomputed", nn::Upsample{.scale_factor = {1.7, 0.6},
                                                .mode = Interpolation::linear,
                                                .recompute_scale_factor = true}),
    ready("upsample2d_recomputed_whole",
          nn::Upsample{
              .scale_factor = {2}, .mode = Interpolation::linear, .recompute_scale_factor = true}),
    ready("upsample2d_cubic", nn::Upsample{.scale_factor = {1.5}, .mode = Interpolation::cubic}),
    ready("upsample2d_cubic_corners",
          nn::Upsample{.size = {9, 4}, .mode = Interpolation::cubic, .align_corners = true}),
    ready("upsample2d_area", nn::Upsample{.size = {3}, .mode = Interpolation::area}),
    ready("upsampling_nearest2d", nn::UpsamplingNearest2d{.scale_factor = {2}}),
    ready("upsampling_bilinear2d", nn::UpsamplingBilinear2d{.size = {9, 5}}),
};

}  // namespace
}  // namespace plait
