// Compiled nests of many kinds compared with point-by-point evaluation.
#include <limits>

#include "tests/cpu/nest_reference.h"

namespace plait::nest_test {
namespace {

const Dim kRows = Dim::symbol("rows"), kColumns = Dim::symbol("columns");
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr size_t kSizes[] = {1, 2, 3, 7, 8, 16, 31, 32, 33, 64, 65, 197, 1000};

using CompiledNests = Nests;

struct Sizes {
  Dim rows, columns;
  SymbolMap<int64_t> symbols;
};
// The same sizes as numbers and as symbols.
std::vector<Sizes> both(size_t rows, size_t columns) {
  const auto r = static_cast<int64_t>(rows), c = static_cast<int64_t>(columns);
  return {{r, c, {}}, {kRows, kColumns, {{kRows, r}, {kColumns, c}}}};
}

// ---- Elementwise.

TEST_F(CompiledNests, GoAlongAnySize) {
  for (const size_t columns : kSizes) {
    for (const Sizes& sizes : both(3, columns)) {
      NestMaker maker({sizes.rows}, sizes.columns);
      const uint32_t x = maker.load(DType::f32, {sizes.columns, 1});
      const uint32_t bias = maker.load(DType::f32, {0, 1});
      const uint32_t scale = maker.load(DType::f32, {1, 0});
      const uint32_t sum = maker.compute("add", {maker.compute("multiply", {x, scale}), bias});
      maker.result(maker.compute("tanh", {sum}), {sizes.columns, 1});
      maker.result(maker.compute("less", {sum, x}), {sizes.columns, 1});
      check_nest(maker.nest, {3 * columns, columns, 3}, {3 * columns, 3 * columns}, sizes.symbols);
    }
  }
}

TEST_F(CompiledNests, DoNothingWhereThereIsNothing) {
  NestMaker maker({kRows}, kColumns);
  maker.result(maker.compute("exp", {maker.load(DType::f32, {kColumns, 1})}), {kColumns, 1});
  check_nest(maker.nest, {0}, {0}, {{kRows, 3}, {kColumns, 0}});
  check_nest(maker.nest, {0}, {0}, {{kRows, 0}, {kColumns, 5}});
}

TEST_F(CompiledNests, TakeAnyStrides) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i8, DType::i64, DType::boolean}) {
    for (const size_t columns : {1, 5, 16, 67}) {
      for (const int64_t in : {1, 0, 2, -1, 7}) {
        for (const int64_t out : {1, 3, -1}) {
          const auto c = static_cast<int64_t>(columns);
          NestMaker maker({2}, c);
          const auto width = [&](int64_t stride) { return std::abs(stride) * (c - 1) + 1; };
          const auto start = [&](int64_t stride) { return stride < 0 ? -stride * (c - 1) : 0; };
          const uint32_t x = maker.load(dtype, {width(in), in}, start(in));
          const uint32_t y = maker.load(dtype, {c, 1});
          maker.result(maker.compute("maximum", {x, y}), {width(out), out}, Reduction::none,
                       start(out));
          check_nest(maker.nest, {static_cast<size_t>(2 * width(in)), 2 * columns},
                     {static_cast<size_t>(2 * width(out))});
        }
      }
    }
  }
}

TEST_F(CompiledNests, ReadTransposedArrays) {
  for (const size_t columns : {4, 33}) {
    for (const Sizes& sizes : both(19, columns)) {
      NestMaker maker({sizes.rows}, sizes.columns);
      const uint32_t x = maker.load(DType::f32, {1, sizes.rows});
      maker.result(maker.compute("square", {x}), {sizes.columns, 1});
      check_nest(maker.nest, {19 * columns}, {19 * columns}, sizes.symbols);
    }
  }
}

TEST_F(CompiledNests, CountThroughManyDimensions) {
  for (const bool known : {true, false}) {
    const Dim a = known ? Dim(3) : Dim::symbol("a"), b = known ? Dim(2) : Dim::symbol("b");
    const Dim c = known ? Dim(5) : Dim::symbol("c"), d = known ? Dim(18) : Dim::symbol("d");
    const SymbolMap<int64_t> symbols = {{Dim::symbol("a"), 3},
                                        {Dim::symbol("b"), 2},
                                        {Dim::symbol("c"), 5},
                                        {Dim::symbol("d"), 18}};
    NestMaker maker({a, b, c}, d);
    const uint32_t x = maker.load(DType::f32, {d, d * a, d * a * b, 1});
    const uint32_t y = maker.load(DType::f32, {1, 0, a, 0});
    maker.result(maker.compute("add", {x, y}), {b * c * d, c * d, d, 1});
    check_nest(maker.nest, {540, 15}, {540}, known ? SymbolMap<int64_t>{} : symbols);
  }
}

TEST_F(CompiledNests, DoPartsOfTheirRowsAndColumns) {
  NestMaker maker({3, 4}, kColumns);
  const uint32_t x = maker.load(DType::f32, {4 * kColumns, kColumns, 1});
  maker.result(maker.compute("sigmoid", {x}), {4 * kColumns, kColumns, 1});
  ASSERT_TRUE(maker.nest.may_cut_columns());
  constexpr int64_t kWide = 300;
  const SymbolMap<int64_t> symbols = {{kColumns, kWide}};
  const Elements in = Elements::of(random_numbers<float>(12 * kWide, 1));
  Elements whole(DType::f32, 12 * kWide), parts(DType::f32, 12 * kWide);
  compile_and_run(maker.nest, {&in}, {&whole}, symbols);
  for (const auto& [first, end] : {std::pair{0, 5}, std::pair{5, 6}, std::pair{6, 12}}) {
    for (const auto& [from, to] : {std::pair{0, 64}, std::pair{64, 256}, std::pair{256, 300}}) {
      compile_and_run(maker.nest, {&in}, {&parts}, symbols, {first, end, from, to});
    }
  }
  EXPECT_EQ(whole.values<float>(), parts.values<float>());
}

TEST_F(CompiledNests, MayWriteOverAnOperand) {
  NestMaker maker({}, kColumns);
  const uint32_t x = maker.load(DType::f32, {1}), y = maker.load(DType::f32, {1});
  maker.result(maker.compute("subtract", {maker.compute("exp", {x}), y}), {1});
  const Elements a = Elements::of(random_numbers<float>(77, 1));
  const Elements b = Elements::of(random_numbers<float>(77, 2));
  Elements apart(DType::f32, 77), over = a;
  compile_and_run(maker.nest, {&a, &b}, {&apart}, {{kColumns, 77}});
  compile_and_run(maker.nest, {&over, &b}, {&over}, {{kColumns, 77}});
  EXPECT_EQ(apart.values<float>(), over.values<float>());
}

TEST_F(CompiledNests, ComputeWithIndicesAndSizes) {
  for (const DType dtype :
       {DType::i64, DType::i32, DType::f32, DType::f64, DType::u8, DType::bf16}) {
    for (const Sizes& sizes : both(5, 37)) {
      NestMaker maker({sizes.rows}, sizes.columns);
      const uint32_t place = maker.index(dtype, {3, -1}, 40);
      const uint32_t row = maker.index(dtype, {2, 0});
      const uint32_t size = maker.size(dtype, sizes.columns + 1);
      const uint32_t sum = maker.compute("add", {maker.compute("add", {place, row}), size});
      maker.result(sum, {sizes.columns, 1});
      check_nest(maker.nest, {}, {5 * 37}, sizes.symbols);
    }
  }
}

TEST_F(CompiledNests, LoadNothingOutsideOfTheirDomains) {
  for (const DType dtype : {DType::f32, DType::bf16, DType::i64, DType::u8}) {
    for (const int64_t stride : {1, 2}) {
      for (const size_t columns : {1, 9, 32, 70, 100}) {
        const auto c = static_cast<int64_t>(columns);
        NestMaker maker({7}, c);
        const uint32_t parameter = maker.parameter(dtype);
        // Padded: two rows above, one below, three columns before; behind, it is cut off.
        const uint32_t x = maker.load(parameter, {50 * stride, stride}, -103 * stride);
        NestValue& value = maker.nest.values[x];
        value.domains = {{0, 2, 6}, {1, 3, 53}};
        value.number = is_floating(dtype) ? Element::of(0.5) : Element::of_signed(7);
        // One without columns.
        const uint32_t once = maker.load(parameter, {1, 0}, -2);
        maker.nest.values[once].domains = {{0, 2, 5}};
        maker.result(maker.compute("add", {x, once}), {c, 1});
        check_nest(maker.nest, {static_cast<size_t>(4 * 50 * stride)}, {7 * columns});
      }
    }
  }
}

// ---- Reductions along rows.

Nest softmax(const Sizes& sizes, DType dtype) {
  NestMaker maker({sizes.rows}, sizes.columns);
  uint32_t x = maker.load(dtype, {sizes.columns, 1});
  if (dtype != DType::f64) x = maker.convert(x, DType::f32);
  const uint32_t most = maker.reduce(Reduction::maximum, x);
  const uint32_t power = maker.compute("exp", {maker.compute("subtract", {x, most})});
  const uint32_t sum = maker.reduce(Reduction::sum, power);
  uint32_t result = maker.compute("divide", {power, sum});
  if (dtype != DType::f64) result = maker.convert(result, dtype);
  maker.result(result, {sizes.columns, 1});
  return maker.nest;
}

TEST_F(CompiledNests, Softmax) {
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16}) {
    for (const size_t columns : kSizes) {
      for (const Sizes& sizes : both(4, columns)) {
        const Nest nest = softmax(sizes, dtype);
        EXPECT_FALSE(nest.may_cut_columns());
        check_nest(nest, {4 * columns}, {4 * columns}, sizes.symbols);
      }
    }
  }
}

TEST_F(CompiledNests, CausalSoftmaxOfScores) {
  for (const size_t columns : {5, 40, 64}) {
    for (const Sizes& sizes : both(columns, columns)) {
      NestMaker maker({2, sizes.rows}, sizes.columns);
      const uint32_t x = maker.load(DType::f32, {sizes.rows * sizes.columns, sizes.columns, 1});
      const uint32_t column = maker.index(DType::i64, {0, 0, 1});
      const uint32_t row = maker.index(DType::i64, {0, 1, 0});
      const uint32_t seen = maker.compute("less_equal", {column, row});
      const uint32_t none = maker.number(DType::f32, -kInfinity);
      const uint32_t scores = maker.compute("select", {seen, x, none});
      const uint32_t most = maker.reduce(Reduction::maximum, scores);
      const uint32_t power = maker.compute("exp", {maker.compute("subtract", {scores, most})});
      const uint32_t sum = maker.reduce(Reduction::sum, power);
      maker.result(maker.compute("divide", {power, sum}),
                   {sizes.rows * sizes.columns, sizes.columns, 1});
      check_nest(maker.nest, {2 * columns * columns}, {2 * columns * columns}, sizes.symbols);
    }
  }
}

struct Normalised {
  uint32_t x, mean, inverse, centred, result;
};
Normalised normalised(NestMaker& maker, const Sizes& sizes) {
  Normalised n{};
  n.x = maker.load(DType::f32, {sizes.columns, 1});
  const uint32_t count = maker.size(DType::f32, sizes.columns);
  n.mean = maker.compute("divide", {maker.reduce(Reduction::sum, n.x), count});
  n.centred = maker.compute("subtract", {n.x, n.mean});
  const uint32_t squares = maker.compute("square", {n.centred});
  const uint32_t variance = maker.compute("divide", {maker.reduce(Reduction::sum, squares), count});
  n.inverse =
      maker.compute("rsqrt", {maker.compute("add", {variance, maker.number(DType::f32, 1e-5)})});
  n.result = maker.compute("multiply", {n.centred, n.inverse});
  return n;
}

TEST_F(CompiledNests, LayerNorm) {
  for (const size_t columns : kSizes) {
    for (const Sizes& sizes : both(5, columns)) {
      NestMaker maker({sizes.rows}, sizes.columns);
      const Normalised n = normalised(maker, sizes);
      const uint32_t gamma = maker.load(DType::f32, {0, 1}), beta = maker.load(DType::f32, {0, 1});
      maker.result(maker.compute("add", {maker.compute("multiply", {n.result, gamma}), beta}),
                   {sizes.columns, 1});
      maker.result(n.mean, {1, 0});
      maker.result(n.inverse, {1, 0});
      check_nest(maker.nest, {5 * columns, columns, columns}, {5 * columns, 5, 5}, sizes.symbols);
    }
  }
}

// dx of each row, and the gradients of gamma and beta, which are sums over all rows.
TEST_F(CompiledNests, LayerNormBackwards) {
  for (const size_t columns : kSizes) {
    for (const Sizes& sizes : both(6, columns)) {
      NestMaker maker({sizes.rows}, sizes.columns, 0);
      const Normalised n = normalised(maker, sizes);
      const uint32_t dy = maker.load(DType::f32, {sizes.columns, 1});
      const uint32_t gamma = maker.load(DType::f32, {0, 1});
      const uint32_t count = maker.size(DType::f32, sizes.columns);
      const uint32_t g = maker.compute("multiply", {dy, gamma});
      const uint32_t mean = maker.compute("divide", {maker.reduce(Reduction::sum, g), count});
      const uint32_t product = maker.compute("multiply", {g, n.result});
      const uint32_t along =
          maker.compute("divide", {maker.reduce(Reduction::sum, product), count});
      const uint32_t rest = maker.compute(
          "subtract",
          {maker.compute("subtract", {g, mean}), maker.compute("multiply", {n.result, along})});
      maker.result(maker.compute("multiply", {rest, n.inverse}), {sizes.columns, 1});
      maker.result(maker.compute("multiply", {dy, n.result}), {0, 1}, Reduction::sum);
      maker.result(dy, {0, 1}, Reduction::sum);
      check_nest(maker.nest, {6 * columns, 6 * columns, columns}, {6 * columns, columns, columns},
                 sizes.symbols);
    }
  }
}

// Values that a later loop needs from an earlier one, at every width.
TEST_F(CompiledNests, KeepWhatIsCostly) {
  for (const size_t columns : {3, 32, 75}) {
    for (const Sizes& sizes : both(3, columns)) {
      NestMaker maker({sizes.rows}, sizes.columns);
      const uint32_t x = maker.load(DType::f32, {sizes.columns, 1});
      const uint32_t y = maker.load(DType::f64, {sizes.columns, 1});
      const uint32_t f = maker.compute("exp", {x}), g = maker.compute("cos", {y});
      const uint32_t is_less = maker.compute("less", {f, maker.compute("sinh", {x})});
      const uint32_t small = maker.convert(maker.compute("floor", {f}), DType::i8);
      const uint32_t half = maker.convert(maker.compute("log1p", {f}), DType::bf16);
      const uint32_t sum = maker.reduce(Reduction::sum, f);
      const uint32_t any = maker.reduce(Reduction::any, is_less);
      const uint32_t wide = maker.reduce(Reduction::sum, g);
      const uint32_t most = maker.reduce(Reduction::maximum, small);
      const uint32_t halves = maker.reduce(Reduction::maximum, half);
      maker.result(maker.compute("divide", {f, sum}), {sizes.columns, 1});
      maker.result(maker.compute("not_equal", {is_less, any}), {sizes.columns, 1});
      maker.result(maker.compute("subtract", {g, wide}), {sizes.columns, 1});
      maker.result(maker.compute("equal", {small, most}), {sizes.columns, 1});
      maker.result(maker.compute("divide", {half, halves}), {sizes.columns, 1});
      check_nest(maker.nest, {3 * columns, 3 * columns},
                 {3 * columns, 3 * columns, 3 * columns, 3 * columns, 3 * columns}, sizes.symbols);
    }
  }
}

// ---- Accumulated results.

struct Reduced {
  Reduction reduction;
  DType dtype;
};
constexpr Reduced kReductions[] = {
    {Reduction::sum, DType::f32},     {Reduction::sum, DType::f64},
    {Reduction::sum, DType::i64},     {Reduction::product, DType::f32},
    {Reduction::maximum, DType::f32}, {Reduction::minimum, DType::f64},
    {Reduction::maximum, DType::i8},  {Reduction::minimum, DType::u32},
    {Reduction::maximum, DType::f16}, {Reduction::all, DType::boolean},
    {Reduction::any, DType::boolean},
};

// Over everything, over the rows, over the columns.
TEST_F(CompiledNests, AccumulateOverEverything) {
  for (const auto& [reduction, dtype] : kReductions) {
    for (const size_t columns : {1, 3, 17, 64, 133}) {
      for (const Sizes& sizes : both(4, columns)) {
        NestMaker maker({sizes.rows}, sizes.columns, 0);
        const uint32_t x = maker.load(dtype, {sizes.columns, 1});
        maker.result(x, {0, 0}, reduction);
        maker.result(x, {0, 1}, reduction, 2);
        maker.result(maker.reduce(reduction, x), {0, 0}, reduction);
        check_nest(maker.nest, {4 * columns}, {1, columns + 2, 1}, sizes.symbols);
      }
    }
  }
}

TEST_F(CompiledNests, AccumulateInGroups) {
  for (const auto& [reduction, dtype] : kReductions) {
    for (const size_t columns : {1, 5, 32, 70}) {
      const auto c = static_cast<int64_t>(columns);
      NestMaker maker({2, 3, 4}, c, 1);
      const uint32_t x = maker.load(dtype, {12 * c, 4 * c, c, 1});
      maker.result(x, {1, 0, 0, 0}, reduction);
      maker.result(x, {c, 0, 0, 1}, reduction);
      maker.result(x, {2 * c, 0, 0, 2}, reduction);
      maker.result(maker.reduce(reduction, x), {1, 0, 0, 0}, reduction);
      check_nest(maker.nest, {24 * columns}, {2, 2 * columns, 4 * columns, 2});
    }
  }
}

TEST_F(CompiledNests, AccumulateEachRowByItself) {
  NestMaker maker({5}, kColumns);
  const uint32_t x = maker.load(DType::f32, {kColumns, 1});
  maker.result(maker.compute("square", {x}), {1, 0}, Reduction::sum);
  check_nest(maker.nest, {5 * 67}, {5}, {{kColumns, 67}});
}

TEST_F(CompiledNests, KeepNanInExtremes) {
  NestMaker maker({kRows}, kColumns, 0);
  const uint32_t x = maker.load(DType::f32, {kColumns, 1});
  maker.result(x, {0, 0}, Reduction::maximum);
  maker.result(x, {0, 1}, Reduction::minimum);
  const SymbolMap<int64_t> symbols = {{kRows, 3}, {kColumns, 50}};
  for (const size_t place : {0, 17, 49, 50, 99, 149}) {
    std::vector<float> values = random_numbers<float>(150, 3);
    values[place] = std::numeric_limits<float>::quiet_NaN();
    const Elements in = Elements::of(values);
    for (const std::string& level : cpu_levels()) {
      const AtLevel at(level);
      Elements most(DType::f32, 1), least(DType::f32, 50);
      compile_and_run(maker.nest, {&in}, {&most, &least}, symbols);
      EXPECT_TRUE(std::isnan(most.at<float>(0)));
      for (size_t i = 0; i < 50; ++i) {
        EXPECT_EQ(std::isnan(least.at<float>(i)), i == place % 50) << i;
      }
    }
  }
}

// A call without rows still initialises its totals.
TEST_F(CompiledNests, BeginTotalsWithoutRows) {
  NestMaker maker({kRows}, 5, 0);
  const uint32_t x = maker.load(DType::f32, {5, 1});
  maker.result(x, {0, 1}, Reduction::sum);
  maker.result(x, {0, 0}, Reduction::maximum);
  check_nest(maker.nest, {0}, {5, 1}, {{kRows, 0}});
}

// ---- Narrow floats.

TEST_F(CompiledNests, RoundWhereTheUserCasts) {
  NestMaker maker({}, kColumns);
  const uint32_t x = maker.load(DType::f32, {1});
  const uint32_t rounded = maker.convert(maker.convert(x, DType::bf16), DType::f32);
  maker.result(maker.compute("subtract", {x, rounded}), {1});
  check_nest(maker.nest, {100}, {100}, {{kColumns, 100}});
}

// Between operations they are f32: 1 + 2^-9 - 1 is 2^-9, rounded once.
TEST_F(CompiledNests, RoundNarrowFloatsOnce) {
  NestMaker maker({}, 20);
  const uint32_t x = maker.load(DType::bf16, {1});
  const uint32_t tiny = maker.number(DType::bf16, 0x1p-9);
  const uint32_t sum = maker.compute("add", {x, tiny});
  maker.result(maker.compute("subtract", {sum, x}), {1});
  const Elements in = Elements::of(std::vector<BFloat16>(20, BFloat16(1.0F)));
  Elements out(DType::bf16, 20);
  compile_and_run(maker.nest, {&in}, {&out});
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(static_cast<float>(out.at<BFloat16>(i)), 0x1p-9F);
}

// ---- Texts.

TEST(NestText, DoesNotDependOnTheNamesOfSizes) {
  const auto nest_of = [](const char* name, const char* other) {
    const Dim n = Dim::symbol(name), m = Dim::symbol(other);
    NestMaker maker({n}, m);
    maker.result(maker.compute("exp", {maker.load(DType::f32, {m, 1})}), {m, 1});
    return maker.nest;
  };
  register_all();
  EXPECT_EQ(nest_of("n", "m").text(), nest_of("a", "b").text());
  EXPECT_EQ(nest_of("n", "m").text(), nest_of("m", "n").text());
  EXPECT_NE(nest_of("n", "m").text(), nest_of("n", "n").text());
  EXPECT_EQ(nest_of("n", "m").text(),
            "nest over s0 x s1\n"
            "parameter 0: f32\n"
            "%0 = f32 load 0 at [0; s1 1]\n"
            "%1 = f32 exp %0\n"
            "result %1 at [0; s1 1]\n");
}

}  // namespace
}  // namespace plait::nest_test
