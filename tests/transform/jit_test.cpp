// Functions that are recorded once and run from the record, compared with the functions themselves.
#include <atomic>
#include <map>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/inside/source_line.h"
#include "plait/plait.h"
#include "plait/tensor/inside/tracing/trace.h"

#include "tests/support/agreement.h"
#include "tests/transform/transform_support.h"

namespace plait {
namespace {

std::atomic<int> host_runs{0};

Tensor ramp(int64_t count) { return astype(arange(Dim(count)), DType::f32); }
Tensor ramp(int64_t rows, int64_t columns) {
  return reshape(ramp(rows * columns), {rows, columns});
}

TEST(Jit, RunsTheHostCodeOnce) {
  host_runs = 0;
  const auto f = jit([](const Tensor& x, const Tensor& y) {
    ++host_runs;
    return x * 2 + y;
  });
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(f(ramp(3) + i, ramp(3)).text(), ((ramp(3) + i) * 2 + ramp(3)).text());
  }
  EXPECT_EQ(host_runs, 1);
  EXPECT_EQ(f.stats().traces, 1);
  EXPECT_EQ(f.stats().hits, 4);
}

TEST(Jit, ASizeThatDiffersOnceNeverAgainCostsARecording) {
  host_runs = 0;
  const auto f = jit([](const Tensor& x, const Tensor& y) {
    ++host_runs;
    return sum(exp(x) * y, {0}) * Scalar(x.shape(0) + 1);
  });
  const auto plain = [](const Tensor& x, const Tensor& y) {
    return sum(exp(x) * y, {0}) * Scalar(x.shape(0) + 1);
  };
  for (const int64_t rows : {3, 5, 1, 0, 7, 2, 3, 1, 0}) {
    const Tensor x = ramp(rows, 2) * 0.1, y = ramp(rows, 2);
    expect_as_good_as_same("jitted", {f(x, y)}, {plain(x, y)}, 1e-6);
  }
  EXPECT_EQ(host_runs, 2);
}

struct Affine {
  Tensor weight, bias, scale;
  std::optional<Tensor> shift = std::nullopt;
  Tensor operator()(const Tensor& x) const {
    Tensor y = x * weight;
    if (bias) y = y + bias;
    if (scale) y = y * scale;
    return shift && *shift ? y + *shift : y;
  }
};

TEST(Jit, TensorsMayBeEmptyInArgumentsAndResults) {
  host_runs = 0;
  const auto step = jit(
      [](Affine layer, const Tensor& x) {
        ++host_runs;
        layer.weight = layer(x);
        if (!layer.bias) layer.scale = Tensor();
        return layer;
      },
      {.donate = {0}});
  const auto expect_stepped = [&](const Affine& given) {
    for (int round = 0; round < 3; ++round) {
      Affine donated = given;
      const Affine made = step(std::move(donated), ramp(3) + round);
      EXPECT_EQ(made.weight.text(), given(ramp(3) + round).text());
      EXPECT_EQ(bool(made.bias), bool(given.bias));
      EXPECT_EQ(bool(made.scale), given.bias && given.scale);
    }
  };
  expect_stepped({.weight = ramp(3), .bias = {}, .scale = ramp(3) + 1});
  expect_stepped({.weight = ramp(3), .bias = ramp(3), .scale = ramp(3) + 1});
  expect_stepped({.weight = ramp(3), .bias = {}, .scale = {}, .shift = Tensor()});
  expect_stepped({.weight = ramp(3), .bias = {}, .scale = {}, .shift = ramp(3)});
  EXPECT_EQ(host_runs, 4);
  ASSERT_EQ(step.stats().retraces.size(), 3u);
  EXPECT_EQ(step.stats().retraces[0].why, "arg0.bias is f32[3]");
}

TEST(Jit, EmptyTensorsBesideReadsGuardsAndDerivatives) {
  const auto read =
      jit([](const Affine& layer, const Tensor& x) { return layer(x) * sum(x).item<double>(); });
  const auto guarded = jit([](const Affine& layer, const Tensor& x) {
    return sum(x).item<float>() > 5 ? layer(x) : -layer(x);
  });
  const auto slope =
      jit(grad<1>([](const Affine& layer, const Tensor& x) { return sum(layer(x)); }));
  const Affine layer{.weight = ramp(3), .bias = {}, .scale = ramp(3) + 1};
  for (int round = 0; round < 4; ++round) {
    const Tensor x = ramp(3) + round, y = layer(x);
    EXPECT_EQ(read(layer, x).text(), (y * sum(x).item<double>()).text());
    EXPECT_EQ(guarded(layer, x).text(), (round > 0 ? y : -y).text());
    EXPECT_EQ(slope(layer, x).text(), (layer.weight * layer.scale).text());
  }
  const auto outer =
      grad<1>([&](const Affine& each, const Tensor& x) { return sum(guarded(each, x)); });
  EXPECT_EQ(outer(layer, ramp(3)).text(), (-(layer.weight * layer.scale)).text());
}

TEST(Jit, DynamicSizesPassOverEmptyTensors) {
  host_runs = 0;
  const auto f = jit(
      [](const Affine& layer, const Tensor& x) {
        ++host_runs;
        return layer(x);
      },
      {.dynamic = {{.argument = 0, .name = "n"}, {.argument = 1, .name = "n"}}});
  for (const int64_t n : {3, 5, 1}) {
    const Affine layer{.weight = ramp(n), .bias = {}, .scale = {}};
    EXPECT_EQ(f(layer, ramp(n)).text(), (ramp(n) * ramp(n)).text());
  }
  EXPECT_EQ(host_runs, 1);
}

// Host code that keeps a tensor outside holds another one at its next call.
TEST(Jit, TheSameKeyMayComeWithOtherNumbersOfTensors) {
  const jits::Cache cache(JitOptions{.name = "f"});
  const auto call = [&](const std::vector<Tensor>& leaves) {
    TreeKeyBuilder builder;
    const TreeKey key = std::move(builder).finish();
    const auto paths = [&] { return std::vector<std::string>(leaves.size(), "leaf"); };
    const auto host = [](std::span<const Tensor> given, std::any&) {
      Tensor total = given[0];
      for (const Tensor& each : given.subspan(1)) total = total + each;
      return std::vector{total};
    };
    return cache({key, JitArguments(leaves), paths, host}).leaves[0].text();
  };
  EXPECT_EQ(call({ramp(2)}), "[0. 1.] : f32[2]");
  EXPECT_EQ(call({ramp(2), ramp(2)}), "[0. 2.] : f32[2]");
  EXPECT_EQ(call({ramp(2)}), "[0. 1.] : f32[2]");
  ASSERT_EQ(cache.stats().retraces.size(), 1u);
  EXPECT_EQ(cache.stats().retraces[0].why, "there are 2 tensors, were 1 before");
}

TEST(Jit, SizesThatWereAlwaysTheSameAreOne) {
  host_runs = 0;
  const auto f = jit([](const Tensor& a, const Tensor& b) {
    ++host_runs;
    return linalg::solve(a, b);
  });
  const auto plain = [](const Tensor& a, const Tensor& b) { return linalg::solve(a, b); };
  for (const int64_t size : {2, 3, 5, 4}) {
    const Tensor a = numbers({size, size}, 1) + 4 * eye(size, size, DType::f64);
    EXPECT_EQ(f(a, a).text(), plain(a, a).text()) << size;
  }
  EXPECT_EQ(host_runs, 2);
  const Tensor a = numbers({3, 3}, 1) + 4 * eye(3, 3, DType::f64);
  const Tensor b = numbers({3, 1}, 0);
  EXPECT_EQ(f(a, b).text(), plain(a, b).text());
  EXPECT_THROW(f(a, numbers({4, 4}, 0)), ShapeError);
  EXPECT_EQ(f(a, a).text(), plain(a, a).text());
}

TEST(Jit, SizesThatMeetAreChecked) {
  host_runs = 0;
  const auto f = jit([](const Tensor& x, const Tensor& y) {
    ++host_runs;
    return x + y;
  });
  f(ramp(3), ramp(3));
  f(ramp(4), ramp(4));
  EXPECT_EQ(host_runs, 2);
  EXPECT_EQ(f(ramp(4), ramp(1)).text(), (ramp(4) + ramp(1)).text()) << "broadcast: another path";
  EXPECT_EQ(f(ramp(6), ramp(6)).text(), (ramp(6) + ramp(6)).text());
  EXPECT_EQ(host_runs, 3);
  EXPECT_THROW(f(ramp(4), ramp(3)), ShapeError);
  EXPECT_EQ(f(ramp(9), ramp(1)).text(), (ramp(9) + ramp(1)).text());
}

TEST(Jit, ASizeThatHostCodeTakesForANumberIsAGuard) {
  host_runs = 0;
  const auto f = jit([](const Tensor& x) {
    ++host_runs;
    Tensor y = x;
    for (int64_t i = 0; i < x.shape(0).number(); ++i) y = y + x;
    return y;
  });
  for (const int64_t size : {2, 3, 2, 3, 4, 4}) {
    const Tensor x = ramp(size);
    EXPECT_EQ(f(x).text(), (x * (size + 1)).text());
  }
  EXPECT_EQ(host_runs, 3);
  EXPECT_NE(f.stats().text().find("arg0.0 == "), std::string::npos) << f.stats().text();
}

TEST(Jit, HostCodeThatAsksAboutSizesHasAWayForEachAnswer) {
  host_runs = 0;
  const auto f = jit([](const Tensor& x) {
    ++host_runs;
    if (x.shape(0) == 9) return x * 7;
    return x.shape(0) > 3 ? x * 2 : x - 1;
  });
  for (const int64_t size : {2, 5, 1, 9, 3, 4, 0, 77}) {
    const Tensor x = ramp(size);
    EXPECT_EQ(f(x).text(), (size == 9 ? x * 7 : size > 3 ? x * 2 : x - 1).text()) << size;
  }
  EXPECT_LE(host_runs, 4);
}

TEST(Jit, AConditionHasAWayForEachOutcome) {
  host_runs = 0;
  const auto g = jit([](const Tensor& x) {
    ++host_runs;
    if ((sum(x) > 3).item<bool>()) return x * 2;
    if ((max(x) < 0).item<bool>()) return x * 3;
    return x * 4;
  });
  const auto plain = [](const Tensor& x) {
    if ((sum(x) > 3).item<bool>()) return x * 2;
    if ((max(x) < 0).item<bool>()) return x * 3;
    return x * 4;
  };
  for (const double value : {5., -1., 0.1, 7., -3., 0.2, 5.}) {
    const Tensor x = full({2}, value, DType::f64);
    EXPECT_EQ(g(x).text(), plain(x).text()) << value;
  }
  EXPECT_EQ(host_runs, 3);
  EXPECT_EQ(g.stats().traces, 3);
  EXPECT_EQ(g.stats().hits + g.stats().traces, 7 + 2) << "two calls recorded after they had begun";
}

TEST(Jit, EffectsHappenOnceACall) {
  std::vector<std::string> printed;
  const PrintSink former =
      set_print_sink([&](std::string_view text) { printed.emplace_back(text); });
  const auto f = jit([](const Tensor& x) {
    print(x, "first");
    if ((x > 0).item<bool>()) {
      print(x, "positive");
      return x;
    }
    print(x, "negative");
    return -x;
  });
  std::vector<std::string> expected;
  for (const double value : {1., -1., 2., -2., 3.}) {
    f(full({}, value, DType::f64));
    const std::string text = full({}, value, DType::f64).text();
    expected.push_back("first: " + text);
    expected.push_back((value > 0 ? "positive: " : "negative: ") + text);
  }
  set_print_sink(former);
  EXPECT_EQ(printed, expected);
}

TEST(Jit, TheDefaultStreamGoesOnAtEachCall) {
  const auto f = [](const Tensor& x) {
    const Tensor noise = random::uniform({2});
    return (sum(x) > 0).item<bool>() ? noise + x : noise - x;
  };
  const auto jitted = jit([](const Tensor& x) {
    const Tensor noise = random::uniform({2});
    return (sum(x) > 0).item<bool>() ? noise + x : noise - x;
  });
  std::vector<std::string> plain, recorded;
  random::seed(7);
  for (const double value : {1., -1., 2., -2.})
    plain.push_back(f(full({2}, value, DType::f64)).text());
  random::seed(7);
  for (const double value : {1., -1., 2., -2.}) {
    recorded.push_back(jitted(full({2}, value, DType::f64)).text());
  }
  EXPECT_EQ(plain, recorded);
}

TEST(Jit, AFunctionThatReadsRunsItsHostCodeEachTime) {
  host_runs = 0;
  const auto f = jit([](const Tensor& x) {
    ++host_runs;
    const double largest = max(x).item<double>();
    Tensor y = x;
    for (double reached = largest; reached < 20; reached *= 2) y = y * 2;
    return y;
  });
  for (const double value : {1., 3., 30., 1.}) {
    const Tensor x = full({2}, value, DType::f64);
    double scale = 1;
    for (double reached = value; reached < 20; reached *= 2) scale *= 2;
    EXPECT_EQ(f(x).text(), (x * scale).text());
  }
  EXPECT_EQ(host_runs, 4);
  EXPECT_EQ(f.stats().host_runs, 3);
}

TEST(Jit, AnExceptionLeavesEverythingAsItWas) {
  host_runs = 0;
  const auto f = jit([](const Tensor& x) {
    ++host_runs;
    if ((x < 0).item<bool>()) throw std::runtime_error("negative");
    return x + 1;
  });
  const Tensor good = full({}, 1., DType::f64), bad = full({}, -1., DType::f64);
  EXPECT_THROW(f(bad), std::runtime_error);
  EXPECT_EQ(f(good).item<double>(), 2);
  EXPECT_THROW(f(bad), std::runtime_error);
  EXPECT_EQ(f(good).item<double>(), 2);
  EXPECT_EQ(host_runs, 3);
  EXPECT_EQ(f.stats().traces, 1);
  EXPECT_EQ(Trace::current(), nullptr);
}

TEST(Jit, ComposesWithDerivatives) {
  const auto f = [](const Tensor& x) { return sum(exp(x) * sin(x)); };
  const Tensor x = ramp(4) * 0.3;
  const auto jitted = jit([](const Tensor& x) { return sum(exp(x) * sin(x)); });
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(grad(jitted)(x).text(), grad(f)(x).text());
    EXPECT_EQ(grad([&](const Tensor& t) { return sum(grad(jitted)(t) * t); })(x).text(),
              grad([&](const Tensor& t) { return sum(grad(f)(t) * t); })(x).text());
  }
  const auto slope = jit([](const Tensor& x) {
    return grad([](const Tensor& t) { return sum(exp(t) * sin(t)); })(x);
  });
  for (int i = 0; i < 2; ++i) EXPECT_EQ(slope(x).text(), grad(f)(x).text());
  EXPECT_EQ(slope.stats().hits, 1);
  const auto direct = jit(grad([](const Tensor& t) { return sum(exp(t) * sin(t)); }));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(direct(x).text(), grad(f)(x).text());
  const auto of_jitted = jit(grad(jitted));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(of_jitted(x).text(), grad(f)(x).text());
}

TEST(Jit, AutocastFromOutsideIsNoPartOfTheRecord) {
  const auto product = [](const Tensor& x) { return matmul(x, x); };
  const auto jitted = jit(product);
  const Tensor x = ramp(3, 3) / 7;
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(autocast(jitted)(x).text(), autocast(product)(x).text());
    EXPECT_EQ(jitted(x).text(), product(x).text());
  }
}

TEST(Jit, GuardsHoldUnderDerivatives) {
  const auto jitted = jit([](const Tensor& x) { return (x > 0).item<bool>() ? x * x : -x; });
  for (const double value : {2., -3., 4., -5.}) {
    const Tensor x = full({}, value, DType::f64);
    EXPECT_EQ(grad(jitted)(x).item<double>(), value > 0 ? 2 * value : -1) << value;
  }
}

TEST(Jit, NoGradIsPartOfTheRecord) {
  static const auto f = [](const Tensor& x) {
    const Tensor scale = no_grad([&] { return sum(x * x) + 1; });
    const Tensor count = no_grad([&] { return sum(astype(x > 0, DType::i64)); });
    return sum(x * scale) * count + no_grad([&] { return max(x) * scale; });
  };
  const auto jitted = jit(f);
  for (int i = 0; i < 3; ++i) {
    const Tensor x = numbers({3}, i);
    expect_alike(grad(jitted)(x), grad(f)(x));
    EXPECT_EQ(jitted(x).text(), f(x).text());
  }
  const auto branched = [](const Tensor& x) {
    return cond(sum(x) > 0, f, [](const Tensor& y) { return sum(y); }, x);
  };
  for (int i = 0; i < 4; ++i) {
    const Tensor x = numbers({3}, i);
    expect_alike(grad(jit(branched))(x), grad(branched)(x));
  }
}

TEST(Jit, ComposesWithVmap) {
  const auto jitted = jit([](const Tensor& x) { return sum(x * x); });
  const Tensor x = ramp(3, 4);
  EXPECT_EQ(vmap(jitted)(x).text(), sum(x * x, {1}).text());
  const auto batched = jit(
      [](const Tensor& x) { return vmap([](const Tensor& row) { return sum(row * row); })(x); });
  for (const int64_t rows : {3, 5, 0, 1, 8}) {
    const Tensor many = ramp(rows, 4);
    EXPECT_EQ(batched(many).text(), sum(many * many, {1}).text());
  }
  EXPECT_EQ(batched.stats().traces, 2);
}

// A jitted function with a condition, called within others.
Tensor pushed_away(const Tensor& x) {
  static const auto inner = jit(
      [](const Tensor& y) {
        ++host_runs;
        return (sum(y) > 0).item<bool>() ? y + 1 : y - 1;
      },
      {.name = "pushed_away"});
  return inner(x);
}

TEST(Jit, OneInAnotherHasItsGuardsThere) {
  host_runs = 0;
  const auto outer = jit([](const Tensor& x) { return pushed_away(x * 2) * 3; });
  for (const double value : {1., -1., 2., -2.}) {
    const Tensor x = full({2}, value, DType::f64);
    EXPECT_EQ(outer(x).text(), ((value > 0 ? x * 2 + 1 : x * 2 - 1) * 3).text());
  }
  EXPECT_EQ(host_runs, 2);
}

// The program that the backend receives for a jitted function called with x.
template <class F>
std::string recorded_text(F f, const Tensor& x) {
  static std::string text;
  register_backend("showing", [](const ir::Program& program, const JitOptions&) {
    text = ir::print(program, {.locations = false});
    return [program](const JitArguments& given) { return evaluate(program, given.take_all()); };
  });
  const auto jitted = jit(frozen(f), {.backend = "showing"});
  const Tensor first = jitted(x), again = jitted(x);
  expect_alike(first, again);
  expect_alike(first, f(x));
  return text;
}

size_t count_of(std::string_view part, const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

Tensor layer(const Tensor& x, const Tensor& weight) {
  static const auto inner =
      jit([](const Tensor& x, const Tensor& weight) { return tanh(matmul(x, weight)); },
          {.name = "layer"});
  return inner(x, weight);
}
// x is a square matrix. All layers are one function.
Tensor deep(const Tensor& x) {
  Tensor y = x;
  for (int i = 0; i < 5; ++i) y = layer(y, x * i);
  return sum(y * y);
}

TEST(Jit, OneInAnotherIsAFunctionThatItCalls) {
  const Tensor x = numbers({3, 3}, 0.1);
  const std::string text = recorded_text([](const Tensor& x) { return deep(x); }, x);
  EXPECT_EQ(count_of("func ", text), 2) << text;
  EXPECT_EQ(count_of("call @layer", text), 5) << text;
  EXPECT_EQ(count_of("tanh", text), 1) << text;
}

TEST(Jit, DerivativesGoThroughCalls) {
  const Tensor x = numbers({3, 3}, 0.1);
  const std::string text = recorded_text([](const Tensor& x) { return grad(deep)(x); }, x);
  // Values that the backward pass needs are returned too; unused values are not.
  EXPECT_EQ(count_of("call @layer", text), 5) << text;
  EXPECT_EQ(count_of("tanh", text), 1) << text;
  const auto slope = [](const auto& f) {
    return [f](const Tensor& x) {
      return tangent_at([&](const Tensor& t) { return f(x * t); }, number(1));
    };
  };
  const auto second = [](const Tensor& x) {
    return sum(grad([](const Tensor& y) { return sum(grad(deep)(y)); })(x));
  };
  EXPECT_GE(count_of("call @layer", recorded_text(slope(deep), x)), 5);
  EXPECT_GE(count_of("call @layer", recorded_text(second, x)), 5);
  expect_alike(grad(jit(deep))(x), grad(deep)(x));
}

TEST(Jit, SamplesGoThroughCalls) {
  const Tensor x = numbers({4, 3, 3}, 0.1);
  const std::string text = recorded_text([](const Tensor& x) { return vmap(deep)(x); }, x);
  EXPECT_EQ(count_of("call @layer", text), 5) << text;
  EXPECT_EQ(count_of("tanh", text), 1) << text;
  const auto slopes = [](const Tensor& x) { return vmap(grad(deep))(x); };
  EXPECT_GE(count_of("call @layer", recorded_text(slopes, x)), 5);
}

TEST(Jit, CallsStandInBranchesAndLoops) {
  const auto f = [](const Tensor& x) {
    const Tensor y =
        cond(sum(x) > 0, [&] { return layer(x, x + 1); }, [&] { return layer(x, -x); });
    return for_loop(0, 3, [&](const Tensor&, const Tensor& z) { return layer(z, y); }, y);
  };
  const Tensor x = numbers({3, 3}, 0.1);
  const std::string text = recorded_text(f, x);
  EXPECT_EQ(count_of("call @layer", text), 3) << text;
  EXPECT_EQ(count_of("tanh", text), 1) << text;
  const auto slopes = [&](const Tensor& x) {
    return grad([&](const Tensor& y) { return sum(f(y)); })(x);
  };
  recorded_text(slopes, x);
}

TEST(Jit, CallsWithinCalls) {
  const auto f = [](const Tensor& x) {
    const auto twice =
        jit([](const Tensor& y) { return layer(layer(y, y), y + 1); }, {.name = "twice"});
    return twice(x) + jit(frozen(twice))(x + 1);
  };
  const std::string text = recorded_text(f, numbers({2, 2}, 0.1));
  EXPECT_EQ(count_of("call @twice", text), 2) << text;
  EXPECT_EQ(count_of("call @layer", text), 2) << text;
  EXPECT_EQ(count_of("call @jitted", text), 1) << text;
}

TEST(Jit, TensorsThatHostCodeKeepsAreResultsOfTheCall) {
  static std::vector<Tensor> kept;
  const auto outer = jit([](const Tensor& x) {
    const auto inner = jit([](const Tensor& y) {
      kept.push_back(exp(y));
      return y + 1;
    });
    const Tensor y = inner(x);
    return y * kept.back();
  });
  for (const double value : {1., 2., 3.}) {
    const Tensor x = full({2}, value, DType::f64);
    expect_alike(outer(x), (x + 1) * exp(x));
  }
  EXPECT_EQ(kept.size(), 1);
  EXPECT_EQ(outer.stats().hits, 2);
}

TEST(Jit, CallsThatEndByExceptionsLeaveTheirGuards) {
  const auto outer = jit([](const Tensor& x) {
    const auto inner = jit([](const Tensor& y) {
      if ((sum(y) > 3).item<bool>()) throw std::runtime_error("too much");
      return y + 1;
    });
    try {
      return inner(x);
    } catch (const std::runtime_error&) {
      return x * 0;
    }
  });
  for (const double value : {1., 2., 1., 3., 0.5}) {
    const Tensor x = full({2}, value, DType::f64);
    expect_alike(outer(x), value > 1.5 ? x * 0 : x + 1);
  }
}

TEST(Jit, CallsHaveSizesOfTheirOwn) {
  const auto outer = jit([](const Tensor& x) {
    const auto positive = jit([](const Tensor& y) { return y[Index(y > 0)] * Scalar(y.shape(0)); },
                              {.name = "positive"});
    const Tensor first = positive(x), second = positive(concat(std::vector{x, x}, 0));
    return sum(first) + sum(second) * Scalar(first.shape(0)) + Scalar(second.shape(0) - 2);
  });
  const auto plain = [](const Tensor& x) {
    const Tensor first = x[Index(x > 0)] * Scalar(x.shape(0));
    const Tensor both = concat(std::vector{x, x}, 0);
    const Tensor second = both[Index(both > 0)] * Scalar(both.shape(0));
    return sum(first) + sum(second) * Scalar(first.shape(0)) + Scalar(second.shape(0) - 2);
  };
  for (const int64_t count : {3, 5, 1, 0, 4}) {
    const Tensor x = numbers({count}, 0.3);
    expect_alike(outer(x), plain(x));
  }
  EXPECT_EQ(outer.stats().traces, 2) << outer.stats().text();
}

TEST(Jit, CallsDrawAndPrintInOrder) {
  const auto outer = jit([](const Tensor& x) {
    const auto noisy = jit([](const Tensor& y) {
      plait::print(y, "noisy");
      return y + random::normal(Shape{2}, 0, 1, DType::f64);
    });
    return noisy(noisy(x));
  });
  const auto run = [&](const auto& f) {
    random::seed(3);
    testing::internal::CaptureStdout();
    const std::string text = f() + f() + f();
    return testing::internal::GetCapturedStdout() + text;
  };
  const Tensor x = numbers({2}, 0.1);
  const std::string jitted = run([&] { return outer(x).text(); });
  EXPECT_EQ(count_of("noisy", jitted), 6) << jitted;
  EXPECT_EQ(jitted, run([&] {
              const auto noisy = [](const Tensor& y) {
                plait::print(y, "noisy");
                return y + random::normal(Shape{2}, 0, 1, DType::f64);
              };
              return noisy(noisy(x)).text();
            }));
}

struct ScaledLayer {
  Tensor weight, bias;
  double scale = 1;
  Tensor operator()(const Tensor& x) const { return (matmul(x, weight) + bias) * scale; }
};

TEST(Jit, TakesStructsAndCallableStructs) {
  const ScaledLayer layer{ramp(3, 2), ramp(2), 2.};
  const auto apply_layer = jit([](const ScaledLayer& l, const Tensor& x) { return l(x); });
  EXPECT_EQ(apply_layer(layer, ramp(4, 3)).text(), layer(ramp(4, 3)).text());
  ScaledLayer other = layer;
  other.scale = 3;
  EXPECT_EQ(apply_layer(other, ramp(4, 3)).text(), other(ramp(4, 3)).text());
  EXPECT_EQ(apply_layer.stats().traces, 2);
  EXPECT_NE(apply_layer.stats().text().find("scale"), std::string::npos)
      << apply_layer.stats().text();
  const auto callable = jit(layer);
  EXPECT_EQ(callable(ramp(4, 3)).text(), layer(ramp(4, 3)).text());
  const Tensor captured = ramp(2);
  const auto held = jit(frozen([captured](const Tensor& x) { return x + captured; }));
  EXPECT_EQ(held(ramp(2)).text(), (ramp(2) + captured).text());
  EXPECT_EQ(held(ramp(2)).text(), (ramp(2) + captured).text());
  EXPECT_EQ(held.stats().hits, 1);
}

TEST(Jit, LeavesMayHaveAnyNames) {
  using Named = std::map<std::string, Tensor>;
  const auto f = jit([](const Named& x) { return sum(x.at("a b")) + sum(x.at("a_b")); });
  for (const int64_t size : {2, 3, 4}) {
    const Named x{{"a b", ramp(size)}, {"a_b", ramp(2 * size)}};
    EXPECT_EQ(f(x).text(), (sum(ramp(size)) + sum(ramp(2 * size))).text());
  }
  EXPECT_EQ(f.stats().traces, 2);
}

TEST(Jit, GivesBackWhatTheFunctionGives) {
  const auto f =
      jit([](const Tensor& x) { return std::pair{std::vector{x + 1, x + 2}, std::string("two")}; });
  for (int i = 0; i < 2; ++i) {
    const auto [tensors, name] = f(ramp(2));
    ASSERT_EQ(tensors.size(), 2U);
    EXPECT_EQ(tensors[1].text(), (ramp(2) + 2).text());
    EXPECT_EQ(name, "two");
  }
}

TEST(Jit, ControlFlowAndDataDependentSizes) {
  const auto plain = [](const Tensor& x) {
    const Tensor chosen = cond(
        sum(x) > 2, [](const Tensor& y) { return y * 2; }, [](const Tensor& y) { return y - 1; },
        x);
    const Tensor doubled = while_loop([](const Tensor& y) { return max(y) < 50; },
                                      [](const Tensor& y) { return y * 2 + 3; }, chosen);
    const auto [last, all] =
        scan([](const Tensor& total, const Tensor& each) { return std::pair(total + each, total); },
             full({}, 0, DType::f32), doubled);
    const Tensor positive = x[Index(x > 0)];
    return std::tuple(doubled, last, all, positive, sum(positive));
  };
  const auto jitted = jit(plain);
  for (const int64_t size : {3, 4, 1, 6}) {
    const Tensor x = ramp(size);
    const auto expected = plain(x), given = jitted(x);
    for (size_t i = 0; i < 5; ++i) {
      EXPECT_EQ(tensors_of(given)[i].text(), tensors_of(expected)[i].text()) << size << " " << i;
    }
  }
  EXPECT_EQ(jitted.stats().traces, 2) << jitted.stats().text();
}

TEST(Jit, ASizeMayBeDynamicFromTheFirstCall) {
  host_runs = 0;
  const auto f = jit(
      [](const Tensor& x) {
        ++host_runs;
        return x * 2;
      },
      {.name = "halves",
       .dynamic = {
           {.argument = 0, .axis = 0, .name = "n", .at_least = 2, .at_most = 8, .divisor = 2}}});
  for (const int64_t size : {2, 4, 8}) EXPECT_EQ(f(ramp(size)).text(), (ramp(size) * 2).text());
  EXPECT_EQ(host_runs, 1);
  EXPECT_THROW(f(ramp(3)), ShapeError);
  EXPECT_THROW(f(ramp(10)), ShapeError);
  EXPECT_EQ(f(ramp(6)).text(), (ramp(6) * 2).text());
  const auto wrong = jit([](const Tensor& x) { return x; }, {.dynamic = {{.argument = 3}}});
  EXPECT_THROW(wrong(ramp(2)), ValueError);
}

TEST(Jit, OverwritesDonatedArguments) {
  const auto f = jit([](const Tensor& x) { return x + 1; }, {.donate = {0}});
  Tensor x = ramp(1000) + 0;
  x = f(std::move(x));
  const void* const place = x.array().data();
  x = f(std::move(x));
  EXPECT_EQ(x.array().data(), place) << "the result lies where the argument lay";
  const Tensor kept = x;
  const Tensor next = f(std::move(x));
  EXPECT_NE(next.array().data(), kept.array().data());
  EXPECT_EQ(next.text(), (kept + 1).text());
}

TEST(Jit, OnlyArgumentsCanBeDonated) {
  const auto f = jit([](const Tensor& x) { return x + 1; }, {.name = "step", .donate = {1}});
  try {
    f(ramp(2));
    ADD_FAILURE();
  } catch (const ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("step: cannot donate argument 1"), std::string::npos)
        << error.what();
  }
}

TEST(Jit, FullgraphRefusesReads) {
  const auto reads = jit([](const Tensor& x) { return x * x.item<double>(); }, {.fullgraph = true});
  const auto asks =
      jit([](const Tensor& x) { return (x > 0).item<bool>() ? x : -x; }, {.fullgraph = true});
  const Tensor x = full({}, 2., DType::f64);
  EXPECT_THROW(reads(x), ValueError);
  EXPECT_THROW(asks(x), ValueError);
  EXPECT_THROW(jit(frozen([=](const Tensor& y) { return reads(y) + 1; }))(x), ValueError);
  EXPECT_THROW(jit(frozen([=](const Tensor& y) { return asks(y) + 1; }))(x), ValueError);
  try {
    reads(x);
  } catch (const Error& error) {
    const std::string text = error.what();
    EXPECT_EQ(text.find("jit_test.cpp") != std::string::npos, can_read_source_lines()) << text;
  }
}

TEST(Jit, NumbersOfOneSampleOrOneStepAreErrorsThatNameTheWayOut) {
  const auto sampled = jit([](const Tensor& x) {
    return vmap([](const Tensor& row) { return row * sum(row).item<double>(); })(x);
  });
  const auto looped = jit([](const Tensor& x) {
    return for_loop(
        0, 3, [](const Tensor&, const Tensor& y) { return y.item<double>() > 0 ? y : -y; }, x);
  });
  for (const auto& call : {std::function([&] { sampled(ramp(2, 2)); }),
                           std::function([&] { looped(full({}, 1., DType::f64)); })}) {
    try {
      call();
      ADD_FAILURE();
    } catch (const ValueError& error) {
      EXPECT_NE(std::string(error.what()).find("cond"), std::string::npos) << error.what();
    }
  }
}

TEST(Jit, BackendsReceiveThePrograms) {
  static int received = 0;
  register_backend("counting", [](const ir::Program& program, const JitOptions& options) {
    ++received;
    EXPECT_EQ(options.mode, JitMode::fast_compile);
    return [program](const JitArguments& given) { return evaluate(program, given.take_all()); };
  });
  const auto names = list_backends();
  EXPECT_NE(std::ranges::find(names, "counting"), names.end());
  const auto f = jit([](const Tensor& x) { return x + 1; },
                     {.backend = "counting", .mode = JitMode::fast_compile});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f(ramp(2)).text(), (ramp(2) + 1).text());
  EXPECT_EQ(received, 1);
  EXPECT_THROW(jit([](const Tensor& x) { return x; }, {.backend = "none"}), KeyError);
  const auto off = jit([](const Tensor& x) { return x + 1; }, {.disable = true});
  off(ramp(2));
  EXPECT_EQ(off.stats().traces, 0);
}

TEST(Jit, EvictsTheLeastRecentlyUsedRecord) {
  host_runs = 0;
  const auto times = jit(
      [](const Tensor& x, int64_t n) {
        ++host_runs;
        return x * n;
      },
      {.max_records = 4});
  const auto call = [&](int64_t n) { EXPECT_EQ(times(ramp(3), n).text(), (ramp(3) * n).text()); };
  for (const int64_t n : {0, 1, 2, 3, 0, 1, 4, 0, 1, 3, 4}) call(n);
  EXPECT_EQ(host_runs, 5);
  call(2);
  EXPECT_EQ(host_runs, 6);
  EXPECT_EQ(times.stats().traces, 6);
}

TEST(Jit, ManyWaysEndInHostRuns) {
  host_runs = 0;
  const auto f = jit(
      [](const Tensor& x) {
        ++host_runs;
        Tensor y = x;
        while ((sum(y) < 100).item<bool>()) y = y * 2;
        return y;
      },
      {.max_paths = 4});
  for (int i = 0; i < 12; ++i) {
    const Tensor x = full({2}, 50. / (1 << i), DType::f64);
    Tensor expected = x;
    while ((sum(expected) < 100).item<bool>()) expected = expected * 2;
    EXPECT_EQ(f(x).text(), expected.text()) << i;
  }
  EXPECT_EQ(f.stats().traces, 4);
}

TEST(Jit, ManyThreadsConcurrently) {
  host_runs = 0;
  const auto f = jit([](const Tensor& x) {
    ++host_runs;
    return (sum(x) > 10).item<bool>() ? x * 2 : x - 1;
  });
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Tensor x = ramp((i + t) % 7 + 1);
        const Tensor expected = (sum(x) > 10).item<bool>() ? x * 2 : x - 1;
        if (f(x).text() != expected.text()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(host_runs, 8);
}

}  // namespace
}  // namespace plait
