// plait.random: keys, and what is drawn with them, or with the default stream where none is given.
#include <variant>

#include "plait/ops/random.h"

#include "python/bindings/bind.h"

namespace plait::python {

// A tensor of keys. Other objects leave the call to the function without one.
struct KeyHandle {
  nb::handle object;
  operator nb::handle() const { return object; }  // NOLINT: stands for it
};

// A seed, or a tensor of them.
struct Seeds {
  std::variant<uint64_t, Tensor> given = uint64_t{0};
  Seeds() = default;
};
void read(nb::handle given, Seeds& seeds) {
  if (PyLong_Check(given.ptr()) || is_item(given))
    read(given, seeds.given.emplace<uint64_t>());
  else
    seeds.given = tensor_from(given);
}

}  // namespace plait::python

template <>
struct nanobind::detail::type_caster<plait::python::KeyHandle> {
  NB_TYPE_CASTER(plait::python::KeyHandle, const_name("key"))

  bool from_python(handle given, uint8_t, cleanup_list*) noexcept {
    value.object = given;
    return isinstance<plait::Tensor>(given) &&
           plait::is_key(inst_ptr<plait::Tensor>(given)->dtype());
  }
};

namespace plait::python {
namespace {

using nb::arg;
using T = const Tensor&;
using O = const Operand&;

Tensor key_of(const Seeds& seeds) {
  const auto* seed = std::get_if<uint64_t>(&seeds.given);
  return seed != nullptr ? random::key(*seed) : random::key(std::get<Tensor>(seeds.given));
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

template <class Signature, class... Names>
void add_drawn(nb::module_& m, std::initializer_list<Drawn<Signature>> functions,
               const Names&... names) {
  for (const auto& [name, with_key, without, summary] : functions) {
    add_one<KeyHandle>(m, name, with_key, summary, {arg("key"), names...});
    add_one<nb::handle>(m, name, without, "The same with the next key of the default stream.",
                        {names...});
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
  m.def(
      "draw_key", [] { return to_python(computed([] { return draw_key(); })); },
      "The next key of the default stream.");
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
       {"gumbel", gumbel, gumbel, "Of distribution function exp(-exp(-x))."}},
      arg("shape"), f32);
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

}  // namespace

void bind_random(nb::module_& module) {
  nb::module_ random = module.def_submodule(
      "random", "Random numbers: the same for the same key, on every machine and in any order.");
  bind_keys(random);
  bind_distributions(random);
}

}  // namespace plait::python
