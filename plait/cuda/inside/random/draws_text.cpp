#include "plait/cuda/inside/random/draws_text.h"

#include <fmt/format.h>

#include "plait/cuda/inside/device/index_notes.h"
#include "plait/cuda/inside/kernels/special_text.h"
#include "plait/cuda/inside/random/philox_text.h"
#include "plait/ops/inside/random/random_primitives.h"

namespace plait::cuda {
namespace {

// The same sources that the library compiles.
#define SHARED_TEXT(...) #__VA_ARGS__
constexpr std::string_view kUnits =
#include "plait/ops/inside/random/random_units.inl"
    ;
constexpr std::string_view kGammaDraws =
#include "plait/ops/inside/random/gamma_draws.inl"
    ;
constexpr std::string_view kCountDraws =
#include "plait/ops/inside/random/count_draws.inl"
    ;
#undef SHARED_TEXT

// Number: the type of the parameters in memory.
constexpr std::string_view kGamma = R"(
extern "C" __global__ void __launch_bounds__(256)
random_gamma(Keys keys, Number* out, const Number* shapes, i64 each, i64 total, int wants_log) {
  for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < total; i += gridDim.x * 256ll) {
    const i64 key = i / each;
    const f64 a = convert<f64>(read(shapes[i]));
    const f64 x = shared::GammaStream(key_at(keys, key)).draw(i - key * each, a, wants_log != 0);
    out[i] = Memory<Number>::write(convert<Number>(x));
  }
}
)";

constexpr std::string_view kPoisson = R"(
extern "C" __global__ void __launch_bounds__(256)
random_poisson(Keys keys, i64* out, const Number* rates, Notes* notes, u64 place, i64 each, i64 total) {
  for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < total; i += gridDim.x * 256ll) {
    const i64 key = i / each;
    const f64 rate = convert<f64>(read(rates[i]));
    if (shared::is_rate(rate)) {
      out[i] = shared::Poisson(rate).draw(key_at(keys, key), i - key * each);
    } else {
      out[i] = 0;
      note_index(notes, place + i, (i64)bits_of(rate), BAD_RATE);
    }
  }
}
)";

constexpr std::string_view kBinomial = R"(
extern "C" __global__ void __launch_bounds__(256)
random_binomial(Keys keys, i64* out, const i64* trials, const Number* probabilities, Notes* notes, u64 place, i64 each,
                i64 total) {
  for (i64 i = blockIdx.x * 256ll + threadIdx.x; i < total; i += gridDim.x * 256ll) {
    const i64 key = i / each;
    const f64 p = convert<f64>(read(probabilities[i]));
    if (trials[i] >= 0 && shared::is_probability(p)) {
      out[i] = shared::Binomial(trials[i], p).draw(key_at(keys, key), i - key * each);
      continue;
    }
    out[i] = 0;
    if (trials[i] < 0) {
      note_index(notes, place + i, trials[i], BAD_TRIALS);
    } else {
      note_index(notes, place + i, (i64)bits_of(p), BAD_PROBABILITY);
    }
  }
}
)";

// A thread draws a row. `own` and `rest` are memory for the weights, and for their sums from each
// category on.
constexpr std::string_view kMultinomial = R"(
extern "C" __global__ void __launch_bounds__(256)
random_multinomial(Keys keys, i64* out, const i64* trials, const Number* weights, f64* own, f64* rest, Notes* notes,
                   u64 place, i64 categories, i64 each, i64 total) {
  for (i64 row = blockIdx.x * 256ll + threadIdx.x; row < total; row += gridDim.x * 256ll) {
    const i64 key = row / each, at = row * categories, count = trials[row];
    int bad = -1;
    i64 bits = 0;
    f64 sum = 0;
    for (i64 i = categories; i-- > 0;) {
      const f64 weight = convert<f64>(read(weights[at + i]));
      if (!shared::is_rate(weight)) {
        bad = BAD_WEIGHT;
        bits = (i64)bits_of(weight);
      }
      sum = i + 1 == categories ? weight : sum + weight;
      own[at + i] = weight;
      rest[at + i] = sum;
    }
    if (bad < 0 && count < 0) {
      bad = BAD_TRIALS;
      bits = count;
    }
    if (bad < 0 && count > 0 && sum == 0) bad = NO_WEIGHT;
    if (bad < 0) {
      shared::draw_categories(key_at(keys, key), (u64)((row - key * each) * categories), count, categories, own + at,
                              rest + at, out + at);
      continue;
    }
    for (i64 i = 0; i < categories; ++i) out[at + i] = 0;
    note_index(notes, place + row, bits, bad);
  }
}
)";

std::string number_text(DType dtype) { return fmt::format("typedef {} Number;\n", name_of(dtype)); }

std::string counts_text(DType dtype, std::string_view kernel) {
  std::string text =
      fmt::format("{}{}{}{}", kPhiloxText,
                  random_units_text(fmt::format("{}{}", count_probabilities_text(), kCountDraws)),
                  kIndexNotesText, number_text(dtype));
  const std::pair<std::string_view, BadParameter> names[] = {
      {"BAD_RATE", BadParameter::rate},
      {"BAD_TRIALS", BadParameter::trials},
      {"BAD_PROBABILITY", BadParameter::probability},
      {"BAD_WEIGHT", BadParameter::weight},
      {"NO_WEIGHT", BadParameter::no_weight}};
  for (const auto& [name, parameter] : names) {
    text += fmt::format("#define {} {}\n", name, static_cast<int>(parameter));
  }
  return text + std::string(kernel);
}

}  // namespace

std::string random_units_text(std::string_view more) {
  return fmt::format("{}{}\n{}\n{}", begin_shared_text(), kUnits, more, end_shared_text());
}

std::string random_gamma_text(DType dtype) {
  return fmt::format("{}{}{}{}", kPhiloxText, random_units_text(kGammaDraws), number_text(dtype),
                     kGamma);
}
std::string random_poisson_text(DType dtype) { return counts_text(dtype, kPoisson); }
std::string random_binomial_text(DType dtype) { return counts_text(dtype, kBinomial); }
std::string random_multinomial_text(DType dtype) { return counts_text(dtype, kMultinomial); }

}  // namespace plait::cuda
