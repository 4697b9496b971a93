// The tensors of models by name: buffers, states, loading and freezing.
#include "plait/nn/models/state.h"

#include <gtest/gtest.h>

#include "plait/plait.h"

#include "tests/support/errors.h"

namespace plait::state_tests {
namespace {

const Tensor kKey = random::key(5);
const Tensor kX = random::normal(kKey, {6, 4});

auto net_of(const Tensor& key) {
  const Tensor keys = random::split_key(key, 2);
  return nn::Sequential{nn::Linear::init(keys[0], 4, 3), nn::BatchNorm::init(3), relu,
                        nn::Linear::init(keys[1], 3, 2)};
}
using Net = decltype(net_of(kKey));

std::vector<std::string> names_of(const nn::State& state) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : state) names.push_back(name);
  return names;
}

Tensor output_of(Net net) { return net(kX); }

double difference(const Tensor& a, const Tensor& b) { return max(absolute(a - b)).item<double>(); }

TEST(State, HoldsParametersAndBuffersByName) {
  const nn::State state = nn::state(net_of(kKey));
  EXPECT_EQ(names_of(state),
            (std::vector<std::string>{"0.bias", "0.weight", "1.bias", "1.num_batches_tracked",
                                      "1.running_mean", "1.running_var", "1.weight", "3.bias",
                                      "3.weight"}));
}

TEST(State, IsLoadedIntoAnotherModel) {
  const Net from = net_of(kKey), to = net_of(random::key(6));
  EXPECT_GT(difference(output_of(from), output_of(to)), 1e-3);
  EXPECT_EQ(difference(output_of(nn::load_state(to, nn::state(from))), output_of(from)), 0);
  nn::State wide = nn::state(from);
  for (auto& [name, tensor] : wide) tensor = astype(tensor, DType::f64);
  EXPECT_EQ(std::get<0>(nn::load_state(to, wide)).weight.dtype(), DType::f32);
}

TEST(State, NamesAreMapped) {
  const Net from = net_of(kKey), to = net_of(random::key(6));
  nn::State theirs;
  for (const auto& [name, tensor] : nn::state(from)) theirs["net.layer" + name + ".value"] = tensor;
  theirs["extra"] = ones({2});
  const nn::LoadOptions options{.rename = {{"net.layer*.value", "*"}, {"extra", std::nullopt}}};
  EXPECT_EQ(difference(output_of(nn::load_state(to, theirs, options)), output_of(from)), 0);
  expect_contains(what_of<ValueError>(
                      [&] { return nn::load_state(to, theirs, {.rename = {{"net.*", "same"}}}); }),
                  {"nn::load_state", "rename gives the name \"same\" to"});
}

TEST(State, LoadsNothingAndListsMismatches) {
  Net to = net_of(kKey);
  nn::State state = nn::state(net_of(random::key(6)));
  state["0.wieght"] = state.at("0.weight");
  state.erase("0.weight");
  state["3.bias"] = ones({5});
  expect_contains(what_of<ValueError>([&] { to = nn::load_state(to, state); }),
                  {"nn::load_state: the state does not fit the model, and nothing is loaded",
                   "0.weight is missing from the state; did you mean 0.wieght?",
                   "0.wieght is in the state, but not in the model",
                   "3.bias is [2] in the model, [5] in the state", "state_test.cpp"});
  EXPECT_EQ(difference(output_of(to), output_of(net_of(kKey))), 0);
  state.erase("3.bias");
  const Net loaded =
      nn::load_state(to, state, {.missing = {"0.*", "3.bias"}, .superfluous = {"*.wieght"}});
  EXPECT_EQ(difference(std::get<0>(loaded).weight, std::get<0>(to).weight), 0);
  EXPECT_GT(difference(std::get<3>(loaded).weight, std::get<3>(to).weight), 0);
}

TEST(State, APatternThatMatchesNothingIsRefused) {
  const Net net = net_of(kKey);
  const nn::State whole = nn::state(net);
  (void)nn::load_state(net, whole, {.missing = {"0.*"}});  // which may be there
  for (const auto& [options, words] : std::vector<std::pair<nn::LoadOptions, std::string>>{
           {{.missing = {"foo.*"}}, "missing: no name of the model matches \"foo.*\""},
           {{.superfluous = {"foo.*"}}, "superfluous: no name of the state matches \"foo.*\""},
           {{.rename = {{"enc.*", "*"}}}, "rename: no name of the state matches \"enc.*\""}}) {
    expect_contains(what_of<ValueError>([&] { (void)nn::load_state(net, whole, options); }),
                    {"nn::load_state: " + words});
  }
}

TEST(State, ImaginaryPartsAreNotDropped) {
  Net to = net_of(kKey);
  nn::State state = nn::state(to);
  state["3.bias"] = astype(ones({2}), DType::c64);
  expect_contains(what_of<TypeError>([&] { return nn::load_state(to, state); }),
                  {"nn::load_state: 3.bias is c64[2] in the state, f32[2] in the model"});
}

struct Table {
  Tensor weight = zeros({2}, DType::f16);
  Tensor rows = zeros({2}, DType::i64);
};

TEST(State, NumbersThatADtypeLacksAreRefused) {
  const auto load = [](const Tensor& weight, const Tensor& rows) {
    return nn::load_state(Table(), {{"weight", weight}, {"rows", rows}});
  };
  const Tensor half = tensor<double>({1, 0.1}), whole = tensor<double>({1, 2});
  EXPECT_EQ(load(half, whole).rows[1].item<int64_t>(), 2);
  (void)load(tensor<double>({INFINITY, NAN}), whole);
  expect_contains(what_of<ValueError>([&] { load(whole * 1e5, whole); }),
                  {"nn::load_state: weight is f64[2] in the state, f16[2] in the model, which "
                   "would lose numbers above its largest one",
                   "state_test.cpp"});
  for (const Tensor& rows : {half, whole * 1e30, whole * NAN}) {
    expect_contains(what_of<ValueError>([&] { load(half, rows); }),
                    {"rows is f64[2] in the state, i64[2] in the model, which would lose "
                     "fractions, or numbers out of its range"});
  }
}

TEST(State, Patterns) {
  for (const auto& [name, pattern] :
       std::vector<std::pair<std::string, std::string>>{{"a.b.c", "*"},
                                                        {"a.b.c", "a.*"},
                                                        {"a.b.c", "*.c"},
                                                        {"a.b.c", "a.?.c"},
                                                        {"a.b.c", "*b*"},
                                                        {"", "*"},
                                                        {"abab", "*ab"},
                                                        {"a.b.c", "a**c"}}) {
    EXPECT_TRUE(matches_pattern(name, pattern)) << name << " " << pattern;
  }
  for (const auto& [name, pattern] : std::vector<std::pair<std::string, std::string>>{
           {"a.b.c", "a"}, {"a.b.c", "*.b"}, {"a.b.c", "a.??.c"}, {"", "?"}, {"ab", ""}}) {
    EXPECT_FALSE(matches_pattern(name, pattern)) << name << " " << pattern;
  }
}

// ---- Buffers and frozen parameters have no gradient.

template <class Model>
Tensor loss_of(Model model, const Tensor& x) {
  return mean(square(model(x)));
}

TEST(Buffers, HaveNoGradient) {
  struct Scaled {
    Tensor weight;
    nn::Buffer scale;
    Tensor operator()(const Tensor& x) const { return x * weight * scale; }
  };
  const Scaled model{.weight = full({4}, 2.), .scale = full({4}, 3.)};
  const auto gradient = grad(loss_of<Scaled>)(model, kX);
  EXPECT_GT(max(absolute(gradient.weight)).item<double>(), 0);
  EXPECT_EQ(difference(gradient.scale, zeros({4})), 0);
  const auto jitted = jit(grad(loss_of<Scaled>))(model, kX);
  EXPECT_LT(difference(jitted.weight, gradient.weight), 1e-6);
  EXPECT_EQ(difference(jitted.scale, zeros({4})), 0);
  const auto [value, pull] = vjp(loss_of<Scaled>, model, kX);
  const auto [by_model, by_x] = pull(ones({}));
  EXPECT_EQ(difference(by_model.scale, zeros({4})), 0);
  EXPECT_LT(difference(by_model.weight, gradient.weight), 1e-6);
  EXPECT_GT(max(absolute(by_x)).item<double>(), 0);
}

TEST(Buffers, CountForForwardMode) {
  struct Scaled {
    nn::Buffer scale;
  };
  const auto f = [](const Scaled& model) { return sum(square(model.scale)); };
  const Scaled at{.scale = full({2}, 3.)}, direction{.scale = ones({2})};
  EXPECT_EQ(jvp(f, std::tuple(at), std::tuple(direction)).second.item<double>(), 12);
  EXPECT_EQ(linearize(f, at).second(direction).item<double>(), 12);
}

TEST(Frozen, ParametersHaveNoGradient) {
  const Net net = net_of(kKey);
  auto frozen = nn::freeze(net, {"0.*"});
  EXPECT_EQ(difference(frozen(kX), output_of(net)), 0);
  const auto gradient = grad(loss_of<nn::Frozen<Net>>)(frozen, kX);
  EXPECT_EQ(std::get<0>(gradient.trained).weight.shape().text(), "[3, 4, 0]");
  EXPECT_EQ(max(absolute(gradient.frozen.at("0.weight"))).item<double>(), 0);
  const auto whole = grad(loss_of<Net>)(net, kX);
  EXPECT_EQ(difference(std::get<3>(gradient.trained).weight, std::get<3>(whole).weight), 0);
  EXPECT_EQ(difference(output_of(nn::unfreeze(frozen)), output_of(net)), 0);
}

TEST(Frozen, NoGradientIsComputedForThem) {
  const auto products = []<class Model>(const Model& model) {
    const auto gradient = [](const Model& m, const Tensor& x) {
      return grad(loss_of<Model>)(m, x);
    };
    const std::string text = trace(gradient)(model, kX).program.text();
    size_t count = 0;
    for (size_t at = text.find("matmul"); at != std::string::npos;
         at = text.find("matmul", at + 1)) {
      ++count;
    }
    return count;
  };
  const Net net = net_of(kKey);
  EXPECT_EQ(products(net), 5u) << "two forward, two for weights, one for the hidden layer";
  EXPECT_EQ(products(nn::freeze(net, {"0.*", "1.*"})), 3u);
}

TEST(Frozen, ModelsAreStacked) {
  const auto models = vmap(net_of)(random::split_key(kKey, 3));
  const auto frozen = nn::freeze(models, {"0.*"});
  const auto of_each = [](const nn::Frozen<Net>& model) { return loss_of(model, kX); };
  const auto gradients = vmap(grad(of_each))(frozen);
  const auto plain = vmap(grad([](const Net& net) { return loss_of(net, kX); }))(models);
  EXPECT_LT(difference(std::get<3>(gradients.trained).weight, std::get<3>(plain).weight), 1e-6);
  EXPECT_EQ(gradients.frozen.at("0.bias").shape().text(), "[3, 3]");
}

TEST(Frozen, StatisticsStillMove) {
  auto frozen = nn::freeze(net_of(kKey), {"1.*"});
  const Tensor before = frozen.frozen.at("1.running_mean");
  frozen(kX);
  EXPECT_GT(difference(frozen.frozen.at("1.running_mean"), before), 0);
  EXPECT_EQ(std::get<1>(frozen.trained).weight->shape().text(), "[3, 0]");
}

TEST(Frozen, PatternsThatMatchNothingAreErrors) {
  expect_contains(what_of<ValueError>([] { return nn::freeze(net_of(kKey), {"encoder.*"}); }),
                  {"nn::freeze: no tensor of the model matches \"encoder.*\"", "0.weight"});
  expect_contains(what_of<ValueError>([] { return nn::freeze(net_of(kKey), {"0.wieght"}); }),
                  {"did you mean 0.weight?"});
}

}  // namespace
}  // namespace plait::state_tests
