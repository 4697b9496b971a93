// Refusals of linalg.h.
#include <cmath>

#include <gtest/gtest.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/linalg/linalg.h"

#include "refusals.h"

namespace plait {
namespace {

using Decomposition = std::function<void(const Tensor&)>;
const std::vector<Named<Decomposition>> kOfSquare = {
    {"linalg::cholesky", [](const Tensor& a) { linalg::cholesky(a); }},
    {"linalg::eigh", [](const Tensor& a) { linalg::eigh(a); }},
    {"linalg::eigvalsh", [](const Tensor& a) { linalg::eigvalsh(a); }},
    {"linalg::eig", [](const Tensor& a) { linalg::eig(a); }},
    {"linalg::eigvals", [](const Tensor& a) { linalg::eigvals(a); }},
    {"linalg::inv", [](const Tensor& a) { linalg::inv(a); }},
    {"linalg::det", [](const Tensor& a) { linalg::det(a); }},
    {"linalg::slogdet", [](const Tensor& a) { linalg::slogdet(a); }},
    {"linalg::expm", [](const Tensor& a) { linalg::expm(a); }},
    {"linalg::schur", [](const Tensor& a) { linalg::schur(a); }},
    {"linalg::solve", [](const Tensor& a) { linalg::solve(a, f32(2)); }},
};
// NaN and infinity propagate through these.
const std::vector<Named<Decomposition>> kOfFactors = {
    {"linalg::solve_triangular", [](const Tensor& a) { linalg::solve_triangular(a, f32(2)); }},
    {"linalg::lu_solve", [](const Tensor& a) { linalg::lu_solve(a, places({0, 1}), f32(2)); }},
    {"linalg::cholesky_solve", [](const Tensor& a) { linalg::cholesky_solve(a, f32(2)); }},
    {"linalg::cholesky_inverse", [](const Tensor& a) { linalg::cholesky_inverse(a); }},
};
const std::vector<Named<Decomposition>> kOfAny = {
    {"linalg::lu", [](const Tensor& a) { linalg::lu(a); }},
    {"linalg::lu_factor", [](const Tensor& a) { linalg::lu_factor(a); }},
    {"linalg::cond", [](const Tensor& a) { linalg::cond(a); }},
    {"linalg::qr", [](const Tensor& a) { linalg::qr(a); }},
    {"linalg::svd", [](const Tensor& a) { linalg::svd(a); }},
    {"linalg::svdvals", [](const Tensor& a) { linalg::svdvals(a); }},
    {"linalg::pinv", [](const Tensor& a) { linalg::pinv(a); }},
    {"linalg::matrix_rank", [](const Tensor& a) { linalg::matrix_rank(a); }},
    {"linalg::lstsq", [](const Tensor& a) { linalg::lstsq(a, f32(2)); }},
};

void add_matrices(Refusals& rows) {
  const auto with_nan = [] { return full({2, 2}, NAN); };
  for (const auto* functions : {&kOfSquare, &kOfFactors, &kOfAny}) {
    for (const auto& [name, f] : *functions) {
      rows.push_back({name, [f] { f(f32(2)); }, kShape, {"f32[2]"}});
      rows.push_back({name, [f] { f(keys(2, 2)); }, kType, {"key[2, 2]"}});
      rows.push_back({name, [f] { f(astype(f32(2, 2), DType::f16)); }, kType, {"f16[2, 2]"}});
      if (functions != &kOfFactors) {
        rows.push_back({name, [f, with_nan] { f(with_nan()); }, kValue, {"f32[2, 2]"}});
      }
      rows.push_back({name, [f] { f(Tensor()); }, kValue, {"never given"}});
    }
  }
  for (const auto* functions : {&kOfSquare, &kOfFactors}) {
    for (const auto& [name, f] : *functions) {
      rows.push_back({name, [f] { f(f32(2, 3)); }, kShape, {"f32[2, 3]", "square"}});
    }
  }
  for (const auto& [name, f] : std::vector<Named<Decomposition>>{
           {"linalg::cholesky", [](const Tensor& a) { linalg::cholesky(a); }},
           {"linalg::inv", [](const Tensor& a) { linalg::inv(a); }},
           {"linalg::solve", [](const Tensor& a) { linalg::solve(a, f32(3, 2, 1)); }},
           {"linalg::solve_triangular",
            [](const Tensor& a) { linalg::solve_triangular(a, f32(3, 2, 1)); }},
           {"linalg::lu_solve",
            [](const Tensor& a) { linalg::lu_solve(a, places({0, 1}), f32(3, 2, 1)); }},
           {"linalg::cholesky_solve",
            [](const Tensor& a) { linalg::cholesky_solve(a, f32(3, 2, 1)); }},
           {"linalg::cholesky_inverse", [](const Tensor& a) { linalg::cholesky_inverse(a, true); }},
           {"linalg::cond",
            [](const Tensor& a) { linalg::cond(a, linalg::MatrixNorm::frobenius); }}}) {
    rows.push_back({name, [f] { f(zeros({3, 2, 2})); }, kValue, {"f32[3, 2, 2]", "0"}});
  }
}

void add_equations(Refusals& rows) {
  using Solve = std::function<void(const Tensor&, const Tensor&)>;
  for (const auto& [name, f] : std::vector<Named<Solve>>{
           {"linalg::solve", [](const Tensor& a, const Tensor& b) { linalg::solve(a, b); }},
           {"linalg::solve_triangular",
            [](const Tensor& a, const Tensor& b) { linalg::solve_triangular(a, b); }},
           {"linalg::lu_solve",
            [](const Tensor& a, const Tensor& b) { linalg::lu_solve(a, places({1, 0}), b); }},
           {"linalg::cholesky_solve",
            [](const Tensor& a, const Tensor& b) { linalg::cholesky_solve(a, b); }},
           {"linalg::lstsq", [](const Tensor& a, const Tensor& b) { linalg::lstsq(a, b); }}}) {
    const Tensor a = f32(2, 2);
    rows.push_back({name, [f, a] { f(a, f32(3)); }, kShape, {"f32[2, 2]", "f32[3]"}});
    rows.push_back({name, [f, a] { f(a, f32(3, 2)); }, kShape, {"f32[2, 2]", "f32[3, 2]"}});
    rows.push_back({name, [f, a] { f(a, f32()); }, kShape, {"f32[2, 2]", "f32[]"}});
    rows.push_back({name, [f, a] { f(a, keys(2)); }, kType, {"f32[2, 2]", "key[2]"}});
    rows.push_back({name, [f, a] { f(a, Tensor()); }, kValue, {"f32[2, 2]", "never given"}});
    rows.push_back(
        {name, [f] { f(f32(2, 2, 2), f32(3, 2, 1)); }, kShape, {"f32[2, 2, 2]", "f32[3, 2, 1]"}});
  }
}

void add_made_of_others(Refusals& rows) {
  using namespace linalg;
  const std::vector<Refusal> more = {
      {"linalg::lu_solve",
       [] { lu_solve(f32(2, 2), f32(2), f32(2)); },
       kType,
       {"f32[2, 2]", "f32[2]", "permutation"}},
      {"linalg::lu_solve",
       [] { lu_solve(f32(2, 2), places({0, 1, 2}), f32(2)); },
       kShape,
       {"f32[2, 2]", "i64[3]"}},
      {"linalg::lu_solve", [] { lu_solve(f32(2, 2), i64(), f32(2)); }, kShape, {"i64[]"}},
      {"linalg::lu_solve",
       [] { lu_solve(f32(2, 2), Tensor(), f32(2)); },
       kValue,
       {"f32[2, 2]", "never given"}},
      {"linalg::lu_solve", [] { lu_solve(f32(2, 2), places({0, 2}), f32(2)); }, kIndex, {"2"}},
      {"linalg::cond", [] { cond(f32(2, 0)); }, kValue, {"f32[2, 0]"}},
      {"linalg::cond", [] { cond(f32(2, 3), MatrixNorm::one); }, kShape, {"f32[2, 3]", "square"}},
      {"linalg::cond",
       [] { cond(ones({2, 2}) + eye(2), static_cast<MatrixNorm>(99)); },
       kValue,
       {"99", "f32[2, 2]"}},
      {"linalg::tensorsolve",
       [] { tensorsolve(f32(2, 3), f32(2)); },
       kShape,
       {"f32[2, 3]", "2 × 3"}},
      {"linalg::tensorsolve",
       [] { tensorsolve(f32(2), f32(1, 2)); },
       kShape,
       {"f32[2]", "f32[1, 2]"}},
      {"linalg::tensorsolve",
       [] { tensorsolve(f32(2, 2), f32(2), {2}); },
       kIndex,
       {"axis 2", "f32[2, 2]"}},
      {"linalg::tensorsolve",
       [] { tensorsolve(zeros({2, 2}), f32(2)); },
       kValue,
       {"f32[2, 2]", "singular"}},
      {"linalg::tensorsolve",
       [] { tensorsolve(f32(2, 2), keys(2)); },
       kType,
       {"f32[2, 2]", "key[2]"}},
      {"linalg::tensorsolve",
       [] { tensorsolve(Tensor(), f32(2)); },
       kValue,
       {"f32[2]", "never given"}},
      {"linalg::tensorinv", [] { tensorinv(f32(2, 2), 0); }, kValue, {"0", "f32[2, 2]"}},
      {"linalg::tensorinv", [] { tensorinv(f32(2, 2), 3); }, kValue, {"3", "f32[2, 2]"}},
      {"linalg::tensorinv", [] { tensorinv(f32(2, 3), 1); }, kShape, {"f32[2, 3]", "2 × 3"}},
      {"linalg::tensorinv", [] { tensorinv(zeros({2, 2}), 1); }, kValue, {"singular"}},
      {"linalg::tensorinv", [] { tensorinv(keys(2, 2), 1); }, kType, {"key[2, 2]"}},
      {"linalg::multi_dot", [] { multi_dot(Tensors{f32(2, 2)}); }, kValue, {"1", "f32[2, 2]"}},
      {"linalg::multi_dot",
       [] { multi_dot(Tensors{f32(2, 2), f32(2), f32(2, 2)}); },
       kShape,
       {"factor 1", "f32[2]"}},
      {"linalg::multi_dot",
       [] { multi_dot(Tensors{f32(), f32(2, 2)}); },
       kShape,
       {"factor 0", "f32[]"}},
      {"linalg::multi_dot",
       [] { multi_dot(Tensors{f32(2, 2), f32(3, 2)}); },
       kShape,
       {"f32[2, 2]", "f32[3, 2]"}},
      {"linalg::multi_dot",
       [] { multi_dot(Tensors{f32(2, 2), keys(2, 2)}); },
       kType,
       {"f32[2, 2]", "key[2, 2]"}},
      {"linalg::multi_dot",
       [] { multi_dot(Tensors{f32(2, 2), Tensor()}); },
       kValue,
       {"never given"}},
      {"linalg::vander", [] { vander(f32()); }, kShape, {"f32[]"}},
      {"linalg::vander", [] { vander(f32(2), -1); }, kValue, {"-1", "f32[2]"}},
      {"linalg::vander", [] { vander(keys(2)); }, kType, {"key[2]"}},
      {"linalg::toeplitz", [] { toeplitz(f32()); }, kShape, {"f32[]"}},
      {"linalg::toeplitz", [] { toeplitz(f32(2), f32()); }, kShape, {"f32[2]", "f32[]"}},
      {"linalg::toeplitz", [] { toeplitz(f32(2), keys(2)); }, kType, {"f32[2]", "key[2]"}},
      {"linalg::toeplitz", [] { toeplitz(f32(2, 2), f32(3, 2)); }, kShape, {"f32[2, 2]"}},
      {"linalg::toeplitz", [] { toeplitz(Tensor()); }, kValue, {"never given"}},
      {"linalg::block_diag", [] { block_diag(Tensors{}); }, kValue, {"at least one"}},
      {"linalg::block_diag",
       [] { block_diag(Tensors{f32(2, 2), keys(2)}); },
       kType,
       {"f32[2, 2]", "key[2]"}},
      {"linalg::block_diag",
       [] { block_diag(Tensors{f32(2, 2, 2), f32(2, 2)}); },
       kShape,
       {"f32[2, 2, 2]", "f32[2, 2]"}},
      {"linalg::block_diag",
       [] { block_diag(Tensors{f32(2, 2), Tensor()}); },
       kValue,
       {"never given"}},
  };
  rows.insert(rows.end(), more.begin(), more.end());
}

}  // namespace

Refusals refusals_of_linalg() {
  Refusals rows = {
      {"linalg::pinv", [] { linalg::pinv(f32(2, 2), NAN); }, kValue, {"tolerance", "nan"}},
      {"linalg::lstsq", [] { linalg::lstsq(f32(2, 2), f32(2), NAN); }, kValue, {"tolerance"}},
      {"linalg::matrix_rank", [] { linalg::matrix_rank(f32(2, 2), NAN); }, kValue, {"tolerance"}},
      {"linalg::trace", [] { linalg::trace(f32(2)); }, kShape, {"f32[2]"}},
      {"linalg::trace", [] { linalg::trace(keys(2, 2)); }, kType, {"key[2, 2]"}},
      {"linalg::matrix_power", [] { linalg::matrix_power(f32(2, 3), 2); }, kShape, {"f32[2, 3]"}},
      {"linalg::matrix_power", [] { linalg::matrix_power(f32(2), 2); }, kShape, {"f32[2]"}},
      {"linalg::matrix_power", [] { linalg::matrix_power(f32(2, 3), -2); }, kShape, {"f32[2, 3]"}},
      {"linalg::matrix_power", [] { linalg::matrix_power(keys(2, 2), 2); }, kType, {"key[2, 2]"}},
      {"linalg::matrix_power",
       [] { linalg::matrix_power(zeros({2, 2}), -1); },
       kValue,
       {"f32[2, 2]"}},
      {"linalg::vector_norm", [] { linalg::vector_norm(f32(2), NAN); }, kValue, {"NaN", "f32[2]"}},
      {"linalg::vector_norm", [] { linalg::vector_norm(f32(2), 2, 1); }, kIndex, {"axis 1"}},
      {"linalg::vector_norm", [] { linalg::vector_norm(f32(2), 2, {0, 0}); }, kValue, {"axis 0"}},
      {"linalg::vector_norm", [] { linalg::vector_norm(keys(2)); }, kType, {"key[2]"}},
      {"linalg::vector_norm",
       [] { linalg::vector_norm(f32(0), linalg::kInfinity); },
       kValue,
       {"f32[0]"}},
      {"linalg::matrix_norm", [] { linalg::matrix_norm(f32(2)); }, kShape, {"f32[2]"}},
      {"linalg::matrix_norm", [] { linalg::matrix_norm(keys(2, 2)); }, kType, {"key[2, 2]"}},
      {"linalg::matrix_norm",
       [] { linalg::matrix_norm(f32(2, 2), static_cast<linalg::MatrixNorm>(99)); },
       kValue,
       {"99", "f32[2, 2]"}},
      {"linalg::matrix_norm",
       [] { linalg::matrix_norm(f32(0, 2), linalg::MatrixNorm::infinity); },
       kValue,
       {"f32[0, 2]"}},
      {"linalg::norm", [] { linalg::norm(f32(2, 2), 3); }, kValue, {"3", "f32[2, 2]"}},
      {"linalg::norm", [] { linalg::norm(f32(2), NAN); }, kValue, {"NaN", "f32[2]"}},
      {"linalg::norm", [] { linalg::norm(f32(2, 2, 2), 2); }, kValue, {"f32[2, 2, 2]"}},
      {"linalg::norm", [] { linalg::norm(f32(2, 2), 2, {0, 2}); }, kIndex, {"axis 2"}},
      {"linalg::norm",
       [] { linalg::norm(f32(2, 2), 2, {0, -2}); },
       kValue,
       {"axis 0", "f32[2, 2]"}},
      {"linalg::norm", [] { linalg::norm(f32(2, 2), {}, {2}); }, kIndex, {"axis 2", "f32[2, 2]"}},
      {"linalg::norm", [] { linalg::norm(keys(2)); }, kType, {"key[2]"}},
      {"linalg::cross", [] { linalg::cross(f32(2), f32(2)); }, kShape, {"f32[2]"}},
      {"linalg::cross", [] { linalg::cross(f32(3), f32(2)); }, kShape, {"f32[3]", "f32[2]"}},
      {"linalg::cross", [] { linalg::cross(f32(3), f32(3), 1); }, kIndex, {"axis 1", "f32[3]"}},
      {"linalg::cross", [] { linalg::cross(f32(3), keys(3)); }, kType, {"f32[3]", "key[3]"}},
      {"linalg::cross", [] { linalg::cross(f32(1), f32(3)); }, kShape, {"f32[1]", "f32[3]"}},
      {"linalg::kron", [] { linalg::kron(f32(3), keys(3)); }, kType, {"f32[3]", "key[3]"}},
      {"linalg::kron", [] { linalg::kron(f32(3), Tensor()); }, kValue, {"f32[3]", "never given"}},
  };
  add_matrices(rows);
  add_equations(rows);
  add_made_of_others(rows);
  return rows;
}

TEST(Refusals, Linalg) { expect_refused(refusals_of_linalg()); }

}  // namespace plait
