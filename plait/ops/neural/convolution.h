// Convolutions over one to three spatial dimensions. As usual in deep learning the kernel is not
// flipped: out[s] = Σ_k w[k] · x[s · stride + k · dilation − padding].
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "plait/ops/neural/per_dimension.h"
#include "plait/ops/operand.h"

namespace plait {

// Padding of the input: the same on both sides, "valid" (none), or "same": the output size is the
// input size divided by the stride, rounded up.
class Padding {
 public:
  using Ends = std::pair<Dim, Dim>;  // before, after

  template <std::integral T>
  Padding(T all) : both_(static_cast<int64_t>(all)) {}                         // NOLINT
  Padding(PerDimension both) : both_(std::move(both)) {}                       // NOLINT
  Padding(std::initializer_list<int64_t> both) : both_(both) {}                // NOLINT
  Padding(std::vector<Ends> ends) : ends_(std::move(ends)), kind_(of_ends) {}  // NOLINT
  Padding(std::string_view name);                                              // NOLINT
  Padding(const char* name) : Padding(std::string_view(name)) {}               // NOLINT
  Padding(const std::string& name) : Padding(std::string_view(name)) {}        // NOLINT

  struct Dimension {
    Dim size;    // size of the input
    Dim window;  // extent of the dilated kernel
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
  PerDimension dilation = 1;  // distance between neighbouring elements of the kernel
  int64_t groups = 1;         // each has its own share of the input and output channels
};

// x is [batch, channels, space…] or [channels, space…], w is [outputs, channels / groups, space…],
// and the optional bias is [outputs].
Tensor conv1d(const Tensor& x, const Tensor& w, const Tensor& bias = {},
              const ConvolutionOptions& options = {});
Tensor conv2d(const Tensor& x, const Tensor& w, const Tensor& bias = {},
              const ConvolutionOptions& options = {});
Tensor conv3d(const Tensor& x, const Tensor& w, const Tensor& bias = {},
              const ConvolutionOptions& options = {});

struct GeneralConvolutionOptions {
  // One letter per dimension: N batch, C channels, O outputs, I inputs per group; other letters are
  // spatial dimensions, the same in all three. By default NC…, OI…, NC….
  std::string x_layout = {}, w_layout = {}, out_layout = {};
  PerDimension stride = 1;
  Padding padding = 0;
  PerDimension dilation = 1;
  PerDimension input_dilation = 1;  // inserts zeros between the elements of the input
  int64_t groups = 1;
};
Tensor conv_general(const Tensor& x, const Tensor& w,
                    const GeneralConvolutionOptions& options = {});

struct TransposedConvolutionOptions {
  PerDimension stride = 1;
  PerDimension padding = 0;         // the padding of the corresponding convolution
  PerDimension output_padding = 0;  // further elements at the end, since several sizes have the
                                    // same convolved size
  int64_t groups = 1;
  PerDimension dilation = 1;
};
// Transposed convolution: the gradient of a convolution with respect to its input, as an operation.
// w is [channels, outputs / groups, space…].
Tensor conv_transpose1d(const Tensor& x, const Tensor& w, const Tensor& bias = {},
                        const TransposedConvolutionOptions& options = {});
Tensor conv_transpose2d(const Tensor& x, const Tensor& w, const Tensor& bias = {},
                        const TransposedConvolutionOptions& options = {});
Tensor conv_transpose3d(const Tensor& x, const Tensor& w, const Tensor& bias = {},
                        const TransposedConvolutionOptions& options = {});

struct ConvolutionAttributes {
  // One entry per spatial dimension.
  std::vector<int64_t> strides, dilation, input_dilation;
  std::vector<Dim> padding_low, padding_high;
  Dim groups = 1;
  // For the two gradients: the spatial sizes of their result, x or w.
  std::vector<Dim> sizes = {};
  static constexpr std::string_view kRequired[] = {"strides", "dilation", "input_dilation",
                                                   "padding_low", "padding_high"};
};

// Three primitives that are linear in both operands and are each other's transposes: out from x and
// w, x from out and w, w from x and out.
Tensor convolution(const Tensor& x, const Tensor& w, const ConvolutionAttributes& attributes);
Tensor convolution_input_gradient(const Tensor& out, const Tensor& w,
                                  const ConvolutionAttributes& attributes);
Tensor convolution_weight_gradient(const Tensor& x, const Tensor& out,
                                   const ConvolutionAttributes& attributes);

void register_convolution_ops();

}  // namespace plait
