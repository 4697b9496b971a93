// Jitted functions that take numbers out of tensors: host code runs at each call, in
// compiled pieces.
#include <atomic>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/plait.h"
#include "plait/tensor/inside/tracing/trace.h"

#include "tests/transform/transform_support.h"

namespace plait {
namespace {

// Calls both, and expects the same text.
void expect_same_call(const OfTensor& plain, const OfTensor& jitted, const Tensor& x) {
  EXPECT_EQ(jitted(x).text(), plain(x).text()) << x.text();
}

TEST(JitPieces, AreMadeOnce) {
  const auto plain = [](const Tensor& x) {
    const Tensor y = exp(x) + x;
    const double largest = max(y).item<double>();
    return y * 2 - sum(y) + (largest > 2 ? 1 : 2);
  };
  const auto jitted = jit(plain);
  for (int i = 0; i < 6; ++i) expect_same_call(plain, jitted, numbers({3}, i));
  const JitStats stats = jitted.stats();
  EXPECT_EQ(stats.traces, 1);
  EXPECT_EQ(stats.host_runs, 5);
  EXPECT_LE(stats.pieces, 3) << "up to the read, from there, and with another number";
}

TEST(JitPieces, ALoopThatReadsAtEachStepRepeatsOne) {
  const auto plain = [](Tensor x) {
    int steps = 0;
    while (sum(x * x).item<double>() < 1e6) {
      x = x * 1.5 + sin(x);
      ++steps;
    }
    return x + steps;
  };
  const auto jitted = jit(plain);
  for (int i = 0; i < 4; ++i) expect_same_call(plain, jitted, numbers({4}, i));
  EXPECT_LE(jitted.stats().pieces, 4);
}

TEST(JitPieces, NumbersOfHostCodeAreOperandsOnceTheyDiffer) {
  const auto plain = [](const Tensor& x) {
    const double largest = max(x).item<double>();
    return x / largest + largest * 3 + 7;
  };
  const auto jitted = jit(plain);
  for (int i = 0; i < 30; ++i) expect_same_call(plain, jitted, numbers({5}, i));
  EXPECT_LE(jitted.stats().pieces, 4);
}

TEST(JitPieces, SizesThatDifferAreSymbols) {
  const auto plain = [](const Tensor& x) {
    const std::vector<Tensor> both{x, x * 2};
    const Tensor y = concat(both);
    const double mean_of_all = sum(y).item<double>() / 2;
    const Tensor z = y - mean_of_all;
    return reshape(z, {2, -1}) + x.shape(0) * zeros({1, 1}, DType::f64);
  };
  const auto jitted = jit(plain);
  for (const int64_t size : {3, 5, 8, 1, 13, 2, 21, 34}) {
    expect_same_call(plain, jitted, numbers({size}, 0));
  }
  EXPECT_LE(jitted.stats().pieces, 6);
}

TEST(JitPieces, DataDependentSizes) {
  const auto plain = [](const Tensor& x) {
    const Tensor chosen = x[x > 0.2];
    if (chosen.shape(0) == 0) return zeros({1}, DType::f64);
    const double first = chosen[0].item<double>();
    const std::vector<Tensor> both{chosen * first, chosen[chosen > 0.5]};
    return concat(both);
  };
  const auto jitted = jit(plain);
  for (int i = 0; i < 20; ++i) expect_same_call(plain, jitted, numbers({6}, i));
  EXPECT_LE(jitted.stats().pieces, 60);
}

TEST(JitPieces, HostCodeCatchesWhatFails) {
  const auto plain = [](const Tensor& x) {
    const Tensor doubled = x * 2;
    const auto place = static_cast<int64_t>(sum(x).item<double>());
    Tensor chosen;
    try {
      chosen = doubled[Tensor(Array::filled(DType::i64, {}, Element::of_signed(place)))];
    } catch (const IndexError&) {
      chosen = number(-1);
    }
    return doubled + chosen;
  };
  const auto jitted = jit(plain);
  for (int i = 0; i < 8; ++i) expect_same_call(plain, jitted, full({3}, i * 0.5, DType::f64));
}

TEST(JitPieces, HostCodeOfARecordCatchesWhatFails) {
  const auto plain = [](const Tensor& x) {
    const Tensor place = astype(sum(x), DType::i64);
    try {
      return x[place] + 1;
    } catch (const IndexError&) {
      return number(-1);
    }
  };
  const auto jitted = jit(plain);
  for (int i = 0; i < 8; ++i) expect_same_call(plain, jitted, full({3}, i * 0.5, DType::f64));
  const auto fails = jit([](const Tensor& x) { return x[astype(sum(x), DType::i64)]; });
  fails(zeros({3}, DType::f64));
  EXPECT_THROW(fails(ones({3}, DType::f64)), IndexError);
  EXPECT_EQ(value_of(fails(zeros({3}, DType::f64))), 0);
}

TEST(JitPieces, PrintsAndDrawsKeepTheirOrder) {
  std::vector<std::string> seen;
  const PrintSink former = set_print_sink([&](std::string_view text) { seen.emplace_back(text); });
  static std::vector<std::string>* of_host = nullptr;
  of_host = &seen;
  const auto plain = [](const Tensor& x) {
    const Tensor noisy = x + astype(random::uniform({2}), DType::f64);
    of_host->push_back("before");
    print(noisy, "noisy");
    of_host->push_back("after " + std::to_string(sum(noisy).item<double>()));
    return noisy * 2;
  };
  const auto jitted = jit(plain);
  const auto all = [&](const auto& f) {
    seen.clear();
    random::seed(3);
    for (int i = 0; i < 4; ++i) f(numbers({2}, i));
    return seen;
  };
  const std::vector<std::string> expected = all(plain), found = all(jitted);
  set_print_sink(former);
  EXPECT_EQ(found, expected);
}

TEST(JitPieces, ValuesThatHostCodeKeepsSurviveTheCall) {
  static std::vector<Tensor> kept;
  kept.clear();
  const auto jitted = jit([](const Tensor& x) {
    const Tensor loss = sum(x * x);
    kept.push_back(loss);
    return x * loss.item<double>();
  });
  for (int i = 1; i < 5; ++i) jitted(full({2}, i, DType::f64));
  ASSERT_EQ(kept.size(), 4U);
  for (int i = 1; i < 5; ++i) EXPECT_EQ(value_of(kept[static_cast<size_t>(i - 1)]), 2. * i * i);
  EXPECT_EQ(value_of(kept[1] + kept[2]), 26);
  EXPECT_FALSE(kept[1].is_traced());
}

TEST(JitPieces, StagedControlFlow) {
  const auto plain = [](const Tensor& x) {
    const double scale = max(x).item<double>();
    const Tensor bounded =
        while_loop([](const Tensor& y) { return sum(y) < 100; },
                   [&](const Tensor& y) { return y * 2 + scale; }, absolute(x) + 1);
    const Tensor branched = cond(
        sum(bounded) > 150, [&](const Tensor& y) { return y - x; },
        [](const Tensor& y) { return y * 3; }, bounded);
    return branched + sum(branched).item<double>();
  };
  const auto jitted = jit(plain);
  for (int i = 0; i < 6; ++i) expect_same_call(plain, jitted, numbers({3}, i));
  for (const int64_t size : {2, 5, 7, 3}) expect_same_call(plain, jitted, numbers({size}, 1));
}

TEST(JitPieces, DerivativesInside) {
  const auto plain = [](const Tensor& x) {
    const auto loss = [](const Tensor& y) {
      const double size = sum(absolute(y)).item<double>();
      return size > 2 ? sum(sin(y) * y) : sum(y * y * y);
    };
    const Tensor slope = grad(loss)(x);
    return slope * sum(slope).item<double>() +
           grad([&](const Tensor& y) { return sum(grad(loss)(y) * y); })(x);
  };
  const auto jitted = jit(plain);
  for (int i = 0; i < 6; ++i) expect_alike(jitted(numbers({4}, i)), plain(numbers({4}, i)));
}

TEST(JitPieces, DerivativesFromOutside) {
  const auto plain = [](const Tensor& x) {
    const double scale = max(x).item<double>();
    return sum(sin(x) * x) * scale;
  };
  const auto jitted = jit(plain);
  for (int i = 0; i < 4; ++i) {
    expect_alike(grad(jitted)(numbers({4}, i)), grad(plain)(numbers({4}, i)));
    expect_alike(tangent_at(jitted, number(i)), tangent_at(plain, number(i)));
  }
}

TEST(JitPieces, TensorsFromElsewhereKeepTheirGradients) {
  static Tensor weight;
  weight = numbers({3}, 2).requires_grad();
  const auto plain = [](const Tensor& x) {
    const Tensor y = sin(x) * weight;
    return sum(y * y) * (sum(x).item<double>() > 0 ? 2 : 3);
  };
  const auto jitted = jit(plain);
  for (int i = 0; i < 4; ++i) {
    weight.zero_grad();
    plain(numbers({3}, i)).backward();
    const Tensor expected = weight.grad();
    weight.zero_grad();
    jitted(numbers({3}, i)).backward();
    ASSERT_TRUE(weight.grad()) << i;
    expect_alike(weight.grad(), expected);
  }
  weight = Tensor();
}

TEST(JitPieces, HostCodeThatIsNeverTheSameIsRunAsItIs) {
  const auto plain = [](const Tensor& x) {
    const auto count = static_cast<int64_t>(x[0].item<double>());
    Tensor y = x;
    for (int64_t i = 0; i < count; ++i) y = y + 1;
    return y;
  };
  const auto jitted = jit(plain);
  for (int i = 0; i < 300; ++i) expect_same_call(plain, jitted, full({2}, i, DType::f64));
  EXPECT_EQ(jitted.stats().pieces, 256);
}

TEST(JitPieces, ExceptionsOfHostCodeLeaveEverythingAsItWas) {
  const auto jitted = jit([](const Tensor& x) {
    const Tensor y = x * 2;
    if (sum(x).item<double>() < 0) throw std::runtime_error("negative");
    return y + 1;
  });
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(value_of(jitted(number(1))), 3);
    EXPECT_THROW(jitted(number(-1)), std::runtime_error);
    EXPECT_EQ(Trace::current(), nullptr);
  }
}

TEST(JitPieces, OneJittedFunctionInAnother) {
  static const auto inner = jit([](const Tensor& x) { return x * max(x).item<double>(); });
  const auto plain = [](const Tensor& x) { return inner(x + 1) + inner(x) * 2; };
  const auto jitted = jit(plain);
  for (int i = 0; i < 5; ++i) expect_same_call(plain, jitted, numbers({3}, i));
}

TEST(JitPieces, PromisesAboutSizesAreChecked) {
  const auto jitted = jit([](const Tensor& x) { return x * sum(x).item<double>(); },
                          {.dynamic = {{.argument = 0, .axis = 0, .at_least = 2, .divisor = 2}}});
  for (const int64_t size : {2, 4, 8}) {
    const Tensor x = numbers({size}, 1);
    EXPECT_EQ(jitted(x).text(), (x * sum(x).item<double>()).text());
  }
  EXPECT_THROW(jitted(numbers({3}, 1)), ShapeError);
}

TEST(JitPieces, ManyThreadsConcurrently) {
  const auto plain = [](const Tensor& x) {
    const double largest = max(x).item<double>();
    return largest > 0.9 ? x * largest : sin(x) - 1;
  };
  const auto jitted = jit(plain);
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Tensor x = numbers({(i + t) % 5 + 1}, i);
        if (jitted(x).text() != plain(x).text()) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace plait
