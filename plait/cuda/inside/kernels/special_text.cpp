#include "plait/cuda/inside/kernels/special_text.h"

#include <algorithm>
#include <array>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "plait/core/inside/mathematics/special_tables.h"
#include "plait/ops/inside/primitive_keys.h"

namespace plait::cuda {
namespace {

// The same sources that the library compiles.
#define SHARED_TEXT(...) #__VA_ARGS__
constexpr std::string_view kDual =
#include "plait/core/inside/mathematics/dual.inl"
    ;
constexpr std::string_view kGammaParts =
#include "plait/core/inside/mathematics/gamma_parts.inl"
    ;
constexpr std::string_view kIncompleteGamma =
#include "plait/core/inside/mathematics/incomplete_gamma.inl"
    ;
constexpr std::string_view kIncompleteBeta =
#include "plait/core/inside/mathematics/incomplete_beta.inl"
    ;
constexpr std::string_view kGammaQuantile =
#include "plait/core/inside/mathematics/gamma_quantile.inl"
    ;
constexpr std::string_view kBessel =
#include "plait/core/inside/mathematics/bessel.inl"
    ;
constexpr std::string_view kZeta =
#include "plait/core/inside/mathematics/zeta.inl"
    ;
constexpr std::string_view kCountProbabilities =
#include "plait/core/inside/mathematics/count_probabilities.inl"
    ;
#undef SHARED_TEXT

// Their names there.
constexpr std::string_view kNames = R"(
namespace shared {
#define SHARED __device__ __noinline__
#define LITERAL(number) number
#define kInfinity double_of(0x7ff0000000000000ull)
#define kNan double_of(0x7ff8000000000000ull)
using ::abs; using ::ceil; using ::copysign; using ::cos; using ::erfc; using ::exp; using ::expm1; using ::floor;
using ::fmod; using ::log; using ::log1p; using ::pow; using ::rint; using ::sin; using ::sqrt;
INLINE bool is_nan(double x) { return x != x; }
INLINE bool is_infinite(double x) { return x == x && x - x != 0; }
INLINE double log_gamma(double x) { return ::lgamma(x); }
INLINE double pi_over_tan_of_pi(double x) { return 3.141592653589793 * ::cospi(x) / ::sinpi(x); }
)";
constexpr std::string_view kEndOfNames = R"(
#undef SHARED
#undef SHARED_SMALL
#undef LITERAL
#undef kInfinity
#undef kNan
#undef kPi
#undef kEuler
#undef kInverseRootPi
#undef kNegligible
#undef kNearOne
}  // namespace shared
)";
constexpr std::string_view kWideNumbers =
#include "plait/cuda/inside/kernels/wide_numbers.inl"
    ;
constexpr std::string_view kDoubles = R"(
typedef double Wide;
typedef double Part;
INLINE double to_double(double x) { return x; }
INLINE double log_gamma_of_positive(double x) { return ::lgamma(x); }
#define kPi 3.141592653589793
#define kEuler 0.5772156649015329
#define kInverseRootPi 0.5641895835477563
#define kNegligible 2e-16
#define kNearOne 1e-15
#define SHARED_SMALL INLINE
)";

// A table of constants, and the function that reads it.
std::string table_text(std::string_view function, std::span<const double> numbers) {
  return fmt::format(
      "__constant__ const double table_of_{0}[{1}] = {{{2:.17g}}};\n"
      "INLINE double {0}(int i) {{ return table_of_{0}[i]; }}\n",
      function, numbers.size(), fmt::join(numbers, ", "));
}

std::string temme_table_text() {
  std::vector<double> all;
  for (const auto& order : special::temme_coefficients()) {
    for (const long double number : order) all.push_back(static_cast<double>(number));
  }
  const size_t terms = special::temme_coefficients()[0].size();
  return table_text("temme_number", all) +
         fmt::format(
             "INLINE double temme_coefficient(int order, int term) {{ return "
             "temme_number(order * {} + term); }}\n",
             terms);
}

std::string quadrature_text() {
  const special::Quadrature& quadrature = special::quadrature();
  return table_text("quadrature_point", quadrature.points) +
         table_text("quadrature_weight", quadrature.weights);
}

std::string parts_text(bool in_pairs) {
  return fmt::format("{}{}{}{}\n", kNames, in_pairs ? kWideNumbers : kDoubles,
                     table_text("log_gamma_series", special::log_gamma_series()), kGammaParts);
}

// Texts that a function needs beside gamma_parts.inl.
constexpr unsigned kDualPart = 1, kGammaPart = 2, kBetaPart = 4, kQuantilePart = 8,
                   kBesselPart = 16, kZetaPart = 32;

std::string needed_text(unsigned parts) {
  std::string text;
  if (parts & kDualPart) text += fmt::format("{}\n", kDual);
  if (parts & kGammaPart) text += fmt::format("{}{}\n", temme_table_text(), kIncompleteGamma);
  if (parts & kBetaPart) text += fmt::format("{}\n", kIncompleteBeta);
  if (parts & kQuantilePart) text += fmt::format("{}{}\n", quadrature_text(), kGammaQuantile);
  if (parts & kBesselPart) text += fmt::format("{}\n", kBessel);
  if (parts & kZetaPart) text += fmt::format("{}\n", kZeta);
  return text;
}

struct SpecialFunction {
  std::string_view primitive, function;
  int operands;
  unsigned parts;
  bool cancels = false;
};

constexpr SpecialFunction kSpecialFunctions[] = {
    {"betaln", "log_beta", 2, 0},
    {"gammainc", "gamma_p", 2, kDualPart | kGammaPart},
    {"gammaincc", "gamma_q", 2, kDualPart | kGammaPart},
    {"gammainc_grad_a", "gamma_p_da", 2, kDualPart | kGammaPart},
    {"gamma_density", "gamma_density", 2, kDualPart | kGammaPart},
    {"random_gamma_grad", "gamma_quantile_da", 2, kDualPart | kGammaPart},
    {"betainc", "betainc_value", 3, kDualPart | kBetaPart, true},
    {"betainc_grad_a", "betainc_da", 3, kDualPart | kBetaPart, true},
    {"betainc_grad_b", "betainc_db", 3, kDualPart | kBetaPart, true},
    {"beta_density", "beta_density", 3, kDualPart | kBetaPart},
    {"random_gamma_slope", "log_gamma_quantile_da", 2, kQuantilePart},
    {"i0", "bessel_i0", 1, kBesselPart},
    {"i1", "bessel_i1", 1, kBesselPart},
    {"i0e", "scaled_bessel_i0", 1, kBesselPart},
    {"i1e", "scaled_bessel_i1", 1, kBesselPart},
    {"digamma", "digamma", 1, kZetaPart},
    {"polygamma", "polygamma", 2, kZetaPart},
    {"zeta", "zeta", 2, kZetaPart},
};

const SpecialFunction* find_function(std::string_view primitive) {
  static const auto& functions = with_primitive_keys(kSpecialFunctions, &SpecialFunction::primitive,
                                                     "the special functions of CUDA");
  const auto found = std::ranges::find(functions, primitive, &SpecialFunction::primitive);
  return found == std::end(functions) ? nullptr : found;
}

// Not inlined, since a thread computes several elements.
std::string operation_of_text(const SpecialFunction& function) {
  std::string doubles, singles, names, wide;
  for (int i = 0; i < function.operands; ++i) {
    const char* const comma = i == 0 ? "" : ", ";
    doubles += fmt::format("{}f64 x{}", comma, i);
    singles += fmt::format("{}f32 x{}", comma, i);
    names += fmt::format("{}x{}", comma, i);
    wide += fmt::format("{}(f64)x{}", comma, i);
  }
  return fmt::format(
      "__device__ __noinline__ f64 {0}({2}) {{ return shared::{1}({3}); }}\n"
      "INLINE f32 {0}({4}) {{ return (f32){0}({5}); }}\n",
      function.primitive, function.function, doubles, names, singles, wide);
}

}  // namespace

bool has_special_text(std::string_view primitive) { return find_function(primitive) != nullptr; }

std::string special_text(std::span<const std::string_view> primitives, bool has_double) {
  std::string operations;
  unsigned parts = 0;
  bool in_pairs = has_double;
  for (const SpecialFunction& function : kSpecialFunctions) {
    if (std::ranges::find(primitives, function.primitive) == primitives.end()) continue;
    operations += operation_of_text(function);
    parts |= function.parts;
    in_pairs = in_pairs || function.cancels;
  }
  return fmt::format("{}{}{}namespace op {{\n{}}}  // namespace op\n", parts_text(in_pairs),
                     needed_text(parts), kEndOfNames, operations);
}

std::string_view begin_shared_text() {
  static const std::string text = fmt::format("{}{}", kNames, kDoubles);
  return text;
}
std::string_view end_shared_text() { return kEndOfNames; }

const std::string& count_probabilities_text() {
  static const std::string text = fmt::format(
      "{}{}\n", table_text("stirling_of_few", special::stirling_of_few()), kCountProbabilities);
  return text;
}

}  // namespace plait::cuda
