// Activations as layers, with PyTorch's options:
//
//   nn::Sequential{nn::Linear::init(keys[0], 3, 4), nn::ELU{.alpha = 0.5},
//                  nn::Linear::init(keys[1], 4, 2), nn::LogSoftmax{}}
#pragma once

#include <cstdint>

#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/neural/activation.h"
#include "plait/tensor/tensor.h"

namespace plait::nn {

// ---- Elementwise activations without options.

template <auto function>
struct ActivationLayer {
  Tensor operator()(const Tensor& x) const { return function(x); }
};
using ReLU = ActivationLayer<relu>;                // max(x, 0)
using ReLU6 = ActivationLayer<relu6>;              // min(max(x, 0), 6)
using SELU = ActivationLayer<selu>;                // keeps mean 0 and variance 1
using SiLU = ActivationLayer<silu>;                // x sigmoid(x), also called swish
using Mish = ActivationLayer<mish>;                // x tanh(softplus(x))
using Sigmoid = ActivationLayer<sigmoid>;          // 1 / (1 + e^−x)
using LogSigmoid = ActivationLayer<logsigmoid>;    // log sigmoid(x)
using Tanh = ActivationLayer<tanh>;                // hyperbolic tangent
using Softsign = ActivationLayer<softsign>;        // x / (1 + |x|)
using Hardswish = ActivationLayer<hardswish>;      // x min(max(x + 3, 0), 6) / 6
using Hardsigmoid = ActivationLayer<hardsigmoid>;  // min(max(x + 3, 0), 6) / 6
using Tanhshrink = ActivationLayer<tanhshrink>;    // x − tanh(x)

// ---- Elementwise activations with options.

// x if it is positive, else negative_slope · x.
struct LeakyReLU {
  double negative_slope = 0.01;

  Tensor operator()(const Tensor& x) const;
};

struct PReLUOptions {
  int64_t num_parameters = 1;  // number of slopes: one, or one for each channel
  double init = 0.25;          // their initial value
  DType dtype = DType::f32;
};
// x if it is positive, else a learned slope times x.
struct PReLU {
  Tensor weight;  // [1], or [channels], which are along dimension 1

  static PReLU init(const PReLUOptions& options = {});
  Tensor operator()(const Tensor& x) const;
};

// x if it is positive, else a slope times x: in training one between lower and upper drawn for each
// element, else their mean. Without a key, the next key of the default stream is drawn.
struct RReLU {
  double lower = 1. / 8;
  double upper = 1. / 3;
  bool training = true;

  Tensor operator()(const Tensor& x, const Tensor& key) const;
  Tensor operator()(const Tensor& x) const;
};

// x if it is positive, else alpha (e^x − 1).
struct ELU {
  double alpha = 1;

  Tensor operator()(const Tensor& x) const;
};

// x if it is positive, else alpha (e^(x / alpha) − 1).
struct CELU {
  double alpha = 1;

  Tensor operator()(const Tensor& x) const;
};

// x Φ(x), where Φ is the distribution function of the standard normal distribution.
struct GELU {
  Gelu approximate = Gelu::exact;

  Tensor operator()(const Tensor& x) const;
};

// log(1 + e^(beta x)) / beta, and x itself where beta x is above the threshold.
struct Softplus {
  double beta = 1;
  double threshold = 20;

  Tensor operator()(const Tensor& x) const;
};

// Moves x towards 0 by lambd; 0 within lambd of it.
struct Softshrink {
  double lambd = 0.5;

  Tensor operator()(const Tensor& x) const;
};

// x, but 0 from −lambd to lambd.
struct Hardshrink {
  double lambd = 0.5;

  Tensor operator()(const Tensor& x) const;
};

// x clipped to the range from min_val to max_val.
struct Hardtanh {
  double min_val = -1;
  double max_val = 1;

  Tensor operator()(const Tensor& x) const;
};

// x if it is above the threshold, else the value.
struct Threshold {
  double threshold = 0;
  double value = 0;

  Tensor operator()(const Tensor& x) const;
};

// ---- Activations along a dimension.

// e^x / Σ e^x.
struct Softmax {
  int64_t dim = -1;

  Tensor operator()(const Tensor& x) const;
};

// log softmax(x).
struct LogSoftmax {
  int64_t dim = -1;

  Tensor operator()(const Tensor& x) const;
};

// softmax(−x).
struct Softmin {
  int64_t dim = -1;

  Tensor operator()(const Tensor& x) const;
};

// softmax over the channels of [batch, channels, height, width], or of [channels, height, width].
struct Softmax2d {
  Tensor operator()(const Tensor& x) const;
};

// a sigmoid(b), where a and b are the halves of x.
struct GLU {
  int64_t dim = -1;

  Tensor operator()(const Tensor& x) const;
};

// silu(a) b, where a and b are the halves of x.
struct SwiGLU {
  int64_t dim = -1;

  Tensor operator()(const Tensor& x) const;
};

}  // namespace plait::nn
