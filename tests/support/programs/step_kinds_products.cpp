// Steps with matrix products, factorisations, Fourier transforms and layers.
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/fft/fft.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/linalg/linalg.h"
#include "plait/ops/neural/attention.h"
#include "plait/ops/neural/convolution.h"
#include "plait/ops/neural/normalization.h"
#include "plait/ops/neural/pooling.h"
#include "plait/ops/neural/resampling.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/products/products.h"
#include "plait/ops/reductions/reduce.h"

#include "tests/support/programs/step_kinds.h"

namespace plait {
namespace {

// ---- Products.

ChosenStep matrix_product(Chooser& choose) {
  const size_t a = choose.real(1);
  const Dim inner = choose.shape(a).at(-1);
  const size_t b = choose.value([&](const ir::Type& type) {
    const Shape& shape = type.shape();
    if (type.dtype() != DType::f64 || shape.rank() == 0 || shape.rank() > 2) return false;
    return shape.at(shape.rank() == 1 ? -1 : -2) == inner;
  });
  return step_of(a, b, [](const Tensor& x, const Tensor& y) { return matmul(x, y); });
}
ChosenStep gram(Chooser& choose) {
  return step_of(choose.real(2), [](const Tensor& x) { return matmul(x, matrix_transpose(x)); });
}
ChosenStep outer_product(Chooser& choose) {
  const auto is_vector = [](const ir::Type& type) {
    return type.dtype() == DType::f64 && type.shape().rank() == 1;
  };
  const size_t a = choose.value(is_vector), b = choose.value(is_vector);
  return step_of(a, b, [](const Tensor& x, const Tensor& y) { return outer(x, y); });
}
ChosenStep inner_products(Chooser& choose) {
  const size_t a = choose.real(1), b = choose.like(a);
  return step_of(a, b,
                 [](const Tensor& x, const Tensor& y) { return einsum("...i,...i->...", {x, y}); });
}
ChosenStep all_with_all(Chooser& choose) {
  const size_t a = choose.real(2), b = choose.like(a);
  Chooser::need(choose.shape(a).rank() == 2);
  return step_of(a, b,
                 [](const Tensor& x, const Tensor& y) { return einsum("ij,kj->jik", {x, y}); });
}
ChosenStep full_convolution(Chooser& choose) {
  const auto is_vector = [](const ir::Type& type) {
    return type.dtype() == DType::f64 && type.shape().rank() == 1;
  };
  const size_t x = choose.value(is_vector), w = choose.value(is_vector);
  return step_of(x, w, [](const Tensor& signal, const Tensor& kernel) {
    const auto as_channel = [](const Tensor& y) { return expand_dims(expand_dims(y, 0), 0); };
    const Dim ends = kernel.shape(0) - 1;
    const Tensor all = conv1d(as_channel(signal), as_channel(kernel), {},
                              {.padding = std::vector<Padding::Ends>{{ends, ends}}});
    return squeeze(squeeze(all, 0), 0);
  });
}
ChosenStep cross_product(Chooser& choose) {
  const size_t a = choose.value([](const ir::Type& type) {
    return type.dtype() == DType::f64 && type.shape().rank() > 0 && type.shape().at(-1) == Dim(3);
  });
  const size_t b = choose.like(a);
  return step_of(a, b, [](const Tensor& x, const Tensor& y) { return linalg::cross(x, y); });
}

// ---- Square matrices, made well-conditioned so that their functions are smooth.

Tensor identity_like(const Tensor& a) {
  return one_hot(iota(a.shape(-1)), a.shape(-1), DType::f64);
}
// Far from singular, with well-separated factors.
Tensor regular(const Tensor& a) {
  const Tensor spread = astype(iota(a.shape(-1)), DType::f64) * 2 + 3;
  return tanh(a) * 0.4 + identity_like(a) * spread;
}
Tensor symmetric(const Tensor& a) {
  const Tensor b = regular(a);
  return (b + matrix_transpose(b)) * 0.5;
}

struct MatrixKind {
  const char* name;
  OfOne f;
};
const MatrixKind kMatrix[] = {
    {"inv", [](const Tensor& a) { return linalg::inv(regular(a)); }},
    {"det", [](const Tensor& a) { return linalg::det(regular(a)) * 0.1; }},
    {"slogdet", [](const Tensor& a) { return linalg::slogdet(regular(a)).logabsdet; }},
    {"cholesky", [](const Tensor& a) { return linalg::cholesky(symmetric(a)); }},
    {"eigvalsh", [](const Tensor& a) { return linalg::eigvalsh(symmetric(a)); }},
    {"eigh", [](const Tensor& a) { return square(linalg::eigh(symmetric(a)).vectors); }},
    {"svdvals", [](const Tensor& a) { return linalg::svdvals(regular(a)); }},
    {"svd",
     [](const Tensor& a) {
       const linalg::Svd svd = linalg::svd(regular(a));
       return matmul(svd.u, svd.vh);
     }},
    {"qr", [](const Tensor& a) { return linalg::qr(regular(a)).r; }},
    {"lu", [](const Tensor& a) { return linalg::lu(regular(a)).u; }},
    {"matrix_power", [](const Tensor& a) { return linalg::matrix_power(tanh(a), 2); }},
};
size_t square_matrix(Chooser& choose) {
  return choose.value([](const ir::Type& type) {
    const Shape& shape = type.shape();
    return type.dtype() == DType::f64 && shape.rank() >= 2 && shape.at(-1) == shape.at(-2);
  });
}
ChosenStep solving(Chooser& choose, OfTwo solve) {
  const size_t a = square_matrix(choose);
  Chooser::need(choose.shape(a).rank() == 2);
  const size_t b = choose.value([&](const ir::Type& type) {
    const Shape& shape = type.shape();
    return type.dtype() == DType::f64 && shape.rank() == 2 && shape[0] == choose.shape(a)[0];
  });
  return step_of(a, b, solve);
}
ChosenStep solving_fully(Chooser& choose) {
  return solving(choose,
                 [](const Tensor& a, const Tensor& b) { return linalg::solve(regular(a), b); });
}
ChosenStep solving_triangular(Chooser& choose) {
  return solving(choose, [](const Tensor& a, const Tensor& b) {
    return linalg::solve_triangular(regular(a), b, false);
  });
}

// ---- Complex numbers.

ChosenStep making_complex(Chooser& choose) {
  const size_t a = choose.real(), b = choose.stretching(a, DType::f64);
  return step_of(a, b, [](const Tensor& x, const Tensor& y) { return make_complex(x, y); });
}
ChosenStep transforming_real(Chooser& choose) {
  const size_t x = choose.real(1);
  return step_along(x, choose.axis(x),
                    [](const Tensor& y, int64_t axis) { return fft::rfft(y, {}, axis); });
}
ChosenStep transforming(Chooser& choose) {
  const size_t x = choose.of_dtype(DType::c128, 1);
  return step_along(x, choose.axis(x), [](const Tensor& y, int64_t axis) {
    return fft::fft(y, {}, axis, fft::Norm::ortho);
  });
}
ChosenStep transforming_back(Chooser& choose) {
  const size_t x = choose.of_dtype(DType::c128, 1);
  return step_along(x, choose.axis(x),
                    [](const Tensor& y, int64_t axis) { return real(fft::ifft(y, {}, axis)); });
}
ChosenStep multiplying_complex(Chooser& choose) {
  const size_t a = choose.of_dtype(DType::c128), b = choose.stretching(a, DType::c128);
  return step_of(a, b, [](const Tensor& x, const Tensor& y) { return x * conj(y); });
}
const MatrixKind kComplex[] = {
    {"complex_real", [](const Tensor& z) { return real(z); }},
    {"complex_imag", [](const Tensor& z) { return imag(z); }},
    {"complex_exp", [](const Tensor& z) { return exp(z * 0.25); }},
    {"complex_sin", [](const Tensor& z) { return sin(z * 0.25); }},
    {"complex_divide", [](const Tensor& z) { return z / (real(z * conj(z)) + 1.); }},
    {"complex_absolute", [](const Tensor& z) { return absolute(z + 9.); }},
    {"complex_sqrt", [](const Tensor& z) { return sqrt(z + 9.); }},
    {"complex_sum", [](const Tensor& z) { return sum(z * z); }},
};

// ---- Layers.

struct LayerKind {
  const char* name;
  size_t least_rank;
  OfOne f;
};
const LayerKind kLayer[] = {
    {"layer_norm", 1, [](const Tensor& x) { return layer_norm(x, {x.shape(-1)}, {}, {}, 0.1); }},
    {"rms_norm", 1, [](const Tensor& x) { return rms_norm(x, {x.shape(-1)}, {}, 0.1); }},
    {"attention", 3, [](const Tensor& x) { return scaled_dot_product_attention(x, x, x); }},
    {"causal_attention", 3,
     [](const Tensor& x) {
       return scaled_dot_product_attention(x, x, x * x, {.is_causal = true});
     }},
    {"max_pool", 2, [](const Tensor& x) { return max_pool1d(x, 2, {.padding = 1}); }},
    {"avg_pool", 2, [](const Tensor& x) { return avg_pool1d(x, 2, {.stride = 1, .padding = 1}); }},
    {"interpolate", 3,
     [](const Tensor& x) {
       return interpolate(x, {.scale_factor = {2.}, .mode = Interpolation::linear});
     }},
    {"group_norm", 2, [](const Tensor& x) { return group_norm(x, 1, {}, {}, 0.1); }},
};

}  // namespace

void add_product_kinds(std::vector<StepKind>& kinds) {
  const StepKind all[] = {{"matmul", matrix_product},
                          {"gram", gram},
                          {"outer", outer_product},
                          {"inner", inner_products},
                          {"einsum", all_with_all},
                          {"convolution", full_convolution},
                          {"cross", cross_product},
                          {"solve", solving_fully},
                          {"solve_triangular", solving_triangular},
                          {"make_complex", making_complex},
                          {"rfft", transforming_real},
                          {"fft", transforming},
                          {"ifft", transforming_back},
                          {"complex_multiply", multiplying_complex}};
  kinds.insert(kinds.end(), std::begin(all), std::end(all));
  for (const MatrixKind& kind : kMatrix) {
    kinds.push_back(
        {kind.name, [f = kind.f](Chooser& choose) { return step_of(square_matrix(choose), f); }});
  }
  for (const MatrixKind& kind : kComplex) {
    kinds.push_back({kind.name, [f = kind.f](Chooser& choose) {
                       return step_of(choose.of_dtype(DType::c128), f);
                     }});
  }
  for (const LayerKind& kind : kLayer) {
    kinds.push_back({kind.name, [kind](Chooser& choose) {
                       const size_t x = choose.real(kind.least_rank);
                       return step_of(x, kind.f);
                     }});
  }
}

}  // namespace plait
