// Muon as a transformation: the averaged gradient of a matrix, made orthogonal; and Sophia, which
// divides by an averaged diagonal of the Hessian.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "plait/optim/transformations/combining.h"
#include "plait/optim/transformations/transformation.h"

namespace plait::optim {

enum class Preconditioning { frobenius, schatten, aol };

// The coefficients of Newton-Schulz iterations: one row for all steps, or one for each.
using Coefficients = std::vector<std::array<double, 3>>;
Coefficients standard_coefficients();
Coefficients dion_coefficients();  // coefficients of five steps

// Which axes of a parameter are the rows of a matrix, and which the columns; further axes are a
// batch of matrices.
struct MuonDimensionNumbers {
  std::vector<int64_t> reduction_axis{0};
  std::vector<int64_t> output_axis{1};
};
// Those of the parameter at a path; none if it is not a matrix.
using MuonDimensions = std::function<std::optional<MuonDimensionNumbers>(const std::string& path,
                                                                         const Tensor& parameter)>;

struct ScaleByMuonOptions {
  Coefficients ns_coeffs = standard_coefficients();
  int64_t ns_steps = 5;
  Number beta = 0.95;
  Number eps = 1e-8;
  std::optional<DType> mu_dtype = {};
  bool nesterov = true;
  bool adaptive = false;
  Preconditioning preconditioning = Preconditioning::frobenius;
  MuonDimensions weight_dimension_numbers = {};  // all parameters are matrices without
};
Transformation scale_by_muon(const ScaleByMuonOptions& options = {});

struct MuonAliasOptions {
  Coefficients ns_coeffs = standard_coefficients();
  int64_t ns_steps = 5;
  Number beta = 0.95;
  Number eps = 1e-8;
  Number weight_decay = 0;
  std::optional<Mask> weight_decay_mask = {};
  std::optional<DType> mu_dtype = {};
  bool nesterov = true;
  bool adaptive = false;
  Preconditioning preconditioning = Preconditioning::frobenius;
  Number adam_b1 = 0.9;
  Number adam_b2 = 0.999;
  Number adam_eps_root = 0;
  Number adam_weight_decay = 0;
  std::optional<Number> adam_learning_rate = {};
  MuonDimensions muon_weight_dimension_numbers = {};  // parameters of two axes are, without
  std::optional<Number> consistent_rms = {};
};
// Muon for matrices, AdamW for all other parameters.
Transformation muon(Number learning_rate, const MuonAliasOptions& options = {});

struct ScaleBySophiaOptions {
  Number b1 = 0.965;
  Number b2 = 0.99;
  Number eps = 1e-8;
  Number gamma = 0.01;
  std::optional<Number> clip_threshold = 1;
  int64_t update_interval = 10;
  std::optional<DType> mu_dtype = {};
};
// Returns an estimate of the diagonal of the Hessian instead of the updates; `update` needs the
// loss as a function of the parameters: {.value_fn = …}.
Transformation hutchinson_estimator_diag_hessian(const Tensor& key);
// Divides the averaged gradient by an averaged diagonal of the Hessian, and clips. The
// transformation returns that diagonal for the gradient.
Transformation scale_by_sophia(Transformation hessian_diagonal_fn,
                               const ScaleBySophiaOptions& options = {});
Transformation sophia(Number learning_rate, Transformation hessian_diagonal_fn,
                      const ScaleBySophiaOptions& options = {}, Number weight_decay = 1e-4,
                      std::optional<Mask> weight_decay_mask = {});

}  // namespace plait::optim
