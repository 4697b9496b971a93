// Rotary embeddings and their scalings, ALiBi and sinusoids compared with the formulas of the
// papers, in plain loops.
#include "plait/nn/sequences/positions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>

#include <gtest/gtest.h>

#include "plait/ops/neural/attention.h"

#include "tests/nn/sequence_ways.h"
#include "tests/support/errors.h"

namespace plait::sequence_ways {
namespace {

using Numbers = std::vector<double>;

Numbers numbers_of(const Tensor& x) {
  Numbers found;
  const Tensor flat = flatten(astype(x, DType::f64));
  for (int64_t i = 0; i < flat.shape(0).number(); ++i) found.push_back(flat[i].item<double>());
  return found;
}

void expect_numbers(const Numbers& found, const Numbers& wanted, double tolerance,
                    const std::string& what = {}) {
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], wanted[i], tolerance * std::max(1., std::abs(wanted[i]))) << what << i;
  }
}

Numbers theta(int64_t width, double base = 1e4) {
  Numbers made;
  for (int64_t d = 0; d < width / 2; ++d) made.push_back(std::pow(base, -2. * d / width));
  return made;
}

// By wavelength, as the code that Meta published does.
Numbers llama3_by_wavelength(int64_t width, double base, double factor, double low, double high,
                             double original) {
  Numbers made = theta(width, base);
  for (double& frequency : made) {
    const double wavelength = 2 * M_PI / frequency;
    if (wavelength > original / low) {
      frequency /= factor;
    } else if (wavelength >= original / high) {
      const double smooth = (original / wavelength - low) / (high - low);
      frequency = (1 - smooth) * frequency / factor + smooth * frequency;
    }
  }
  return made;
}

// YaRN: h(θ) = (1 − γ) θ / s + γ θ, where γ falls from 1 at `fast` rotations to 0 at `slow` ones.
Numbers yarn_by_ramp(int64_t width, double base, double scale, double original, double fast = 32,
                     double slow = 1, bool is_rounded = true) {
  std::array<double, 2> bounds{fast, slow};
  for (double& each : bounds) {
    each = width * std::log(original / (2 * M_PI * each)) / (2 * std::log(base));
  }
  if (is_rounded) bounds = {std::floor(bounds[0]), std::ceil(bounds[1])};
  const double first = std::max(bounds[0], 0.), last = std::min(bounds[1], width - 1.);
  Numbers made = theta(width, base);
  for (size_t d = 0; d < made.size(); ++d) {
    const double gamma = 1 - std::min(std::max((d - first) / (last - first), 0.), 1.);
    made[d] = (1 - gamma) * made[d] / scale + gamma * made[d];
  }
  return made;
}

Numbers dynamic_by_base(int64_t width, double base, double factor, double length, double original) {
  const double growth = factor * length / original - (factor - 1);
  return theta(width, length > original ? base * std::pow(growth, width / (width - 2.)) : base);
}

// The rows of x [..., length, width] by complex numbers; positions has one for each row.
Numbers rotated_by_complex(const Tensor& x, const Numbers& frequencies, const Numbers& positions,
                           bool is_interleaved = false) {
  const size_t half = frequencies.size();
  Numbers values = numbers_of(x);
  for (size_t row = 0; row < positions.size(); ++row) {
    for (size_t i = 0; i < half; ++i) {
      double& real = values[row * 2 * half + (is_interleaved ? 2 * i : i)];
      double& imaginary = values[row * 2 * half + (is_interleaved ? 2 * i + 1 : half + i)];
      const auto turned =
          std::complex(real, imaginary) * std::polar(1., positions[row] * frequencies[i]);
      real = turned.real();
      imaginary = turned.imag();
    }
  }
  return values;
}

// first, first + 1, … for each of `count` sequences.
Numbers counted(size_t length, double first = 0, size_t count = 1) {
  Numbers made;
  for (size_t i = 0; i < count * length; ++i) {
    made.push_back(first + static_cast<double>(i % length));
  }
  return made;
}

TEST(Rotary, Layouts) {
  const Tensor x = drawn(1, {2, 3, 9, 8});
  for (const bool is_interleaved : {false, true}) {
    const auto rope = nn::RoPE::init(8, {.base = 500, .is_interleaved = is_interleaved});
    const auto wanted = [&](double first) {
      return rotated_by_complex(x, theta(8, 500), counted(9, first, 6), is_interleaved);
    };
    expect_numbers(numbers_of(rope(x)), wanted(0), 1e-13);
    expect_numbers(numbers_of(rope(x, {}, 4)), wanted(4), 1e-13);
    EXPECT_EQ(greatest_difference(rope(x, {}, tensor<int64_t>({4})[0]), rope(x, {}, 4)), 0);
    const Tensor places = random::randint(random::key(3), {2, 1, 9}, 0, 100);
    expect_numbers(numbers_of(rope(x, places)),
                   rotated_by_complex(x, theta(8, 500), numbers_of(broadcast_to(places, {2, 3, 9})),
                                      is_interleaved),
                   1e-13);
    EXPECT_LT(greatest_difference(rope(x),
                                  plait::rope(x, {.base = 500, .is_interleaved = is_interleaved})),
              1e-13);
    const auto partly = nn::RoPE::init(8, {.is_interleaved = is_interleaved, .width = 4})(x);
    const Tensor begin = x[{ellipsis, Slice{0, 4}}];
    expect_numbers(numbers_of(partly[{ellipsis, Slice{0, 4}}]),
                   rotated_by_complex(begin, theta(4), counted(9, 0, 6), is_interleaved), 1e-13);
    EXPECT_EQ(greatest_difference(partly[{ellipsis, Slice{4, {}}}], x[{ellipsis, Slice{4, {}}}]),
              0);
  }
}

TEST(Rotary, Scalings) {
  using nn::RopeType;
  const nn::RopeScaling yarn{
      .rope_type = RopeType::yarn, .factor = 4, .original_max_position_embeddings = 512};
  const auto yarn_with = [&](auto change) {
    nn::RopeScaling made = yarn;
    change(made);
    return made;
  };
  const auto llama3 = [](double factor, double low, double high) {
    return nn::RopeScaling{.rope_type = RopeType::llama3,
                           .factor = factor,
                           .original_max_position_embeddings = 8192,
                           .low_freq_factor = low,
                           .high_freq_factor = high};
  };
  const double usual = 0.1 * std::log(4) + 1;
  Numbers quarter = theta(64);
  for (double& each : quarter) each /= 4;
  struct Scaled {
    nn::RopeScaling scaling;
    double base;
    Numbers wanted;
    double factor;
  };
  const std::vector<Scaled> cases{
      {{}, 1e4, theta(64), 1},
      {{.rope_type = RopeType::linear, .factor = 4}, 1e4, quarter, 1},
      {llama3(8, 1, 4), 5e5, llama3_by_wavelength(64, 5e5, 8, 1, 4, 8192), 1},
      {llama3(32, 0.5, 3), 1e4, llama3_by_wavelength(64, 1e4, 32, 0.5, 3, 8192), 1},
      {yarn, 1e4, yarn_by_ramp(64, 1e4, 4, 512), usual},
      {yarn_with([](auto& s) {
         s.beta_fast = 16;
         s.beta_slow = 2;
         s.attention_factor = 1.5;
       }),
       1e4, yarn_by_ramp(64, 1e4, 4, 512, 16, 2), 1.5},
      {yarn_with([](auto& s) { s.truncate = false; }), 1e4,
       yarn_by_ramp(64, 1e4, 4, 512, 32, 1, false), usual},
      {yarn_with([](auto& s) {
         s.factor = 40;
         s.mscale = 1;
         s.mscale_all_dim = 0.7;
       }),
       1e4, yarn_by_ramp(64, 1e4, 40, 512), (0.1 * std::log(40) + 1) / (0.07 * std::log(40) + 1)},
      {yarn_with([](auto& s) { s.factor = 1; }), 1e4, theta(64), 1},
  };
  const Tensor x = drawn(2, {3, 50, 64});
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto& [scaling, base, wanted, factor] = cases[i];
    const std::string what = "case " + std::to_string(i) + ": ";
    const auto rope = nn::RoPE::init(64, {.base = base, .scaling = scaling});
    expect_numbers(numbers_of(rope.frequencies()), wanted, 1e-14, what);
    EXPECT_NEAR(rope.attention_factor(), factor, 1e-14) << what;
    Numbers turned = rotated_by_complex(x, wanted, counted(50, 100, 3));
    for (double& each : turned) each *= factor;
    expect_numbers(numbers_of(rope(x, {}, 100)), turned, 1e-11, what);
  }
  // Llama 3 and YaRN keep some frequencies, divide some, and mix some.
  for (const size_t i : {2, 4}) {
    const Numbers plain = theta(64, cases[i].base);
    const double divided = 1 / cases[i].scaling.factor;
    std::array<int, 3> counts{};
    for (size_t d = 0; d < plain.size(); ++d) {
      const double ratio = cases[i].wanted[d] / plain[d];
      ++counts[std::abs(ratio - 1) < 1e-9 ? 0 : std::abs(ratio - divided) < 1e-9 ? 1 : 2];
    }
    EXPECT_TRUE(counts[0] > 0 && counts[1] > 0 && counts[2] > 0);
  }
}

nn::RoPE dynamic_rope(int64_t head_dim, double original) {
  return nn::RoPE::init(head_dim, {.scaling = {.rope_type = nn::RopeType::dynamic,
                                               .factor = 2,
                                               .original_max_position_embeddings = original}});
}

TEST(Rotary, DynamicFollowsTheLength) {
  const auto rope = dynamic_rope(16, 10);
  const auto jitted = jit([](const nn::RoPE& each, const Tensor& x) { return each(x); });
  for (const int64_t length : {4, 10, 11, 25, 60}) {
    const Tensor x = drawn(1, {2, length, 16});
    const Numbers wanted = rotated_by_complex(
        x, dynamic_by_base(16, 1e4, 2, static_cast<double>(length), 10), counted(length, 0, 2));
    expect_numbers(numbers_of(rope(x)), wanted, 1e-12);
    expect_numbers(numbers_of(jitted(rope, x)), wanted, 1e-12);
  }
  EXPECT_LE(jitted.stats().traces, 2);
  const Tensor x = drawn(2, {2, 1, 16});
  expect_numbers(numbers_of(rope(x, {}, 24)),
                 rotated_by_complex(x, dynamic_by_base(16, 1e4, 2, 25, 10), {24, 24}), 1e-12);
}

TEST(Rotary, NarrowNumbersHaveExactAngles) {
  const Tensor x = astype(drawn(1, {1, 3, 64}), DType::f32);
  const auto rope = nn::RoPE::init(64);
  const Tensor found = rope(x, tensor<int64_t>({100000, 131071, 1000003}));
  EXPECT_EQ(found.dtype(), DType::f32);
  expect_numbers(numbers_of(found), rotated_by_complex(x, theta(64), {100000, 131071, 1000003}),
                 1e-6);
  EXPECT_EQ(rope(astype(x, DType::bf16)).dtype(), DType::bf16);
}

struct RotatedScale {
  Tensor scale;
  nn::RoPE rope;
  Tensor operator()(const Tensor& x) const { return square(rope(x * scale)); }
};

constexpr auto kRotate = [](const auto& layer, const Tensor& x) { return layer(x); };

TEST(Rotary, InAllWays) {
  expect_all_ways(
      [](const Tensor& key) {
        return RotatedScale{random::normal(key, {4}, 0., 1., DType::f64), dynamic_rope(4, 3)};
      },
      kRotate, drawn(1, {2, 5, 4}));
  expect_symbolic_sizes(nn::RoPE::init(4), kRotate,
                        {drawn(1, {2, 3, 4}), drawn(2, {4, 5, 4}), drawn(3, {3, 7, 4})});
}

TEST(LinearBiases, Slopes) {
  for (const int heads : {1, 2, 8, 16}) {
    Numbers wanted;
    for (int i = 1; i <= heads; ++i) wanted.push_back(std::pow(2., -8. * i / heads));
    expect_numbers(nn::ALiBi::init(heads).slopes(), wanted, 1e-15);
  }
  Numbers twelve;  // as those of BLOOM and MPT
  for (int i = 1; i <= 8; ++i) twelve.push_back(std::pow(2., -i));
  for (int i = 0; i < 4; ++i) twelve.push_back(std::pow(2., -(i + 0.5)));
  expect_numbers(nn::ALiBi::init(12).slopes(), twelve, 1e-15);
  expect_numbers(nn::ALiBi::init(3).slopes(), {1. / 16, 1. / 256, 0.25}, 1e-15);
}

TEST(LinearBiases, AreDistancesTimesSlopes) {
  Numbers wanted;
  for (const double slope : {1. / 16, 1. / 256}) {
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 5; ++j) wanted.push_back(-slope * std::abs(2 + i - j));
    }
  }
  const Tensor found = nn::ALiBi::init(2)(3, 5, 2, DType::f64);
  EXPECT_EQ(found.type().text(), "f64[2, 3, 5]");
  expect_numbers(numbers_of(found), wanted, 1e-15);
  EXPECT_EQ(nn::ALiBi::init(2)(3).type().text(), "f32[2, 3, 3]");
  expect_symbolic_sizes(nn::ALiBi::init(3),
                        [](const nn::ALiBi& layer, const Tensor& x) {
                          return layer(x.shape(0), x.shape(0) + 1, 0, DType::f64);
                        },
                        {drawn(1, {3}), drawn(2, {5}), drawn(3, {2})});
}

TEST(Sinusoids, BothLayouts) {
  const Tensor positions = tensor(std::vector<int64_t>{0, 3, 77, 5, 1, 1000}, {2, 3});
  const Numbers places = numbers_of(positions);
  for (const bool is_interleaved : {true, false}) {
    Numbers wanted(36);
    for (size_t row = 0; row < 6; ++row) {
      for (size_t i = 0; i < 3; ++i) {
        const double angle = places[row] / std::pow(100., 2. * i / 6);
        wanted[6 * row + (is_interleaved ? 2 * i : i)] = std::sin(angle);
        wanted[6 * row + (is_interleaved ? 2 * i + 1 : 3 + i)] = std::cos(angle);
      }
    }
    const auto layer = nn::SinusoidalEmbedding::init(
        6, {.base = 100, .is_interleaved = is_interleaved, .dtype = DType::f64});
    EXPECT_EQ(layer(positions).type().text(), "f64[2, 3, 6]");
    expect_numbers(numbers_of(layer(positions)), wanted, 1e-14);
    expect_numbers(numbers_of(jit(kRotate)(layer, positions)), wanted, 1e-14);
  }
  EXPECT_EQ(nn::SinusoidalEmbedding::init(4)(tensor<double>({0.5})).type().text(), "f32[1, 4]");
}

TEST(Positions, RefuseInvalidOptions) {
  const auto refused = [](auto work, std::initializer_list<std::string_view> parts) {
    expect_contains(what_of(work), parts);
  };
  using nn::RoPE, nn::RopeType;
  refused([] { RoPE::init(5); },
          {"nn::RoPE", "a width of 5 in heads of 5, expected an even one", "positions_test.cpp"});
  refused([] { RoPE::init(4, {.width = 6}); }, {"a width of 6 in heads of 4"});
  refused([] { RoPE::init(4, {.base = 0}); }, {"base is 0, expected a number above 0"});
  const auto scaled = [](nn::RopeScaling scaling, int64_t width = 4) {
    return [=] { RoPE::init(width, {.scaling = scaling}); };
  };
  refused(scaled({.rope_type = RopeType::linear}), {"factor is 0"});
  refused(scaled({.rope_type = RopeType::linear, .factor = NAN}), {"factor is nan"});
  refused(scaled({.rope_type = RopeType::yarn, .factor = 2}),
          {"original_max_position_embeddings is 0"});
  refused(
      scaled({.rope_type = RopeType::dynamic, .factor = 2, .original_max_position_embeddings = 4},
             2),
      {"a dynamic scaling of a width of 2"});
  refused(scaled({.rope_type = RopeType::llama3,
                  .factor = 2,
                  .original_max_position_embeddings = 4,
                  .low_freq_factor = 2,
                  .high_freq_factor = 1}),
          {"low_freq_factor is 2, expected less than high_freq_factor, 1"});
  refused(scaled({.rope_type = RopeType::yarn,
                  .factor = 2,
                  .original_max_position_embeddings = 4,
                  .beta_slow = 0}),
          {"beta_slow is 0"});
  refused([] { RoPE::init(4)(ones({3, 6})); },
          {"nn::RoPE", "x is f32[3, 6], expected [..., length, 4]"});
  refused([] { nn::ALiBi::init(0); }, {"nn::ALiBi", "num_heads is 0"});
  refused([] { nn::SinusoidalEmbedding::init(3); },
          {"embedding_dim is 3, expected an even number"});
  refused([] { nn::SinusoidalEmbedding::init(4, {.base = -1}); }, {"base is -1"});
}

}  // namespace
}  // namespace plait::sequence_ways
