// plait.random: keys, and what is drawn with them, or with the default stream where none is given.
#include <type_traits>
#include <variant>

#include "plait/core/error.h"
#include "plait/ops/random/random.h"

#include "python/bindings/bind.h"

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
  throw TypeError("choice: takes a tensor, or how many there are to choose from")
      .at(Location::of_caller());
}
// A number says how many there are to choose from.
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
    add_one(m, name, with_key, summary, {arg("key"), names...}, is_key_tensor);
    add_one(m, name, without, "The same with the next key of the default stream.", {names...},
            nullptr, kHasShapeFirst<Signature>);
  }
}

void bind_keys(nb::module_& m) {
  using namespace random;
  add_functions<Tensor(const Seeds&)>(m, {{"key", key_of, "The key of a seed, or of each."}},
                                      arg("seed"));
  add_functions<Tensor(T, Dim)>(m, {{"split_key", split_key, "New keys along a last dimension."}},
                                arg("key"), arg("count") = 2);
  add_functions<Tensor(T, O)>(
      m, {{"fold_in", fold_in, "The key of an integer below this key: for step 12, or sample 12."}},
      arg("key"), arg("number"));
  add_functions<void(uint64_t)>(
      m, {{"seed", seed, "The default stream from here on is that of the seed."}}, arg("seed"));
  add_functions<Tensor()>(m, {{"draw_key", draw_key, "The next key of the default stream."}});
}

void bind_distributions(nb::module_& m) {
  using namespace random;
  const auto dtype = [](DType standard) { return arg("dtype") = nb::cast(PythonDType{standard}); };
  const nb::arg_v f32 = dtype(DType::f32);
  add_drawn<Tensor(const Shape&, DType)>(m, {{"bits", bits, bits, "Bits, as u8 to u64."}},
                                         arg("shape"), dtype(DType::u32));
  add_drawn<Tensor(const Shape&, double, double, DType)>(
      m, {{"uniform", uniform, uniform, "From `low` on to below `high`, all alike likely."}},
      arg("shape"), arg("low") = 0.0, arg("high") = 1.0, f32);
  add_drawn<Tensor(const Shape&, O, O, DType)>(
      m, {{"normal", normal, normal, "The normal distribution."}}, arg("shape"), arg("mean") = 0.0,
      arg("deviation") = 1.0, f32);
  add_drawn<Tensor(double, double, const Shape&, DType)>(
      m,
      {{"truncated_normal", truncated_normal, truncated_normal,
        "Standard normal numbers between the bounds."}},
      arg("low"), arg("high"), arg("shape"), f32);
  add_drawn<Tensor(const Shape&, DType)>(
      m,
      {{"exponential", exponential, exponential, "Of density exp(-x)."},
       {"laplace", laplace, laplace, "Of density exp(-|x|) / 2."},
       {"gumbel", gumbel, gumbel, "Of distribution function exp(-exp(-x))."},
       {"cauchy", cauchy, cauchy, "Of density 1 / (pi (1 + x^2))."},
       {"logistic", logistic, logistic, "Of distribution function 1 / (1 + exp(-x))."},
       {"maxwell", maxwell, maxwell, "Lengths of standard normal vectors of three."}},
      arg("shape"), f32);
  add_drawn<Tensor(const Shape&, DType)>(m, {{"rademacher", rademacher, rademacher, "-1 or 1."}},
                                         arg("shape"), dtype(DType::i64));
  add_drawn<Tensor(const Shape&, Dim, Dim, DType)>(
      m, {{"randint", randint, randint, "Integers from `low` to before `high`, all alike likely."}},
      arg("shape"), arg("low"), arg("high"), dtype(DType::i64));
  add_drawn<Tensor(O, const std::optional<Shape>&)>(
      m,
      {{"bernoulli", bernoulli, bernoulli, "True with probability p; of its shape unless told."}},
      arg("p"), arg("shape") = nb::none());
  add_drawn<Tensor(T, int64_t)>(
      m, {{"categorical", categorical, categorical, "An index along the axis of the logits."}},
      arg("logits"), arg("axis") = -1);
  add_drawn<Tensor(Dim)>(
      m, {{"permutation", permutation, permutation, "0, 1, ... in an order at random."}},
      arg("count"));
  add_drawn<Tensor(T, int64_t)>(
      m, {{"shuffle", shuffle, shuffle, "The parts along an axis in an order at random."}},
      arg("x"), arg("axis") = 0);
}

using OptionalShape = const std::optional<Shape>&;
using OptionalDType = std::optional<DType>;

void bind_floating_with_parameters(nb::module_& m) {
  using namespace random;
  const nb::arg_v shape = arg("shape") = nb::none(), dtype = arg("dtype") = nb::none();
  using OfOne = Tensor(O, OptionalShape, OptionalDType);
  add_drawn<OfOne>(
      m,
      {{"gamma", gamma, gamma, "Of density x^(a - 1) exp(-x) / gamma(a)."},
       {"loggamma", loggamma, loggamma, "The logarithms of numbers of the gamma distribution."}},
      arg("a"), shape, dtype);
  add_drawn<OfOne>(
      m,
      {{"chisquare", chisquare, chisquare, "The sum of so many squares of normal numbers."},
       {"student_t", student_t, student_t, "Student's t distribution."}},
      arg("degrees"), shape, dtype);
  add_drawn<OfOne>(m,
                   {{"generalized_normal", generalized_normal, generalized_normal,
                     "Of density exp(-|x|^p), up to a factor."}},
                   arg("p"), shape, dtype);
  add_drawn<OfOne>(
      m, {{"rayleigh", rayleigh, rayleigh, "Of density x exp(-x^2 / 2), times the scale."}},
      arg("scale"), shape, dtype);
  add_drawn<OfOne>(m, {{"pareto", pareto, pareto, "Above x with probability x^-b, from 1 on."}},
                   arg("b"), shape, dtype);
  using OfTwo = Tensor(O, O, OptionalShape, OptionalDType);
  add_drawn<OfTwo>(m, {{"beta", beta, beta, "Of density x^(a - 1) (1 - x)^(b - 1) / B(a, b)."}},
                   arg("a"), arg("b"), shape, dtype);
  add_drawn<OfTwo>(m, {{"f", f, f, "Fisher's F distribution."}}, arg("degrees_above"),
                   arg("degrees_below"), shape, dtype);
  add_drawn<OfTwo>(m,
                   {{"double_sided_maxwell", double_sided_maxwell, double_sided_maxwell,
                     "Maxwell's distribution with either sign, times the scale."}},
                   arg("location"), arg("scale"), shape, dtype);
  add_drawn<OfTwo>(
      m, {{"lognormal", lognormal, lognormal, "exp(x) of normal x with that mean and deviation."}},
      arg("mean"), arg("deviation"), shape, dtype);
  add_drawn<OfTwo>(m,
                   {{"weibull", weibull, weibull, "Below x scale with 1 - exp(-x^concentration)."}},
                   arg("scale"), arg("concentration"), shape, dtype);
  add_drawn<OfTwo>(
      m, {{"wald", wald, wald, "The inverse Gaussian distribution; as if it depended on nothing."}},
      arg("mean"), arg("scale"), shape, dtype);
  add_drawn<Tensor(O, O, O, OptionalShape, OptionalDType)>(
      m,
      {{"triangular", triangular, triangular, "Rising evenly up to the mode, falling behind it."}},
      arg("low"), arg("mode"), arg("high"), shape, dtype);
}

void bind_counts(nb::module_& m) {
  using namespace random;
  const nb::arg_v shape = arg("shape") = nb::none(),
                  i64 = arg("dtype") = nb::cast(PythonDType{DType::i64});
  add_drawn<Tensor(O, OptionalShape, DType)>(
      m, {{"poisson", poisson, poisson, "Counts of events, of which `rate` are expected."}},
      arg("rate"), shape, i64);
  add_drawn<Tensor(O, OptionalShape, DType)>(
      m, {{"geometric", geometric, geometric, "Counts of trials up to the first success."}},
      arg("p"), shape, i64);
  add_drawn<Tensor(O, O, OptionalShape, DType)>(
      m,
      {{"binomial", binomial, binomial, "Counts of successes in `count` trials."},
       {"negative_binomial", negative_binomial, negative_binomial,
        "Counts of failures before success number `count`."}},
      arg("count"), arg("p"), shape, i64);
  add_drawn<Tensor(O, T, OptionalShape, DType)>(
      m,
      {{"multinomial", multinomial, multinomial,
        "Counts of trials that fall into each category, along the last dimension."}},
      arg("count"), arg("weights"), shape, i64);
  add_drawn<Tensor(O, const Shape&, const ChoiceOptions&)>(
      m,
      {{"choice", choice_of, choice_without_key,
        "Numbers below a count, or parts of a tensor along an axis."}},
      arg("x"), arg("shape") = nb::tuple());
}

void bind_vectors(nb::module_& m) {
  using namespace random;
  const nb::arg_v shape = arg("shape") = nb::none(), dtype = arg("dtype") = nb::none(),
                  f32 = arg("dtype") = nb::cast(PythonDType{DType::f32});
  const nb::arg_v scalar = arg("shape") = nb::tuple();
  add_drawn<Tensor(T, OptionalShape, OptionalDType)>(
      m, {{"dirichlet", dirichlet, dirichlet, "Shares that add up to 1, along the last axis."}},
      arg("concentration"), shape, dtype);
  add_drawn<Tensor(T, T, OptionalShape, CovarianceRoot, OptionalDType)>(
      m,
      {{"multivariate_normal", multivariate_normal, multivariate_normal,
        "Normal vectors of that mean and covariance."}},
      arg("mean"), arg("covariance"), shape, arg("root") = "cholesky", dtype);
  add_drawn<Tensor(Dim, const Shape&, DType)>(
      m,
      {{"orthogonal", orthogonal, orthogonal,
        "Orthogonal matrices of n rows, all turns and reflections alike likely."}},
      arg("n"), scalar, f32);
  add_drawn<Tensor(Dim, double, const Shape&, DType)>(
      m, {{"ball", ball, ball, "Vectors of d numbers, even in the ball of the p-norm."}}, arg("d"),
      arg("p") = 2.0, scalar, f32);
}

}  // namespace

void bind_random(nb::module_& module) {
  nb::module_ random = module.def_submodule(
      "random", "Random numbers: the same for the same key, on every machine and in any order.");
  bind_keys(random);
  bind_distributions(random);
  bind_floating_with_parameters(random);
  bind_counts(random);
  bind_vectors(random);
}

}  // namespace plait::python
