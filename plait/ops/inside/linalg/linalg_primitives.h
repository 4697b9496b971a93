// The primitives of linear algebra on the last two dimensions, for each matrix of a stack. Internal
// to ops.
#pragma once

#include <span>
#include <vector>

#include "plait/ir/primitive.h"
#include "plait/tensor/rules.h"

namespace plait {

struct TriangularAttributes {
  bool lower = true;
  bool unit_diagonal = false;  // takes the diagonal as ones
};
struct QrAttributes {
  bool complete = false;  // Q is square
};
struct SvdAttributes {
  bool full = false;  // U and V are square
};
struct PinvAttributes {
  // Singular values below this fraction of the greatest count as 0.
  double tolerance = 0;
  static constexpr std::string_view kRequired[] = {"tolerance"};
};

struct LinalgPrimitives {
  const ir::Primitive& cholesky;          // L
  const ir::Primitive& lu;                // L and U in one matrix, the row order, its sign
  const ir::Primitive& triangular_solve;  // A, B: A⁻¹ B
  const ir::Primitive& solve;             // A, B: A⁻¹ B
  const ir::Primitive& qr;                // Q, R
  const ir::Primitive& eigh;              // values, vectors
  const ir::Primitive& svd;               // U, values, Vᴴ
  const ir::Primitive& pinv;
  const ir::Primitive& eig;    // values, vectors
  const ir::Primitive& schur;  // T, Z
  const ir::Primitive& determinant;
  const ir::Primitive& adjugate;
  const ir::Primitive& expm;
  const ir::Primitive& expm_derivative;   // A, E: derivative of e^A in direction E
  const ir::Primitive& quotient_or_zero;  // X, D: X / D, but 0 where X is, also where D is 0
};
const LinalgPrimitives& linalg_primitives();

// Tangents of the results (linalg_rules.cpp).
using TangentsRule = decltype(Tangents::of);
std::vector<Tensor> cholesky_tangents(const RuleContext&, std::span<const Tensor>);
std::vector<Tensor> lu_tangents(const RuleContext&, std::span<const Tensor>);
std::vector<Tensor> triangular_solve_tangents(const RuleContext&, std::span<const Tensor>);
std::vector<Tensor> solve_tangents(const RuleContext&, std::span<const Tensor>);
std::vector<Tensor> qr_tangents(const RuleContext&, std::span<const Tensor>);
std::vector<Tensor> eigh_tangents(const RuleContext&, std::span<const Tensor>);
std::vector<Tensor> svd_tangents(const RuleContext&, std::span<const Tensor>);
std::vector<Tensor> pinv_tangents(const RuleContext&, std::span<const Tensor>);
std::vector<Tensor> eig_tangents(const RuleContext&, std::span<const Tensor>);
std::vector<Tensor> determinant_tangents(const RuleContext&, std::span<const Tensor>);
std::vector<Tensor> adjugate_tangents(const RuleContext&, std::span<const Tensor>);
std::vector<Tensor> expm_tangents(const RuleContext&, std::span<const Tensor>);
std::vector<Tensor> expm_derivative_tangents(const RuleContext&, std::span<const Tensor>);
std::vector<Tensor> quotient_or_zero_tangents(const RuleContext&, std::span<const Tensor>);
// Transposes: the solutions are linear in B, the derivative of e^A in E, and quotients in X.
Tensor transpose_triangular_solve(const RuleContext&, const Tensor& cotangent, size_t operand);
Tensor transpose_solve(const RuleContext&, const Tensor& cotangent, size_t operand);
Tensor transpose_expm_derivative(const RuleContext&, const Tensor& cotangent, size_t operand);
Tensor transpose_quotient_or_zero(const RuleContext&, const Tensor& cotangent, size_t operand);

Tensor apply_triangular_solve(const Tensor& a, const Tensor& b, const TriangularAttributes& kind);
Tensor apply_solve(const Tensor& a, const Tensor& b);

}  // namespace plait
