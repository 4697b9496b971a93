// plait.random: keys, and what is drawn with them, or with the default stream where none is given.
#include <type_traits>
#include <variant>

#include "plait/core/error.h"
#include "plait/ops/random/random.h"

#include "python/bindings/functions/bind.h"

namespace plait::python {

template <>
inline constexpr std::array kChoices<random::CovarianceRoot> = {std::string_view("cholesky"),
                                                                std::string_view("eigen")};

// A seed, or a tensor of them.
struct Seeds {
  std::variant<uint64_t, Tensor> given = uint64_t{0};
  Seeds() = default;
};
std::string annotation(Of<Seeds>) { return "int | Tensor"; }
void read(nb::handle given, Seeds& seeds) {
  if (PyLong_Check(given.ptr()) || is_item(given))
    read(given, seeds.given.emplace<uint64_t>());
  else
    seeds.given = tensor_from(given);
}

namespace {

using nb::arg;
using T = const Tensor&;
using O = const Operand&;

bool is_key_tensor(nb::handle given) {
  return nb::isinstance<Tensor>(given) && is_key(nb::inst_ptr<Tensor>(given)->dtype());
}

Tensor key_of(const Seeds& seeds) {
  const auto* seed = std::get_if<uint64_t>(&seeds.given);
  return seed != nullptr ? random::key(*seed) : random::key(std::get<Tensor>(seeds.given));
}

Dim count_of(const Scalar& scalar) {
  if (scalar.kind() == ScalarKind::integer) return scalar.size();
  throw TypeError("choice: expected a tensor, or the number of integers to choose from")
      .at(Location::of_caller());
}
// A number means a choice among the integers below it.
Tensor choice_of(T key, O x, const Shape& shape, const random::ChoiceOptions& options) {
  return x.is_tensor() ? random::choice(key, x.tensor(), shape, options)
                       : random::choice(key, count_of(x.scalar()), shape, options);
}
Tensor choice_without_key(O x, const Shape& shape, const random::ChoiceOptions& options) {
  return x.is_tensor() ? random::choice(x.tensor(), shape, options)
                       : random::choice(count_of(x.scalar()), shape, options);
}

template <class Signature>
struct Drawn;
template <class... Arguments>
struct Drawn<Tensor(Arguments...)> {
  const char* name;
  Tensor (*with_key)(T, Arguments...);
  Tensor (*without)(Arguments...);
  const char* summary;
};

template <class First, class Second = DType, class... Others>
constexpr bool kIsShapeFirst =
    std::is_same_v<First, const Shape&> && !std::is_same_v<Second, DType>;
template <class Signature>
constexpr bool kHasShapeFirst = false;
template <class... Arguments>
constexpr bool kHasShapeFirst<Tensor(Arguments...)> = kIsShapeFirst<Arguments...>;

template <class Signature, class... Names>
void add_drawn(nb::module_& m, std::initializer_list<Drawn<Signature>> functions,
               const Names&... names) {
  for (const auto& [name, with_key, without, summary] : functions) {
    add_one<true>(m, name, with_key, summary, {arg("key"), names...}, is_key_tensor);
    add_one<true>(m, name, without, "The same with the next key of the default stream.", {names...},
                  nullptr, kHasShapeFirst<Signature>);
  }
}

void bind_keys(nb::module_& m) {
  using namespace random;
  add_functions<Tensor(const Seeds&)>(
      m, {{"key", key_of, "The key of a seed, or one key for each seed."}}, arg("seed"));
  add_functions<Tensor(T, Dim)>(
      m, {{"split_key", split_key, "Derives new keys, along a new last dimension."}}, arg("key"),
      arg("count") = 2);
  add_functions<Tensor(T, O)>(
      m,
      {{"fold_in", fold_in,
        "Derives a key from this key and an integer: for step 12, or sample 12."}},
      arg("key"), arg("number"));
  add_functions<void(uint64_t)>(m, {{"seed", seed, "Restarts the default stream from the seed."}},
                                arg("seed"));
  add_functions<Tensor()>(m, {{"draw_key", draw_key, "The next key of the default stream."}});
}

void bind_distributions(nb::module_& m) {
  using namespace random;
  const auto dtype = [](DType standard) { return arg("dtype") = nb::cast(PythonDType{standard}); };
  const nb::arg_v f32 = dtype(DType::f32);
  add_drawn<Tensor(const Shape&, DType)>(m, {{"bits", bits, bits, "Random bits, as u8 to u64."}},
                                         arg("shape"), dtype(DType::u32));
  add_drawn<Tensor(const Shape&, double, double, DType)>(
      m, {{"uniform", uniform, uniform, "Uniformly distributed numbers in [low, high)."}},
      arg("shape"), arg("low") = 0.0, arg("high") = 1.0, f32);
  add_drawn<Tensor(const Shape&, O, O, DType)>(
      m, {{"normal", normal, normal, "Normally distributed numbers."}}, arg("shape"),
      arg("mean") = 0.0, arg("deviation") = 1.0, f32);
  add_drawn<Tensor(double, double, const Shape&, DType)>(
      m,
      {{"truncated_normal", truncated_normal, truncated_normal,
        "The standard normal distribution, truncated to the bounds."}},
      arg("low"), arg("high"), arg("shape"), f32);
  add_drawn<Tensor(const Shape&, DType)>(
      m,
      {{"exponential", exponential, exponential,
        "The exponential distribution, with density exp(-x)."},
       {"laplace", laplace, laplace, "The Laplace distribution, with density exp(-|x|) / 2."},
       {"gumbel", gumbel, gumbel,
        "The Gumbel distribution, with distribution function exp(-exp(-x))."},
       {"cauchy", cauchy, cauchy, "The Cauchy distribution, with density 1 / (pi (1 + x^2))."},
       {"logistic", logistic, logistic,
        "The logistic distribution, with distribution function 1 / (1 + exp(-x))."},
       {"maxwell", maxwell, maxwell,
        "Maxwell's distribution: norms of standard normal vectors of length 3."}},
      arg("shape"), f32);
  add_drawn<Tensor(const Shape&, DType)>(
      m, {{"rademacher", rademacher, rademacher, "-1 or 1, with equal probability."}}, arg("shape"),
      dtype(DType::i64));
  add_drawn<Tensor(const Shape&, Dim, Dim, DType)>(
      m, {{"randint", randint, randint, "Uniformly distributed integers in [low, high)."}},
      arg("shape"), arg("low"), arg("high"), dtype(DType::i64));
  add_drawn<Tensor(O, const std::optional<Shape>&)>(
      m,
      {{"bernoulli", bernoulli, bernoulli,
        "True with probability p; by default of the shape of p."}},
      arg("p"), arg("shape") = nb::none());
  add_drawn<Tensor(T, int64_t)>(m,
                                {{"categorical", categorical, categorical,
                                  "An index along the axis, with probabilities softmax(logits)."}},
                                arg("logits"), arg("axis") = -1);
  add_drawn<Tensor(Dim)>(
      m, {{"permutation", permutation, permutation, "0, 1, ... in random order."}}, arg("count"));
  add_drawn<Tensor(T, int64_t)>(
      m, {{"shuffle", shuffle, shuffle, "The slices along an axis in random order."}}, arg("x"),
      arg("axis") = 0);
}

using OptionalShape = const std::optional<Shape>&;
using OptionalDType = std::optional<DType>;

void bind_floating_with_parameters(nb::module_& m) {
  using namespace random;
  const nb::arg_v shape = arg("shape") = nb::none(), dtype = arg("dtype") = nb::none();
  using OfOne = Tensor(O, OptionalShape, OptionalDType);
  add_drawn<OfOne>(m,
                   {{"gamma", gamma, gamma,
                     "The gamma distribution, with density x^(a - 1) exp(-x) / gamma(a)."},
                    {"loggamma", loggamma, loggamma,
                     "Logarithms of gamma-distributed numbers, also where those underflow."}},
                   arg("a"), shape, dtype);
  add_drawn<OfOne>(m,
                   {{"chisquare", chisquare, chisquare,
                     "The chi-square distribution: sums of squares of `degrees` normal numbers."},
                    {"student_t", student_t, student_t, "Student's t distribution."}},
                   arg("degrees"), shape, dtype);
  add_drawn<OfOne>(
      m,
      {{"generalized_normal", generalized_normal, generalized_normal,
        "The generalized normal distribution, with density proportional to exp(-|x|^p)."}},
      arg("p"), shape, dtype);
  add_drawn<OfOne>(m,
                   {{"rayleigh", rayleigh, rayleigh,
                     "The Rayleigh distribution, with density x exp(-x^2 / 2), times the scale."}},
                   arg("scale"), shape, dtype);
  add_drawn<OfOne>(m,
                   {{"pareto", pareto, pareto,
                     "The Pareto distribution: greater than x >= 1 with probability x^-b."}},
                   arg("b"), shape, dtype);
  using OfTwo = Tensor(O, O, OptionalShape, OptionalDType);
  add_drawn<OfTwo>(m,
                   {{"beta", beta, beta,
                     "The beta distribution, with density x^(a - 1) (1 - x)^(b - 1) / B(a, b)."}},
                   arg("a"), arg("b"), shape, dtype);
  add_drawn<OfTwo>(m, {{"f", f, f, "Fisher's F distribution."}}, arg("degrees_above"),
                   arg("degrees_below"), shape, dtype);
  add_drawn<OfTwo>(m,
                   {{"double_sided_maxwell", double_sided_maxwell, double_sided_maxwell,
                     "Maxwell's distribution with a random sign, times the scale."}},
                   arg("location"), arg("scale"), shape, dtype);
  add_drawn<OfTwo>(
      m,
      {{"lognormal", lognormal, lognormal,
        "The lognormal distribution: exp(x) of normal x with that mean and standard deviation."}},
      arg("mean"), arg("deviation"), shape, dtype);
  add_drawn<OfTwo>(
      m,
      {{"weibull", weibull, weibull,
        "The Weibull distribution: below x * scale with probability 1 - exp(-x^concentration)."}},
      arg("scale"), arg("concentration"), shape, dtype);
  add_drawn<OfTwo>(
      m, {{"wald", wald, wald, "The inverse Gaussian distribution; without derivatives."}},
      arg("mean"), arg("scale"), shape, dtype);
  add_drawn<Tensor(O, O, O, OptionalShape, OptionalDType)>(
      m,
      {{"triangular", triangular, triangular,
        "The triangular distribution: its density rises linearly up to the mode and falls after "
        "it."}},
      arg("low"), arg("mode"), arg("high"), shape, dtype);
}

void bind_counts(nb::module_& m) {
  using namespace random;
  const nb::arg_v shape = arg("shape") = nb::none(),
                  i64 = arg("dtype") = nb::cast(PythonDType{DType::i64});
  add_drawn<Tensor(O, OptionalShape, DType)>(
      m,
      {{"poisson", poisson, poisson,
        "The Poisson distribution: numbers of events, with expected number `rate`."}},
      arg("rate"), shape, i64);
  add_drawn<Tensor(O, OptionalShape, DType)>(
      m,
      {{"geometric", geometric, geometric,
        "The geometric distribution: numbers of trials up to the first success."}},
      arg("p"), shape, i64);
  add_drawn<Tensor(O, O, OptionalShape, DType)>(
      m,
      {{"binomial", binomial, binomial,
        "The binomial distribution: numbers of successes in `count` trials."},
       {"negative_binomial", negative_binomial, negative_binomial,
        "The negative binomial distribution: numbers of failures before the success number "
        "`count`."}},
      arg("count"), arg("p"), shape, i64);
  add_drawn<Tensor(O, T, OptionalShape, DType)>(m,
                                                {{"multinomial", multinomial, multinomial,
                                                  "The multinomial distribution: numbers of trials "
                                                  "in each category, along the last dimension."}},
                                                arg("count"), arg("weights"), shape, i64);
  add_drawn<Tensor(O, const Shape&, const ChoiceOptions&)>(
      m,
      {{"choice", choice_of, choice_without_key,
        "Random integers below a count, or random slices of a tensor along an axis."}},
      arg("x"), arg("shape") = nb::tuple());
}

void bind_vectors(nb::module_& m) {
  using namespace random;
  const nb::arg_v shape = arg("shape") = nb::none(), dtype = arg("dtype") = nb::none(),
                  f32 = arg("dtype") = nb::cast(PythonDType{DType::f32});
  const nb::arg_v scalar = arg("shape") = nb::tuple();
  add_drawn<Tensor(T, OptionalShape, OptionalDType)>(
      m,
      {{"dirichlet", dirichlet, dirichlet,
        "The Dirichlet distribution: proportions that sum to 1 along the last axis."}},
      arg("concentration"), shape, dtype);
  add_drawn<Tensor(T, T, OptionalShape, CovarianceRoot, OptionalDType)>(
      m,
      {{"multivariate_normal", multivariate_normal, multivariate_normal,
        "Normal vectors with that mean and covariance."}},
      arg("mean"), arg("covariance"), shape, arg("root") = "cholesky", dtype);
  add_drawn<Tensor(Dim, const Shape&, DType)>(
      m,
      {{"orthogonal", orthogonal, orthogonal,
        "Orthogonal matrices of n rows, uniformly distributed (Haar measure)."}},
      arg("n"), scalar, f32);
  add_drawn<Tensor(Dim, double, const Shape&, DType)>(
      m,
      {{"ball", ball, ball,
        "Vectors of length d, uniformly distributed in the unit ball of the p-norm."}},
      arg("d"), arg("p") = 2.0, scalar, f32);
}

}  // namespace

void bind_random(nb::module_& module) {
  nb::module_ random = module.def_submodule(
      "random", "Random numbers: determined by the key, on every machine and in any order.");
  bind_keys(random);
  bind_distributions(random);
  bind_floating_with_parameters(random);
  bind_counts(random);
  bind_vectors(random);
}

}  // namespace plait::python
