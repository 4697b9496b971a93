// Functions built from the gamma function on the device: the mathematics of the CPU, with pairs of
// doubles in place of long double. PLAIT_TEST_ALL=1 tries each function with all dtypes.
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>

#include "plait/ops/register_all.h"
#include "plait/plait.h"

#include "tests/cuda/both_devices.h"

namespace plait::cuda_special_test {
namespace {

constexpr size_t kAlways = 7;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

class CudaSpecial : public BothDevices {
 protected:
  void SetUp() override {
    BothDevices::SetUp();
    register_all();
  }
};

const ir::Primitive& named(std::string_view name) {
  for (const ir::Primitive* each : ir::primitives()) {
    if (each->name == name) return *each;
  }
  throw std::out_of_range(std::string(name));
}

bool tries_all() { return std::getenv("PLAIT_TEST_ALL") != nullptr; }

// Reproducible numbers.
class Numbers {
 public:
  double unit() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 11) * 0x1p-53;
  }
  // Evenly in the logarithm.
  double between(double low, double high) { return low * std::pow(high / low, unit()); }
  // A shape that is special, small, of medium size or large.
  double shape(double least) {
    static constexpr double kSpecial[] = {0,  -0., 1,  2,    0.5,       kInfinity,
                                          -1, 16,  64, kNan, -kInfinity};
    const double kind = unit();
    if (kind < 0.06) return kSpecial[static_cast<size_t>(unit() * std::size(kSpecial))];
    if (kind < 0.4) return between(1e-2, 1e2);
    if (kind < 0.75) return between(1, 1e5);
    return kind < 0.9 ? between(least, 1) : between(1e5, 1e8);
  }
  double share() {
    const double kind = unit();
    if (kind < 0.3) return between(1e-300, 1);
    if (kind < 0.6) return unit();
    return kind < 0.8 ? 1 - between(1e-15, 1) : std::nearbyint(10 * unit() - 1) / 8;
  }

 private:
  static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  uint64_t state_ = 99;
};

double& at(Array& array, int64_t i) {
  return array.writable_elements<double>()[static_cast<size_t>(i)];
}

// a and x: also x near a, where half of the probability is on each side.
std::vector<Array> gamma_operands(int64_t count, DType dtype, bool in_logarithm) {
  Numbers numbers;
  Array a = Array::empty(DType::f64, {count}), x = Array::empty(DType::f64, {count});
  for (int64_t i = 0; i < count; ++i) {
    at(a, i) = numbers.shape(1e-300);
    at(x, i) = i % 2 == 0 ? at(a, i) * (0.3 + 1.5 * numbers.unit()) : numbers.shape(1e-300);
    if (in_logarithm) at(x, i) = std::log(at(x, i));
  }
  return {a.converted(dtype), x.converted(dtype)};
}

// a, b and x: also x near the mean a / (a + b).
std::vector<Array> beta_operands(int64_t count, DType dtype, double least) {
  Numbers numbers;
  Array a = Array::empty(DType::f64, {count}), b = Array::empty(DType::f64, {count}),
        x = Array::empty(DType::f64, {count});
  for (int64_t i = 0; i < count; ++i) {
    at(a, i) = numbers.shape(least);
    at(b, i) = numbers.shape(least);
    const double near = at(a, i) / (at(a, i) + at(b, i)) * (0.9 + 0.2 * numbers.unit());
    at(x, i) = i % 2 == 0 && near <= 1 ? near : numbers.share();
  }
  return {a.converted(dtype), b.converted(dtype), x.converted(dtype)};
}

bool is_derivative(std::string_view name) { return name.starts_with("betainc_grad"); }

std::vector<Array> operands_of(std::string_view name, int64_t count, DType dtype) {
  if (name == "betaln") {
    std::vector<Array> all = beta_operands(count, dtype, 1e-300);
    all.pop_back();
    return all;
  }
  // From smaller shapes on, differences of numbers near 1 leave few digits, on the CPU too.
  if (name.starts_with("betainc"))
    return beta_operands(count, dtype, is_derivative(name) ? 1e-2 : 1e-3);
  if (name.starts_with("beta")) return beta_operands(count, dtype, 1e-300);
  return gamma_operands(count, dtype, name == "random_gamma_slope");
}

// The first ones always, the others, which are alike, with PLAIT_TEST_ALL=1.
constexpr std::string_view kNames[] = {
    "betaln",         "gammaincc",         "gammainc_grad_a",    "betainc",
    "betainc_grad_a", "beta_density",      "random_gamma_slope", "gammainc",
    "gamma_density",  "random_gamma_grad", "betainc_grad_b"};

// In units in the last place. The CPU's betainc and derivatives lose some where one shape is huge,
// and take differences of numbers near 1. Rounded twice, a narrow result may differ by one.
double tolerance_of(std::string_view name, DType dtype) {
  if (dtype != DType::f64) return 1;
  return is_derivative(name) ? 4096 : name == "betainc" ? 512 : 4;
}
double near_zero_of(std::string_view name) {
  return is_derivative(name) ? 1 : name == "betainc" ? 0.05 : 0;
}

TEST_F(CudaSpecial, WideRangesInDoubles) {
  for (size_t i = 0; i < (tries_all() ? std::size(kNames) : kAlways); ++i) {
    const std::string_view name = kNames[i];
    const Results results = run(named(name), operands_of(name, 1500, DType::f64), {});
    cuda_test::expect_close(results.device[0], results.host[0], tolerance_of(name, DType::f64),
                            std::string(name), near_zero_of(name));
  }
}

// An integral of the density and its derivative in 50 digits, by mpmath.
TEST_F(CudaSpecial, BetaOfHugeShapes) {
  const auto number = [](double x) { return Array::filled(DType::f64, {1}, Element::of(x)); };
  const std::vector<Array> operands = {number(18.24609983882009), number(12808444.046596536),
                                       number(1.5659409841960292e-06)};
  for (const auto& [name, expected] :
       {std::pair{"betainc", 0.6873164677063795165}, {"betainc_grad_a", -0.08221720091502194892}}) {
    const Results results = run(named(name), operands, {});
    cuda_test::expect_close(results.device[0], number(expected), 2, name);
  }
}

TEST_F(CudaSpecial, ZetaAndBessel) {
  Numbers numbers;
  Array x = Array::empty(DType::f64, {1000}), s = x.copy(), wide = x.copy();
  for (int64_t i = 0; i < 1000; ++i) {
    at(x, i) = i % 3 == 0 ? -30 * numbers.unit() : numbers.shape(1e-300);
    at(s, i) = i % 3 == 0 ? std::floor(1 + 30 * numbers.unit()) : 1 + numbers.between(1e-6, 50);
    at(wide, i) = (numbers.unit() - 0.5) * (i % 2 == 0 ? 1600 : 60);
  }
  at(s, 1) = kInfinity;
  at(wide, 0) = kInfinity;
  const auto expect = [&](std::string_view name, const std::vector<Array>& operands,
                          double near_zero) {
    const Results results = run(named(name), operands, {});
    cuda_test::expect_close(results.device[0], results.host[0], 8, std::string(name), near_zero);
  };
  expect("digamma", {x}, 16);
  expect("zeta", {s, x}, 16);
  expect("i1", {wide}, 0);
}

TEST_F(CudaSpecial, NarrowFloats) {
  constexpr DType kNarrow[] = {DType::f32, DType::f16, DType::bf16};
  size_t number = 0;
  for (const std::string_view name : kNames) {
    ++number;
    for (const DType dtype : kNarrow) {
      if (!tries_all() && (number % 3 != 0 || dtype != kNarrow[number / 3 % 3])) continue;
      expect_near(named(name), operands_of(name, 1500, dtype), {}, tolerance_of(name, dtype),
                  std::string(name));
      if (HasFailure()) return;
    }
  }
}

TEST_F(CudaSpecial, LayoutsAndSizes) {
  const ir::Primitive& gammainc = named("gammainc");
  std::vector<Array> whole = gamma_operands(60, DType::f32, false);
  const Array a = whole[0].reshaped({6, 10}), x = whole[1].reshaped({10, 6});
  expect_near(gammainc, {a, permuted(x, {1, 0})}, {}, 1, "transposed");
  expect_near(gammainc, {stepped(whole[0], 0, 2), stepped(whole[1], 0, 2)}, {}, 1, "stepped");
  const Array row = x.reshaped({60}).view(Layout::contiguous({10}));
  expect_near(gammainc, {a, row.view(row.layout().broadcast_to(std::vector<int64_t>{6, 10}))}, {},
              1, "broadcast");
  for (const Sizes& sizes : {Sizes{}, Sizes{1}, Sizes{0}, Sizes{3, 0}}) {
    const Array some = Array::filled(DType::f32, sizes, Element::of(2.5));
    expect_near(gammainc, {some, some}, {}, 1, "sizes");
  }
}

// Each function's rules use others, which are on the device too.
TEST_F(CudaSpecial, Gradients) {
  Array a = Array::empty(DType::f64, {40}), b = a.copy(), x = a.copy();
  Numbers numbers;
  for (int64_t i = 0; i < 40; ++i) {
    at(a, i) = numbers.between(0.1, 100);
    at(b, i) = numbers.between(0.1, 100);
    at(x, i) = numbers.unit();
  }
  const auto expect_gradient = [&](const Array& by, const std::string& name, const auto& function) {
    const Array there_first = by.on(there);
    const Array expected =
        grad([&](const Tensor& p) { return sum(function(p, Device())); })(Tensor(by)).array();
    const Array actual =
        grad([&](const Tensor& p) { return sum(function(p, there)); })(Tensor(there_first)).array();
    EXPECT_EQ(actual.device(), there) << name;
    cuda_test::expect_close(actual, expected, 256, name, 16);
  };
  const auto on = [](const Array& array, Device device) { return Tensor(array.on(device)); };
  expect_gradient(a, "betaln", [&](const Tensor& p, Device d) { return betaln(p, on(b, d)); });
  expect_gradient(a, "gammainc by a",
                  [&](const Tensor& p, Device d) { return gammainc(p, on(b, d)); });
  expect_gradient(b, "gammaincc by x",
                  [&](const Tensor& p, Device d) { return gammaincc(on(a, d), p); });
  expect_gradient(x, "betainc by x",
                  [&](const Tensor& p, Device d) { return betainc(on(a, d), on(b, d), p); });
  expect_gradient(b, "betainc by b",
                  [&](const Tensor& p, Device d) { return betainc(on(a, d), p, on(x, d)); });
}

}  // namespace
}  // namespace plait::cuda_special_test
