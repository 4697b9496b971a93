// Convolutions over one to three spatial dimensions. As in deep learning: the kernel is not turned
// round, so out[s] = Σ_k w[k] · x[s · stride + k · dilation − padding].
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plait/ops/neural/per_dimension.h"
#include "plait/ops/operand.h"

namespace plait {

// What is put around the input: as much at both ends, or "valid" (nothing), or "same": as many
// places come out as go in, divided by the stride and rounded up.
class Padding {
 public:
  using Ends = std::pair<Dim, Dim>;  // before, behind

  template <std::integral T>
  Padding(T all) : both_(static_cast<int64_t>(all)) {}                         // NOLINT
  Padding(PerDimension both) : both_(std::move(both)) {}                       // NOLINT
  Padding(std::initializer_list<int64_t> both) : both_(both) {}                // NOLINT
  Padding(std::vector<Ends> ends) : ends_(std::move(ends)), kind_(of_ends) {}  // NOLINT
  Padding(std::string_view name);                                              // NOLINT
  Padding(const char* name) : Padding(std::string_view(name)) {}               // NOLINT
  Padding(const std::string& name) : Padding(std::string_view(name)) {}        // NOLINT

  struct Dimension {
    Dim size;    // of the input
    Dim window;  // from its first element to its last
    int64_t stride = 1;
  };
  std::vector<Ends> of(std::span<const Dimension> dimensions, std::string_view function) const;

 private:
  enum Kind : uint8_t { of_both, of_ends, of_same };

  PerDimension both_ = 0;
  std::vector<Ends> ends_;
  Kind kind_ = of_both;
};

struct ConvolutionOptions {
  PerDimension stride = 1;
  Padding padding = 0;
  PerDimension dilation = 1;  // between neighbouring elements of the kernel
  int64_t groups = 1;         // each of as many input and output channels for itself
};

// x is [batch, channels, space…], or without the batch; w [outputs, channels / groups, space…]; the
// bias, where there is one, [outputs].
Tensor conv1d(const Tensor& x, const Tensor& w, const Tensor& bias = {},
              const ConvolutionOptions& options = {});
Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& bias = {},
              const ConvolutionOptions& options = {});
Tensor conv3d(const Tensor& x, const Tensor& w, const Tensor& bias = {},
              const ConvolutionOptions& options = {});

struct GeneralConvolutionOptions {
  // A letter a dimension: N batch, C channels, O outputs, I inputs a group; any others are spatial
  // dimensions, in the same letters for all three. Empty: NC…, OI…, NC….
  std::string x_layout = {}, w_layout = {}, out_layout = {};
  PerDimension stride = 1;
  Padding padding = 0;
  PerDimension dilation = 1;
  PerDimension input_dilation = 1;  // zeros are put between the elements of the input
  int64_t groups = 1;
};
Tensor conv_general(const Tensor& x, const Tensor& w,
                    const GeneralConvolutionOptions& options = {});

struct TransposedConvolutionOptions {
  PerDimension stride = 1;
  PerDimension padding = 0;         // what a convolution would have been padded with
  PerDimension output_padding = 0;  // further places behind: several sizes lead to the same one
  int64_t groups = 1;
  PerDimension dilation = 1;
};
// The derivative of a convolution with respect to its input, as an operation of its own; w is
// [channels, outputs / groups, space…].
Tensor conv_transpose1d(const Tensor& x, const Tensor& w, const Tensor& bias = {},
                        const TransposedConvolutionOptions& options = {});
Tensor conv_transpose2d(const Tensor& x, const Tensor& w, const Tensor& bias = {},
                        const TransposedConvolutionOptions& options = {});
Tensor conv_transpose3d(const Tensor& x, const Tensor& w, const Tensor& bias = {},
                        const TransposedConvolutionOptions& options = {});

struct ConvolutionAttributes {
  // Of each spatial dimension.
  std::vector<int64_t> strides, dilation, input_dilation;
  std::vector<Dim> padding_low, padding_high;
  Dim groups = 1;
  // Of the two gradients: the spatial sizes of their result, x or w.
  std::vector<Dim> sizes = {};
  static constexpr std::string_view kRequired[] = {"strides", "dilation", "input_dilation",
                                                   "padding_low", "padding_high"};
};

// The three of which each is linear in both operands, and the other two its transposes:
// out of x and w; x of out and w; w of x and out.
Tensor convolution(const Tensor& x, const Tensor& w, const ConvolutionAttributes& attributes);
Tensor convolution_input_gradient(const Tensor& out, const Tensor& w,
                                  const ConvolutionAttributes& attributes);
Tensor convolution_weight_gradient(const Tensor& x, const Tensor& out,
                                   const ConvolutionAttributes& attributes);

void register_convolution_ops();

}  // namespace plait
