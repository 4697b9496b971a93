// Activations.
#include "plait/nn/layers/activation_layers.h"

#include "tests/oracles/layer_cases_simple.h"

namespace plait {
namespace {

const LayerCases kElementwise{
    ready("relu", nn::ReLU{}),
    ready("relu6", nn::ReLU6{}),
    ready("selu", nn::SELU{}),
    ready("silu", nn::SiLU{}),
    ready("mish", nn::Mish{}),
    ready("sigmoid", nn::Sigmoid{}),
    ready("log_sigmoid", nn::LogSigmoid{}),
    ready("tanh", nn::Tanh{}),
    ready("softsign", nn::Softsign{}),
    ready("hardswish", nn::Hardswish{}),
    ready("hardsigmoid", nn::Hardsigmoid{}),
    ready("tanhshrink", nn::Tanhshrink{}),
};

const LayerCases kWithOptions{
    ready("leaky_relu", nn::LeakyReLU{}),
    ready("leaky_relu_steep", nn::LeakyReLU{.negative_slope = 0.3}),
    ready("prelu", nn::PReLU::init({.dtype = kF64})),
    ready("prelu_of_channels", nn::PReLU::init({.num_parameters = 4, .init = 0.1, .dtype = kF64})),
    ready("rrelu_eval", nn::RReLU{.lower = 0.1, .upper = 0.4}),
    ready("elu", nn::ELU{}),
    ready("elu_half", nn::ELU{.alpha = 0.5}),
    ready("celu", nn::CELU{}),
    ready("celu_half", nn::CELU{.alpha = 0.5}),
    ready("gelu", nn::GELU{}),
    ready("gelu_tanh", nn::GELU{.approximate = Gelu::tanh}),
    ready("softplus", nn::Softplus{}),
    ready("softplus_threshold", nn::Softplus{.beta = 2, .threshold = 1}),
    ready("softshrink", nn::Softshrink{}),
    ready("softshrink_wide", nn::Softshrink{.lambd = 0.8}),
    ready("hardshrink", nn::Hardshrink{}),
    ready("hardshrink_wide", nn::Hardshrink{.lambd = 0.8}),
    ready("hardtanh", nn::Hardtanh{}),
    ready("hardtanh_narrow", nn::Hardtanh{.min_val = -0.3, .max_val = 0.7}),
    ready("threshold", nn::Threshold{.threshold = 0.1, .value = 20}),
};

const LayerCases kAlongADimension{
    ready("softmax", nn::Softmax{}),
    ready("softmax_of_channels", nn::Softmax{.dim = 1}),
    ready("log_softmax", nn::LogSoftmax{}),
    ready("log_softmax_of_channels", nn::LogSoftmax{.dim = 1}),
    ready("softmin", nn::Softmin{}),
    ready("softmin_of_a_scalar", nn::Softmin{}),
    ready("softmax2d", nn::Softmax2d{}),
    ready("softmax2d_of_one", nn::Softmax2d{}),
    ready("glu", nn::GLU{}),
    ready("glu_of_channels", nn::GLU{.dim = 1}),
    ready("swiglu", nn::SwiGLU{}),
    ready("swiglu_of_channels", nn::SwiGLU{.dim = 1}),
};

}  // namespace
}  // namespace plait
