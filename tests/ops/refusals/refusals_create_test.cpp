// Refusals of create.h, matrix_parts.h, print.h, check.h and callback.h.
#include <cmath>

#include <gtest/gtest.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/matrix_parts.h"
#include "plait/ops/arrays/to_device.h"
#include "plait/ops/effects/callback.h"
#include "plait/ops/effects/check.h"
#include "plait/ops/effects/checkpoint_name.h"
#include "plait/ops/effects/print.h"

#include "refusals.h"

namespace plait {

Refusals refusals_of_create() {
  return {
      {"zeros", [] { zeros({2, -3}); }, kShape, {"[2, -3]"}},
      {"zeros", [] { zeros({2}, DType::key); }, kType, {"key"}},
      {"ones", [] { ones({2, -3}); }, kShape, {"[2, -3]"}},
      {"ones", [] { ones({2}, DType::key); }, kType, {"key"}},
      {"empty", [] { empty({2, -3}); }, kShape, {"[2, -3]"}},
      {"empty", [] { empty({2}, DType::key); }, kType, {"key"}},
      {"full", [] { full({-2}, 1); }, kShape, {"[-2]"}},
      {"full", [] { full({-2}, 1, DType::f32); }, kShape, {"[-2]"}},
      {"full", [] { full({2}, 1, DType::key); }, kType, {"key"}},
      {"zeros_like", [] { zeros_like(keys(2)); }, kType, {"key[2]"}},
      {"zeros_like", [] { zeros_like(Tensor()); }, kValue, {"never given"}},
      {"ones_like", [] { ones_like(keys(2)); }, kType, {"key[2]"}},
      {"empty_like", [] { empty_like(keys(2)); }, kType, {"key[2]"}},
      {"full_like", [] { full_like(keys(2), 1); }, kType, {"key[2]"}},
      {"full_like", [] { full_like(Tensor(), 1); }, kValue, {"never given"}},
      {"iota", [] { iota(-1); }, kShape, {"-1"}},
      {"iota", [] { iota(3, DType::boolean); }, kType, {"bool"}},
      {"iota", [] { iota(3, DType::key); }, kType, {"key"}},
      {"arange", [] { arange(0, 3, 0); }, kValue, {"step", "0"}},
      {"arange", [] { arange(0., 3., 0.); }, kValue, {"0"}},
      {"arange", [] { arange(0., NAN, 1.); }, kValue, {"nan"}},
      {"arange", [] { arange(INFINITY); }, kValue, {"inf"}},
      {"arange", [] { arange(std::complex<double>(0, 1)); }, kType, {"complex"}},
      {"logspace", [] { logspace(0, 1, -1); }, kValue, {"-1"}},
      {"logspace", [] { logspace(0, 1, 3, 0); }, kValue, {"base is 0"}},
      {"logspace", [] { logspace(0, 1, 3, 10, DType::key); }, kType, {"key"}},
      {"geomspace", [] { geomspace(1, 2, -1); }, kValue, {"-1"}},
      {"geomspace", [] { geomspace(-1, 2, 3); }, kValue, {"from -1 to 2"}},
      {"geomspace", [] { geomspace(0, 2, 3); }, kValue, {"from 0 to 2"}},
      {"linspace", [] { linspace(0, 1, -1); }, kValue, {"-1"}},
      {"linspace", [] { linspace(0, 1, 3, DType::key); }, kType, {"key"}},
      {"linspace", [] { linspace(NAN, 1, 3); }, kValue, {"nan"}},
      {"linspace", [] { linspace(0, INFINITY, 3); }, kValue, {"inf"}},
      {"eye", [] { eye(-2); }, kShape, {"-2"}},
      {"eye", [] { eye(2, -3); }, kShape, {"-3"}},
      {"eye", [] { eye(2, 2, DType::key); }, kType, {"key"}},
      {"asarray", [] { asarray(1, DType::key); }, kType, {"key"}},
      {"asarray", [] { asarray(f32(2), DType::key); }, kType, {"f32[2]", "key"}},
      {"asarray", [] { asarray(keys(2), DType::f32); }, kType, {"key[2]", "f32"}},
      {"asarray", [] { asarray(Tensor()); }, kValue, {"never given"}},
      {"tensor", [] { tensor(std::vector<float>{1, 2, 3}, {2, 2}); }, kShape, {"3", "[2, 2]"}},
      {"tensor", [] { tensor(std::vector<float>{1}, {-1}); }, kShape, {"[-1]"}},

      {"print", [] { print(Tensor()); }, kValue, {"never given"}},
      {"print", [] { print(Tensor(), "x"); }, kValue, {"never given"}},
      {"check", [] { check(Tensor()); }, kValue, {"never given"}},
      {"check", [] { check(f32(2)); }, kType, {"f32[2]", "expected bool"}},
      {"check_finite", [] { check_finite(Tensor()); }, kValue, {"never given"}},
      {"callback",
       [] { callback([](auto) { return std::vector<Tensor>(); }, {{Tensor()}}); },
       kValue,
       {"never given"}},
      {"call_back", [] { call_back(-1, {{f32(2)}}); }, ErrorKind::key, {"-1"}},
      {"to_device", [] { to_device(Tensor(), Device("cpu")); }, kValue, {"never given"}},
      {"checkpoint_name", [] { checkpoint_name(Tensor(), "x"); }, kValue, {"never given"}},
      {"checkpoint_name", [] { checkpoint_name(f32(2), ""); }, kValue, {"f32[2]", "empty"}},

      {"tril", [] { tril(f32(2)); }, kShape, {"f32[2]"}},
      {"tril", [] { tril(keys(2, 2)); }, kType, {"key[2, 2]"}},
      {"triu", [] { triu(f32(2)); }, kShape, {"f32[2]"}},
      {"triu", [] { triu(keys(2, 2)); }, kType, {"key[2, 2]"}},
      {"tri", [] { tri(-1, 2); }, kShape, {"-1"}},
      {"tri", [] { tri(2, -1); }, kShape, {"-1"}},
      {"tri", [] { tri(2, 2, 0, DType::key); }, kType, {"key"}},
      {"diag_embed", [] { diag_embed(f32()); }, kShape, {"f32[]"}},
      {"tril_indices", [] { tril_indices(-1, 2); }, kShape, {"-1"}},
      {"triu_indices", [] { triu_indices(2, -1); }, kShape, {"-1"}},
      {"diagonal", [] { diagonal(f32(2)); }, kShape, {"f32[2]"}},
      {"diag", [] { diag(f32(2, 2, 2)); }, kShape, {"f32[2, 2, 2]"}},
      {"diag", [] { diag(f32()); }, kShape, {"f32[]"}},
      {"diag", [] { diag(keys(2)); }, kType, {"key[2]"}},
      {"trace", [] { trace(f32(2)); }, kShape, {"f32[2]"}},
      {"trace", [] { trace(keys(2, 2)); }, kType, {"key[2, 2]"}},
      {"meshgrid", [] { meshgrid(std::vector<Tensor>{f32(2), f32(2, 2)}); }, kShape, {"f32[2, 2]"}},
      {"meshgrid", [] { meshgrid(std::vector<Tensor>{f32(2), Tensor()}); }, kValue, {"f32[2]"}},
  };
}

TEST(Refusals, Create) { expect_refused(refusals_of_create()); }

}  // namespace plait
