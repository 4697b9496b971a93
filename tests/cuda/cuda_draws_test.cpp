// Draws with parameters on the device: the bits are the CPU's.
#include <cmath>
#include <limits>

#include "plait/ops/inside/random/random_primitives.h"
#include "plait/plait.h"

#include "tests/cuda/both_devices.h"

namespace plait::cuda_draws_test {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

class CudaDraws : public BothDevices {
 protected:
  static Array keys(int64_t count) {
    return random::split_key(random::key(uint64_t{7}), count).array();
  }
  static Array one_key() { return random::key(uint64_t{11}).array(); }
};

// The numbers, repeated.
Array repeated(std::initializer_list<double> numbers, const Sizes& sizes, DType dtype) {
  Array array = Array::empty(DType::f64, sizes);
  const std::vector<double> all(numbers);
  for (int64_t i = 0; i < array.element_count(); ++i) {
    array.writable_elements<double>()[static_cast<size_t>(i)] =
        all[static_cast<size_t>(i) % all.size()];
  }
  return array.converted(dtype);
}

TEST_F(CudaDraws, GammaNumbersAreTheSame) {
  const ir::Primitive& gamma = parametric_primitives().gamma;
  const auto logarithm = ir::Attributes::of(RandomGammaAttributes{.log = true});
  const auto plain = ir::Attributes::of(RandomGammaAttributes{});
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const auto shapes = [&](const Sizes& sizes) {
      return repeated({0.3, 1, 2.5, 1e-3, 17, 4e4, 0, -1, 3e7, kInfinity, std::nan("")}, sizes,
                      dtype);
    };
    for (const auto& attributes : {plain, logarithm}) {
      expect_same(gamma, {one_key(), shapes({})}, attributes);
      expect_same(gamma, {one_key(), shapes({0})}, attributes);
      expect_same(gamma, {keys(3), shapes({3, 150})}, attributes);
    }
    const Array one = shapes({3, 1});
    expect_same(gamma, {keys(3), one.view(one.layout().broadcast_to(std::vector<int64_t>{3, 40}))},
                plain);
    expect_same(gamma, {keys(3), permuted(shapes({50, 3}), {1, 0})}, plain);
  }
}

TEST_F(CudaDraws, PoissonNumbersAreTheSame) {
  const ir::Primitive& poisson = parametric_primitives().poisson;
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    const auto rates = [&](const Sizes& sizes) {
      return repeated({0.3, 4, 9.99, 10, 25, 1e3, 0, 6e4, 1e-4, 12.5}, sizes, dtype);
    };
    expect_same(poisson, {one_key(), rates({})}, {});
    expect_same(poisson, {one_key(), rates({0})}, {});
    expect_same(poisson, {keys(3), rates({3, 210})}, {});
    expect_same(poisson, {keys(3), permuted(rates({50, 3}), {1, 0})}, {});
  }
  const Array huge = repeated({1e9, 1e15, 1e18, 1e19, 1e300}, {100}, DType::f64);
  expect_same(poisson, {one_key(), huge}, {});
}

TEST_F(CudaDraws, BinomialNumbersAreTheSame) {
  const ir::Primitive& binomial = parametric_primitives().binomial;
  for (const DType dtype : {DType::f64, DType::f32, DType::f16}) {
    const auto trials = [](const Sizes& sizes) {
      return repeated({1, 10, 100, 0, 100000, 1e15, 40, 9.2e18}, sizes, DType::i64);
    };
    const auto shares = [&](const Sizes& sizes) {
      return repeated({0.5, 0.1, 0.99, 0, 1, 0.25, 0.0001, 0.75, 0.51}, sizes, dtype);
    };
    expect_same(binomial, {one_key(), trials({}), shares({})}, {});
    expect_same(binomial, {one_key(), trials({0}), shares({0})}, {});
    expect_same(binomial, {keys(3), trials({3, 168}), shares({3, 168})}, {});
    expect_same(binomial, {keys(3), permuted(trials({50, 3}), {1, 0}), shares({3, 50})}, {});
  }
}

TEST_F(CudaDraws, MultinomialNumbersAreTheSame) {
  const ir::Primitive& multinomial = parametric_primitives().multinomial;
  for (const DType dtype : {DType::f64, DType::f32}) {
    const auto trials = [](const Sizes& sizes) {
      return repeated({1, 10, 0, 100000}, sizes, DType::i64);
    };
    const auto weights = [&](const Sizes& sizes) {
      return repeated({0.5, 2, 0, 0.25, 7, 0.1, 0, 0, 1e-3}, sizes, dtype);
    };
    expect_same(multinomial, {one_key(), trials({}), weights({5})}, {});
    expect_same(multinomial, {one_key(), trials({0}), weights({0, 4})}, {});
    expect_same(multinomial, {keys(2), trials({2, 7}), weights({2, 7, 0})}, {});
    expect_same(multinomial, {keys(3), trials({3, 35}), weights({3, 35, 8})}, {});
    expect_same(multinomial, {keys(3), trials({3, 5}), permuted(weights({6, 5, 3}), {2, 1, 0})},
                {});
  }
}

// On the host the first bad number is refused too.
TEST_F(CudaDraws, BadParametersAreRefused) {
  const DeviceScope scope(there);
  const auto message = [&](const ir::Primitive& primitive, const std::vector<Array>& operands) {
    std::vector<Tensor> tensors;
    for (const Array& operand : operands) {
      tensors.emplace_back(operand.dtype() == DType::key ? operand : operand.on(there));
    }
    try {
      (void)plait::apply(primitive, tensors).array().on_host();
    } catch (const ValueError& e) {
      return std::string(e.what());
    }
    return std::string("nothing");
  };
  const auto expect_message = [&](const std::string& actual, const std::string& part) {
    EXPECT_NE(actual.find(part), std::string::npos) << actual;
  };
  const auto numbers = [](std::initializer_list<double> all, DType dtype = DType::f32) {
    return repeated(all, {static_cast<int64_t>(all.size())}, dtype);
  };
  const ParametricPrimitives& draws = parametric_primitives();
  expect_message(message(draws.poisson, {one_key(), numbers({1, -2, kInfinity, 3})}),
                 "random_poisson: a rate is -2, expected a finite number of 0 or more");
  expect_message(message(draws.poisson, {one_key(), numbers({1, std::nan("")})}), "a rate is nan");
  expect_message(
      message(draws.binomial, {one_key(), numbers({4, -4}, DType::i64), numbers({0.5, 0.5})}),
      "random_binomial: a number of trials is -4, expected 0 or more");
  expect_message(
      message(draws.binomial, {one_key(), numbers({4, 4}, DType::i64), numbers({0.5, 1.5})}),
      "a probability is 1.5, expected 0 to 1");
  const Array one = numbers({4}, DType::i64).reshaped({});
  expect_message(message(draws.multinomial, {one_key(), one, numbers({1, -0.5})}),
                 "random_multinomial: a weight is -0.5, expected a finite number of 0 or more");
  expect_message(message(draws.multinomial, {one_key(), one, numbers({0, 0})}),
                 "all weights are 0");
  expect_message(message(draws.poisson, {one_key(), numbers({1, 2})}), "nothing");
}

// The derivative by the shape, through the sample.
TEST_F(CudaDraws, GradientsOfGammaNumbers) {
  const auto gradient = [&](const Tensor& shapes) {
    return grad([](const Tensor& a) { return sum(random::gamma(random::key(uint64_t{5}), a)); })(
               shapes)
        .array();
  };
  const Array shapes = repeated({0.3, 1, 2.5, 17, 4e4}, {60}, DType::f32);
  cuda_test::expect_close(gradient(Tensor(shapes.on(there))), gradient(Tensor(shapes)), 4,
                          "gradient");
}

}  // namespace
}  // namespace plait::cuda_draws_test
