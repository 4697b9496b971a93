// Expected values are those of torch.nn.functional (PyTorch 2.15) in f64.
#include "plait/ops/neural/resampling.h"

#include "plait/core/error.h"

#include "tests/ops/layer_support.h"

namespace plait {
namespace {

TEST(Interpolate, AsPyTorch) {
  const Tensor x = wave({1, 1, 3, 4});
  const auto check = [&](const InterpolateOptions& options, const std::vector<double>& expected) {
    expect_values(interpolate(x, options), expected);
  };
  check({.size = {5, 3}}, {0, 0.644217687, 0.98544973, 0, 0.644217687, 0.98544973, 0.33498815,
                           -0.350783228, -0.871575772, 0.33498815, -0.350783228, -0.871575772,
                           -0.631266638, 0.0168139005, 0.656986599});
  check({.scale_factor = {2.5, 1.6}}, {0,
                                       0,
                                       0.644217687,
                                       0.644217687,
                                       0.98544973,
                                       0.863209367,
                                       0,
                                       0,
                                       0.644217687,
                                       0.644217687,
                                       0.98544973,
                                       0.863209367,
                                       0,
                                       0,
                                       0.644217687,
                                       0.644217687,
                                       0.98544973,
                                       0.863209367,
                                       0.33498815,
                                       0.33498815,
                                       -0.350783228,
                                       -0.350783228,
                                       -0.871575772,
                                       -0.982452613,
                                       0.33498815,
                                       0.33498815,
                                       -0.350783228,
                                       -0.350783228,
                                       -0.871575772,
                                       -0.982452613,
                                       -0.631266638,
                                       -0.631266638,
                                       0.0168139005,
                                       0.0168139005,
                                       0.656986599,
                                       0.988168234,
                                       -0.631266638,
                                       -0.631266638,
                                       0.0168139005,
                                       0.0168139005,
                                       0.656986599,
                                       0.988168234});
  check({.size = {5, 3}, .mode = Interpolation::nearest_exact},
        {0, 0.98544973, 0.863209367, 0, 0.98544973, 0.863209367, 0.33498815, -0.871575772,
         -0.982452613, -0.631266638, 0.656986599, 0.988168234, -0.631266638, 0.656986599,
         0.988168234});
  check({.size = {5, 3}, .mode = Interpolation::linear},
        {0.107369615, 0.814833709, 0.883582761, 0.152698937, 0.244428425, 0.144560401, 0.220692921,
         -0.6111795, -0.963973139, -0.225674761, -0.0423316503, 0.174193521, -0.523253215,
         0.33690025, 0.932971295});
  check({.size = {5, 3}, .mode = Interpolation::linear, .align_corners = true},
        {0, 0.814833709, 0.863209367, 0.167494075, 0.101827104, -0.059621623, 0.33498815,
         -0.6111795, -0.982452613, -0.148139244, -0.137139625, 0.00285781063, -0.631266638,
         0.33690025, 0.988168234});
  check({.scale_factor = {1.7, 0.6}, .mode = Interpolation::linear},
        {0.214739229, 0.98544973, 0.173314523, 0.275410567, 0.109584207, -0.816957375, -0.185105608,
         -0.0173791533, -0.415239792, 0.656986599});
  check({.size = {5, 3}, .mode = Interpolation::cubic},
        {0.0712617244, 1.03565859, 1.06545411, 0.205492824, 0.210322978, 0.0253529987, 0.245608795,
         -0.665075863, -0.97558127, -0.229464274, -0.145411488, 0.069863858, -0.625687075,
         0.465651319, 1.13677561});
  check({.size = {4, 5}, .mode = Interpolation::cubic, .align_corners = true}, {0,
                                                                                0.4622728,
                                                                                0.886689151,
                                                                                0.993743965,
                                                                                0.863209367,
                                                                                0.336890561,
                                                                                0.055610335,
                                                                                -0.291188957,
                                                                                -0.533766634,
                                                                                -0.62036875,
                                                                                0.0680177336,
                                                                                -0.225418939,
                                                                                -0.512704354,
                                                                                -0.616483925,
                                                                                -0.567145529,
                                                                                -0.631266638,
                                                                                -0.197535061,
                                                                                0.366609522,
                                                                                0.799538152,
                                                                                0.988168234});
  check({.size = {2, 3}, .mode = Interpolation::area},
        {0.157105652, 0.101827104, -0.0013423221, -0.157561954, -0.137139625, -0.0522183881});
  expect_values(
      interpolate(wave({1, 2, 4}), {.size = {7}, .mode = Interpolation::linear}),
      {0, 0.230077745, 0.598202138, 0.814833709, 0.976718275, 0.906866639, 0.863209367, 0.33498815,
       0.0900698009, -0.301799558, -0.6111795, -0.879495547, -0.942853741, -0.982452613});
  expect_values(
      interpolate(wave({1, 1, 2, 2, 3}), {.size = {3, 1, 4}, .mode = Interpolation::linear}),
      {0.431604683, 0.46785358, 0.425001793, 0.317333251, 0.00211187368, 0.1029388, 0.195106357,
       0.247892025, -0.427380936, -0.26197598, -0.0347890801, 0.178450798});
}

TEST(Interpolate, CopiesAnyDtypeAndKeepsTheSame) {
  const Tensor i = reshape(arange(4), {1, 1, 2, 2});
  EXPECT_EQ(interpolate(i, {.scale_factor = {2}}).dtype(), DType::i64);
  const Tensor x = wave({2, 3, 4, 5});
  for (const Interpolation mode :
       {Interpolation::nearest, Interpolation::nearest_exact, Interpolation::linear,
        Interpolation::cubic, Interpolation::area}) {
    expect_same(interpolate(x, {.size = {4, 5}, .mode = mode}), x, 1e-12);
  }
  EXPECT_EQ(
      interpolate(astype(x, DType::f16), {.size = {7, 7}, .mode = Interpolation::linear}).dtype(),
      DType::f16);
  // An infinity elsewhere must not be multiplied by 0.
  const Tensor far = reshape(doubles({1, 2, 3, INFINITY}), {1, 1, 4});
  expect_values(
      slice(interpolate(far, {.size = {8}, .mode = Interpolation::linear}), 2, {.stop = 4}),
      {1, 1.25, 1.75, 2.25});
}

TEST(Interpolate, TracedAndWithSymbolicSizes) {
  const Tensor x = wave({2, 3, 4, 5});
  for (const Interpolation mode :
       {Interpolation::nearest, Interpolation::linear, Interpolation::cubic}) {
    const auto f = [mode](const Tensor& x) {
      return interpolate(x, {.scale_factor = {2}, .mode = mode});
    };
    expect_traced_alike(f, x);
    expect_symbolic_alike(f, {0, 2, 3}, x);
  }
}

TEST(Interpolate, RefusesWhatDoesNotFit) {
  const Tensor x = wave({1, 1, 3, 4});
  EXPECT_THROW(interpolate(x, {}), ValueError);
  EXPECT_THROW(interpolate(x, {.size = {2}, .scale_factor = {2}}), ValueError);
  EXPECT_THROW(interpolate(x, {.size = {2, 2, 2}}), ValueError);
  EXPECT_THROW(interpolate(x, {.size = {0}}), ShapeError);
  EXPECT_THROW(interpolate(x, {.scale_factor = {0.1}}), ShapeError);
  EXPECT_THROW(interpolate(wave({3, 4}), {.size = {2}}), ShapeError);
  EXPECT_THROW(interpolate(wave({1, 1, 4}), {.size = {2}, .mode = Interpolation::cubic}),
               ValueError);
  EXPECT_THROW(interpolate(x, {.size = {2}, .align_corners = true}), ValueError);
}

TEST(GridSample, AsPyTorch) {
  const Tensor x = wave({1, 1, 3, 4}), grid = wave({1, 2, 3, 2}, 1.3) * 1.4;
  const auto check = [&](Interpolation mode, GridPadding padding, bool align_corners,
                         const std::vector<double>& expected) {
    expect_values(grid_sample(x, grid, {mode, padding, align_corners}), expected);
  };
  using enum GridPadding;
  check(Interpolation::linear, GridPadding::zeros, false, {0, 0.48352219, -0.0026726965, 0, 0, 0});
  check(Interpolation::linear, GridPadding::zeros, true,
        {0.219328309, 0.845537546, 0.0283579222, -0.0411531168, 0, 0.484680439});
  check(Interpolation::linear, border, false,
        {0.33690025, 0.870127702, -0.101519359, 0.338073346, 0, 0.881020279});
  check(Interpolation::linear, border, true,
        {0.33690025, 0.845537546, 0.0439831443, -0.102101974, 0, 0.783614154});
  check(Interpolation::linear, reflection, false,
        {0.314646742, 0.870127702, -0.101519359, 0.283224485, 0, 0.749028904});
  check(Interpolation::linear, reflection, true,
        {0.00603799477, 0.845537546, -0.0569297767, -0.153801454, 0.154797822, 0.136018624});
  check(Interpolation::nearest, GridPadding::zeros, false, {0, 0.863209367, 0, 0, 0, 0});
  check(Interpolation::nearest, GridPadding::zeros, true,
        {0.656986599, 0.863209367, 0.33498815, 0, 0, 0.656986599});
  check(Interpolation::nearest, border, false,
        {0.656986599, 0.863209367, 0.33498815, 0.988168234, 0, 0.988168234});
  check(Interpolation::nearest, border, true,
        {0.656986599, 0.863209367, 0.33498815, -0.982452613, 0, 0.656986599});
  check(Interpolation::nearest, reflection, false,
        {0.656986599, 0.863209367, 0.33498815, 0.988168234, 0, 0.988168234});
  check(Interpolation::nearest, reflection, true,
        {0.656986599, 0.863209367, 0.33498815, -0.871575772, 0, 0.656986599});
  check(Interpolation::cubic, GridPadding::zeros, false,
        {-0.00615443, 0.704816815, -0.00223423137, -0.0422444591, -0.0108465601, -0.0480762901});
  check(Interpolation::cubic, GridPadding::zeros, true,
        {0.359404066, 0.99429906, 0.0944389207, -0.0789305621, -0.0807468892, 0.792998554});
  check(Interpolation::cubic, border, false,
        {0.366609522, 1.05962507, -0.0615164706, 0.274175736, -0.0391548737, 0.921412669});
  check(Interpolation::cubic, border, true,
        {0.481054729, 0.881839832, 0.15195592, -0.29819097, -0.0874435743, 1.04808717});
  check(Interpolation::cubic, reflection, false,
        {0.347401805, 1.2116784, -0.0572743925, 0.231535337, -0.158983926, 0.804673308});
  check(Interpolation::cubic, reflection, true,
        {0.0464391732, 0.918270553, -0.0205086656, -0.206484618, 0.0651616564, 0.263116334});
  expect_values(grid_sample(wave({1, 1, 2, 3, 2}), wave({1, 1, 2, 2, 3}, 1.3)),
                {0.449180481, -0.341626707, 0.0950980153, 0.0684270811});
}

TEST(GridSample, TracedAndRefused) {
  const Tensor x = wave({2, 3, 4, 5}), grid = wave({2, 2, 3, 2}, 1.3);
  const auto f = [](const Tensor& x, const Tensor& grid) { return grid_sample(x, grid); };
  expect_traced_alike(f, x, grid);
  expect_symbolic_alike(f, {1, 2, 3}, x, grid);
  expect_values(grid_sample(x, full({2, 1, 1, 2}, NAN, DType::f64)), std::vector<double>(6, NAN));
  EXPECT_THROW(grid_sample(x, wave({1, 2, 3, 2})), ShapeError);
  EXPECT_THROW(grid_sample(x, wave({2, 2, 3, 3})), ShapeError);
  EXPECT_THROW(grid_sample(x, grid, {.mode = Interpolation::area}), ValueError);
}

}  // namespace
}  // namespace plait
