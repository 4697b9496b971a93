// Expected values are those of torch.nn.functional (PyTorch 2.15) in f64.
#include "plait/ops/neural/normalization.h"

#include "plait/core/error.h"
#include "plait/ops/neural/dropout.h"
#include "plait/ops/neural/softmax.h"

#include "tests/ops/layer_support.h"

namespace plait {
namespace {

TEST(Softmax, AsPyTorch) {
  const Tensor x = wave({2, 3}) * 3;
  expect_values(softmax(x, 1),
                {0.0368521487, 0.254567745, 0.708580106, 0.812204369, 0.166515491, 0.0212801393});
  expect_values(softmax(x, 0),
                {0.0698089286, 0.71660612, 0.982166793, 0.930191071, 0.28339388, 0.0178332068});
  expect_values(softmin(x, 1), values_of(softmax(-x, 1)));
  expect_values(log_softmax(x * 10, 1), {-29.5635277, -10.2369971, -3.58208945e-05, -1.31187721e-07,
                                         -15.8466366, -36.419778});
}

TEST(Softmax, OfInfinities) {
  const Tensor x =
      reshape(doubles({-INFINITY, -INFINITY, 0, -INFINITY, NAN, 1, INFINITY, 1}), {4, 2});
  const std::vector<double> plain{NAN, NAN, 1, 0, NAN, NAN, NAN, NAN};
  expect_values(softmax(x), plain);
  expect_values(softmax(astype(x, DType::f32)), plain);
  expect_values(masked_softmax(x), {0, 0, 1, 0, NAN, NAN, NAN, NAN});
  expect_values(masked_softmax(astype(x, DType::f32)), {0, 0, 1, 0, NAN, NAN, NAN, NAN});
  expect_values(log_softmax(x), {NAN, NAN, 0, -INFINITY, NAN, NAN, NAN, NAN});
  expect_values(log_softmax(reshape(doubles({1000, 0}), {1, 2})), {0, -1000});
}

// Row lengths around those of registers and blocks, compared with f64.
TEST(Softmax, RowsOfAnyLength) {
  for (const int64_t size : {0, 1, 2, 7, 8, 15, 16, 17, 33, 4095, 4097, 9001}) {
    const Tensor x = wave({3, size}, 0.37, DType::f32) * 20;
    const Tensor wide = astype(x, DType::f64);
    std::vector<double> expected, distances;
    const std::vector<double> values = values_of(wide);
    for (int64_t row = 0; row < 3; ++row) {
      double total = 0, greatest = -INFINITY;
      const auto at = [&](int64_t i) { return values[static_cast<size_t>(row * size + i)]; };
      for (int64_t i = 0; i < size; ++i) greatest = std::max(greatest, at(i));
      for (int64_t i = 0; i < size; ++i) total += std::exp(at(i) - greatest);
      for (int64_t i = 0; i < size; ++i) {
        expected.push_back(std::exp(at(i) - greatest) / total);
        distances.push_back(greatest - at(i));
      }
    }
    const std::vector<double> single = values_of(softmax(x));
    ASSERT_EQ(single.size(), expected.size());
    for (size_t i = 0; i < single.size(); ++i) {
      // The distance from the maximum, up to 40, is rounded to f32 before exponentiation, with a
      // relative error of at most 2^-25; the sum is rounded too.
      const double relative = 2e-6 + distances[i] * 0x1p-24;
      ASSERT_NEAR(single[i], expected[i], relative * expected[i] + 1e-45) << size << " " << i;
    }
    expect_values(softmax(wide), expected, 1e-14);
    expect_values(exp(log_softmax(wide)), expected, 1e-12);
  }
  const Tensor x = wave({2, 5, 3}, 0.7, DType::f32);
  expect_same(softmax(x, 1), permute_dims(softmax(permute_dims(x, {0, 2, 1})), {0, 2, 1}), 0);
  expect_same(softmax(flip(x, 2)), flip(softmax(x), 2), 1e-6);
  EXPECT_EQ(softmax(tensor<int32_t>({1, 1})).text(), "[0.5 0.5] : f32[2]");
  EXPECT_EQ(softmax(astype(x, DType::f16)).dtype(), DType::f16);
  EXPECT_THROW(softmax(x, 3), IndexError);
  EXPECT_THROW(softmax(astype(x, DType::c64)), TypeError);
}

TEST(Softmax, TangentsAndBatches) {
  const Tensor x = wave({2, 3, 4}) * 2;
  for (const int64_t axis : {0, 1, 2}) {
    const auto attributes = ir::Attributes::of(SoftmaxAttributes{axis});
    expect_tangents("softmax", attributes, x);
    expect_tangents("log_softmax", attributes, x);
  }
  const auto first = ir::Attributes::of(SoftmaxAttributes{0});
  expect_batches("softmax", first, {x}, {true});
  expect_batches("log_softmax", first, {x}, {true});
  for (const bool is_centred : {true, false}) {
    const auto attributes = ir::Attributes::of(StandardizeAttributes{1e-3, is_centred});
    expect_tangents("standardize", attributes, x);
    expect_batches("standardize", attributes, {x}, {true});
  }
}

TEST(Norm, AsPyTorch) {
  const Tensor x = wave({2, 4, 3});
  const Tensor weight = wave({4}, 0.3) + 1, bias = wave({4}, 1.1);
  expect_values(layer_norm(x, {4, 3}, wave({4, 3}, 0.3) + 1, wave({4, 3}, 1.1)),
                {-0.200479847, 1.84559023,  2.73782231,   1.7241132,    -0.397424581, -2.12530528,
                 -2.58682153,  -2.04826218, -1.28958892,  -0.708783668, -0.138154173, 0.592248466,
                 1.17429625,   1.37960254,  -0.198774901, -2.66849318,  -3.95789332,  -2.73991969,
                 0.216683289,  2.6628315,   2.89169436,   1.19981824,   -0.596952305, -1.01141956});
  expect_values(
      rms_norm(x, {3}, wave({3}, 0.3) + 1, 1e-5),
      {0,           1.22780998,  2.26831786,   1.50997336,  0.759148568,  -0.960079234, -1.03598007,
       -1.51287155, -1.17401651, 0.0245393425, 1.24221037,  2.25652658,   1.50564307,   0.728330442,
       -1.01023883, -1.04775761, -1.51089416,  -1.15193575, 0.0486866831, 1.25606797,   2.24434585,
       1.50042478,  0.696675082, -1.06055577});
  expect_values(
      group_norm(x, 2, weight, bias),
      {-0.872321658, 0.488872943,  1.20987645,   2.12401099,   0.678079867,  -1.19912261,
       -0.713655567, -0.943478288, -0.215548847, 0.206158648,  1.71855325,   2.50096293,
       1.71553516,   0.90463224,   -0.133530644, -0.288608983, -0.483771995, 0.224514891,
       -0.422044462, 1.65659678,   2.7059331,    1.46522331,   -0.556292948, -3.10890922});
  expect_values(instance_norm(x, weight, bias),
                {-1.329441,   0.247167939,  1.08227306,  2.40497597,  1.02809899,   -0.759452885,
                 0.348072384, -0.835180082, 2.91259691,  -2.53364673, 0.297804956,  1.76260469,
                 1.17159955,  0.100098045,  -1.27169759, 0.431637472, -0.414608599, 2.65659321,
                 -1.28055078, 1.22148354,   2.48455646,  1.93709922,  0.0109370514, -2.42127336});
  const Tensor one = slice(x, 0, {.stop = 1});
  expect_values(normalize(one),
                {0, 0.464431112, 0.627136588, 0.703622318, 0.24150054, -0.223237157, -0.710441972,
                 -0.708272326, -0.401735769, 0.0137054069, 0.47363651, 0.628866634});
  expect_values(normalize(one, 3),
                {0, 0.558247048, 0.7557944, 0.789853391, 0.290284091, -0.269034524, -0.797508815,
                 -0.851344633, -0.484152337, 0.0153850466, 0.569311952, 0.757879367});
  expect_values(normalize(one, INFINITY),
                {0, 0.655723929, 0.997248946, 0.990400828, 0.340971306, -0.354983307, -1, -1,
                 -0.638825067, 0.0192913812, 0.668720903, 1});
}

TEST(Norm, OfBatches) {
  const Tensor x = wave({2, 4, 3});
  BatchNormOptions options{.weight = wave({4}, 0.3) + 1,
                           .bias = wave({4}, 1.1),
                           .running_mean = wave({4}, 0.2),
                           .running_var = wave({4}, 0.2) + 2};
  const BatchNormed trained = batch_norm(x, options);
  expect_values(trained.values,
                {-0.852165492, 0.499510824,  1.21547265,  3.10229577,   2.07309697,   0.736923675,
                 -0.717762882, -0.946552887, -0.22189442, -1.60125737,  0.780559014,  2.01274815,
                 0.940925767,  -0.182643826, -1.62109992, -0.293622105, -0.487455144, 0.216004996,
                 1.15007933,   2.46233041,   3.12477887,  1.48285734,   -0.536037551, -3.08534375});
  expect_values(trained.running_mean, {0.0406147593, 0.151642459, 0.337284927, 0.548657601});
  expect_values(trained.running_var, {1.82725725, 2.03185332, 2.21947054, 2.33574602});
  options.training = false;
  const BatchNormed used = batch_norm(x, options);
  expect_values(used.values, {0,
                              0.455529556,
                              0.696816445,
                              1.4718172,
                              1.01030936,
                              0.411149655,
                              -0.467887062,
                              -0.580117058,
                              -0.22464516,
                              -0.767790004,
                              -0.054914241,
                              0.313878995,
                              0.604291172,
                              0.225636052,
                              -0.25913923,
                              -0.0509621909,
                              -0.137879769,
                              0.177562078,
                              0.448358933,
                              1.09206683,
                              1.41702241,
                              0.155283094,
                              -0.448970554,
                              -1.21197589});
  expect_same(used.running_mean, options.running_mean, 0);
  EXPECT_FALSE(batch_norm(x).running_mean);
  EXPECT_THROW(batch_norm(wave({1, 4})), ValueError);
  EXPECT_THROW(batch_norm(x, {.training = false}), ValueError);
  EXPECT_THROW(batch_norm(x, {.weight = wave({3})}), ShapeError);
}

TEST(Norm, ConstantRowsAreFinite) {
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const Tensor x = full({3, 1000}, 0.1, dtype);
    expect_values(layer_norm(x, {1000}, {}, {}, 1e-12), std::vector<double>(3000, 0.0), 0);
    EXPECT_EQ(layer_norm(x, {1000}).dtype(), dtype);
  }
  const auto attributes = ir::Attributes::of(StandardizeAttributes{1e-3});
  expect_tangents("standardize", attributes, full({2, 5}, 3.0, DType::f64));
  expect_values(normalize(zeros({1, 3}, DType::f64)), {0, 0, 0});
}

// Far from 0 the variance must be computed from differences, not as a difference of squares.
TEST(Norm, FarFromZero) {
  const Tensor x = wave({1, 4096}, 0.37, DType::f32) + 10000;
  const Tensor wide = layer_norm(astype(x, DType::f64), {4096});
  expect_values(layer_norm(x, {4096}), values_of(wide), 2e-3);
}

TEST(Norm, LinearAndDropout) {
  const Tensor x = wave({2, 5, 3}), w = wave({4, 3}, 1.1);
  EXPECT_EQ(linear(x, w, wave({4})).shape(), (Shape{2, 5, 4}));
  expect_same(linear(x, w) + wave({4}), linear(x, w, wave({4})), 1e-12);
  EXPECT_EQ(linear(wave({3}), w).shape(), (Shape{4}));
  EXPECT_THROW(linear(x, wave({4, 2})), ShapeError);
  EXPECT_THROW(linear(x, w, wave({3})), ShapeError);
  const Tensor keep = tensor<bool>({true, false, true});
  expect_values(dropout(doubles({1, NAN, 3}), keep, 0.5), {2, 0, 6});
  EXPECT_THROW(dropout(x, keep, 1.5), ValueError);
}

TEST(Norm, TracedAndWithSymbolicSizes) {
  const Tensor x = wave({2, 4, 6});
  const auto norms = [](const Tensor& x) {
    return layer_norm(x, {x.shape(-1)}) + group_norm(x, 2) + instance_norm(x) +
           rms_norm(x, {x.shape(-1)}) + batch_norm(x).values + softmax(x, 1) + normalize(x);
  };
  expect_traced_alike(norms, x);
  expect_symbolic_alike(norms, {0, 2}, x);
}

TEST(Norm, OneNumberAChannelIsRefusedOfSymbolicSizesToo) {
  const auto norm = [](const Tensor& x) { return batch_norm(x).values; };
  const TracedProgram traced =
      trace(norm)(abstract_tensor(ir::Type::array(DType::f64, {Dim::symbol("n"), 4})));
  EXPECT_EQ(evaluate(traced.program, std::vector{wave({3, 4})})[0].shape(), (Shape{3, 4}));
  EXPECT_THROW(evaluate(traced.program, std::vector{wave({1, 4})}), ShapeError);
}

TEST(Norm, RefusesWhatDoesNotFit) {
  const Tensor x = wave({2, 4, 3});
  EXPECT_THROW(layer_norm(x, {4}), ShapeError);
  EXPECT_THROW(layer_norm(x, {3}, wave({4})), ShapeError);
  EXPECT_THROW(layer_norm(x, {}), ShapeError);
  EXPECT_THROW(group_norm(x, 3), ValueError);
  EXPECT_THROW(group_norm(x, 0), ValueError);
  EXPECT_THROW(instance_norm(wave({2, 4})), ShapeError);
  EXPECT_THROW(layer_norm(astype(x, DType::c64), {3}), TypeError);
  EXPECT_THROW(normalize(x, 0), ValueError);
}

}  // namespace
}  // namespace plait
