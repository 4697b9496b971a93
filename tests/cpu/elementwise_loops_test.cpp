// Which loops exist, and whether they handle all layouts.
#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "plait/core/error.h"
#include "plait/cpu/inside/elementwise/cpu_elementwise.h"
#include "plait/cpu/inside/elementwise/cpu_loops.h"
#include "plait/ir/primitive.h"
#include "plait/ops/register_all.h"

#include "tests/cpu/elementwise_support.h"
#include "tests/support/threads.h"

namespace plait::elementwise_test {
namespace {

TEST(ElementwiseLoops, EachIsThereForItsDtypes) {
  const std::string floats = "f64 f32 f16 bf16 f8e4m3 f8e5m2 ";
  const std::string integers = "i8 i16 i32 i64 u8 u16 u32 u64 ", complex = "c64 c128 ";
  const std::string numbers = floats + integers + complex, boolean = "bool ";
  const std::map<std::string, std::string> dtypes_of = {
      {numbers, "negative absolute sign square is_nan is_infinite is_finite power subtract"},
      {numbers + boolean, "add multiply"},
      {floats + complex,
       "reciprocal sqrt rsqrt exp log sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
       "divide"},
      {floats,
       "expm1 exp2 log2 log10 log1p sigmoid erf erfc erfinv lgamma digamma floor ceil round trunc "
       "atan2 hypot logaddexp copysign nextafter polygamma logaddexp2 entr log1mexp ldexp exponent "
       "erfcx ndtr "
       "log_ndtr ndtri i0 i0e i1 i1e zeta betaln gammainc gammaincc gamma_density gammainc_grad_a "
       "random_gamma_grad betainc betainc_grad_a betainc_grad_b beta_density"},
      {complex, "real imag conjugate"},
      {boolean, "logical_not"},
      {integers + boolean, "bitwise_not bitwise_and bitwise_or bitwise_xor"},
      {integers, "left_shift right_shift gcd lcm"},
      {floats + integers, "floor_divide remainder fmod clamp relu"},
      {floats + integers + boolean, "maximum minimum less less_equal"},
      {numbers + boolean + "key ", "equal not_equal select"}};
  std::set<std::pair<std::string, DType>> listed;
  for (const auto& [dtypes, ops] : dtypes_of) {
    std::istringstream names(ops);
    for (std::string op; names >> op;) {
      for (const DTypeInfo& info : kDTypes) {
        const bool expected = dtypes.find(std::string(info.name) + ' ') != std::string::npos;
        EXPECT_EQ(find_elementwise_loop(op, info.dtype) != nullptr, expected)
            << op << ' ' << info.name;
        if (expected) listed.emplace(op, info.dtype);
      }
    }
  }
  register_all();
  for (const ir::Primitive* primitive : ir::primitives()) {
    for (const DTypeInfo& info : kDTypes) {
      EXPECT_EQ(find_elementwise_loop(primitive->name, info.dtype) != nullptr,
                listed.contains({primitive->name, info.dtype}))
          << primitive->name << ' ' << info.name;
    }
  }
  EXPECT_EQ(find_elementwise_loop("add_up", DType::f32), nullptr);
  EXPECT_EQ(find_elementwise_loop("", DType::f32), nullptr);
}

TEST(ElementwiseLoops, EachLevelHasEach) {
  register_all();
  const size_t levels = cpu_levels().size();
  size_t count = 0;
  for (const ir::Primitive* primitive : ir::primitives()) {
    for (const DTypeInfo& info : kDTypes) {
      const std::optional<size_t> number = cpu::find_loop(primitive->name, info.dtype);
      if (!number) continue;
      ++count;
      const cpu::Loop& loop = cpu::loop_at(*number);
      for (size_t level = 0; level < levels; ++level) {
        EXPECT_NE(loop.run[level], nullptr) << loop.op << ' ' << info.name;
        EXPECT_EQ(loop.widen[level] != nullptr, loop.widens) << loop.op << ' ' << info.name;
      }
    }
  }
  EXPECT_GT(count, 0);
}

TEST(ElementwiseLoops, TheSettingCapsTheLevel) {
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    EXPECT_EQ(cpu_level(), setting::kCpu.get());
  }
  const AtLevel at("best");
  EXPECT_EQ(cpu_level(), best_cpu_level());
}

// Counts around the lengths of vectors and blocks; each operand contiguous, strided, reversed,
// broadcast, or unaligned.
template <class T>
void check_strides(std::string_view op, T (*expected)(T, T)) {
  constexpr int64_t kSize = sizeof(T);
  const ElementwiseLoop loop = find_elementwise_loop(op, kDTypeOf<T>);
  ASSERT_NE(loop, nullptr);
  const auto at = [](const std::byte* data) {
    T value;
    std::memcpy(&value, data, sizeof value);
    return value;
  };
  std::vector<std::byte> a(80'000), b(80'000), out(80'000);
  std::mt19937 random(11);
  for (size_t i = 0; i + kSize <= a.size(); i += kSize) {
    const T x(static_cast<float>(random() % 100)), y(static_cast<float>(random() % 100 + 1));
    std::memcpy(a.data() + i, &x, kSize);
    std::memcpy(b.data() + i, &y, kSize);
  }
  for (const int64_t count : {0, 1, 3, 4, 7, 8, 15, 16, 17, 31, 33, 65, 511, 512, 513, 1200}) {
    for (const int64_t a_stride : {kSize, int64_t{0}, 2 * kSize, -kSize}) {
      for (const int64_t b_stride : {kSize, int64_t{0}, 3 * kSize}) {
        for (const int64_t out_stride : {kSize, 2 * kSize, -kSize}) {
          const int64_t middle = 1200 * kSize;
          const std::byte* in[] = {a.data() + middle, b.data()};
          const int64_t strides[] = {a_stride, b_stride};
          std::ranges::fill(out, std::byte{0x5a});
          loop(out.data() + middle, out_stride, in, strides, count);
          for (int64_t i = 0; i < count; ++i) {
            const T result = at(out.data() + middle + i * out_stride);
            ASSERT_TRUE(result == expected(at(in[0] + i * a_stride), at(in[1] + i * b_stride)))
                << op << ' ' << count << " elements, strides " << a_stride << ' ' << b_stride << ' '
                << out_stride;
          }
          const auto touched =
              std::ranges::count_if(out, [](std::byte x) { return x != std::byte{0x5a}; });
          ASSERT_LE(touched, count * kSize);
        }
      }
    }
  }
}

template <class T>
T narrow_sum(T a, T b) {
  return T(static_cast<float>(a) + static_cast<float>(b));
}

TEST(ElementwiseLoops, TakeAnyStrides) {
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    check_strides<float>("add", [](float a, float b) { return a + b; });
    check_strides<double>("divide", [](double a, double b) { return a / b; });
    check_strides<float>("hypot", [](float a, float b) {
      return static_cast<float>(std::sqrt(double{a} * a + double{b} * b));
    });
    check_strides<int8_t>("maximum", [](int8_t a, int8_t b) { return std::max(a, b); });
    check_strides<int64_t>("floor_divide", [](int64_t a, int64_t b) { return a / b; });
    check_strides<BFloat16>("add", narrow_sum<BFloat16>);
    check_strides<Float8E5M2>("add", narrow_sum<Float8E5M2>);
    check_strides<std::complex<double>>("add", [](auto a, auto b) { return a + b; });
  }
}

TEST(ElementwiseLoops, TakeElementsThatAreNotAligned) {
  std::vector<std::byte> bytes(4 * 100 + 1), result(4 * 100 + 1);
  for (size_t i = 0; i < 100; ++i) {
    const auto value = static_cast<float>(i);
    std::memcpy(bytes.data() + 1 + 4 * i, &value, 4);
  }
  const std::byte* in[] = {bytes.data() + 1};
  const int64_t strides[] = {4};
  find_elementwise_loop("square", DType::f32)(result.data() + 1, 4, in, strides, 100);
  for (size_t i = 0; i < 100; ++i) {
    float value = 0;
    std::memcpy(&value, result.data() + 1 + 4 * i, 4);
    ASSERT_EQ(value, static_cast<float>(i * i));
  }
}

TEST(ElementwiseLoops, MayWriteOverAnOperand) {
  for (const std::string& level : cpu_levels()) {
    const AtLevel at(level);
    for (const char* op : {"add", "tanh", "exp", "sqrt", "maximum"}) {
      std::vector<float> values(1003), same;
      std::iota(values.begin(), values.end(), 0.f);
      const ElementwiseLoop loop = find_elementwise_loop(op, DType::f32);
      const std::byte* in[] = {bytes_of(values), bytes_of(values)};
      const int64_t strides[] = {4, 4};
      same.resize(values.size());
      loop(reinterpret_cast<std::byte*>(same.data()), 4, in, strides, 1003);
      loop(reinterpret_cast<std::byte*>(values.data()), 4, in, strides, 1003);
      ASSERT_EQ(values, same) << op;
    }
  }
}

// Views of a cube of 12 x 50 x 70, whose elements are their flat indices.
Array cube() {
  Array array = Array::empty(DType::f32, {12, 50, 70});
  const auto elements = array.writable_elements<float>();
  std::iota(elements.begin(), elements.end(), 0.f);
  return array;
}

std::vector<float> values_of(const Array& array) {
  const Array dense = array.contiguous();
  const auto elements = dense.elements<float>();
  return {elements.begin(), elements.end()};
}

void check_sum(const Array& a, const Array& b, Array out) {
  const ElementwiseLoop add = find_elementwise_loop("add", DType::f32);
  const Array operands[] = {a, b};
  run_elementwise(add, operands, out);
  const auto x = values_of(a), y = values_of(b), sum = values_of(out);
  for (size_t i = 0; i < sum.size(); ++i) {
    ASSERT_EQ(sum[i], x[i] + y[i]) << i << " of " << text_of_sizes(out.sizes());
  }
}

std::vector<Array> views_of_cube() {
  const Array array = cube();
  const Layout& layout = array.layout();
  const std::vector<int64_t> turned = {2, 0, 1}, swapped = {0, 2, 1};
  return {array,
          array.view(layout.permuted(turned)),
          array.view(layout.permuted(swapped)),
          array.view(layout.reversed(2)),
          array.view(layout.sliced(2, {.start = 1, .stop = 64, .step = 3})),
          array.view(layout.sliced(0, {.start = 3, .stop = 4})),
          array.view(layout.sliced(1, {.start = 5, .stop = 5})),
          array.view(layout.picked(0, 2).picked(0, 3).picked(0, 4)),
          array.view(layout.sliced(2, {.start = 0, .stop = 3}).permuted(turned))};
}

TEST(RunElementwise, ReachesEveryLayout) {
  for (const Array& view : views_of_cube()) {
    const Layout& layout = view.layout();
    check_sum(view, view, Array::empty(DType::f32, view.sizes()));
    check_sum(view, Array::of(2.f).view(Layout{}.broadcast_to(view.sizes())),
              Array::empty(DType::f32, view.sizes()));
    if (view.rank() != 3) continue;
    // A broadcast row, a broadcast column, and a strided result.
    const Array row = view.view(layout.sliced(0, {.stop = 1}).sliced(1, {.stop = 1}));
    if (row.element_count() == 0) continue;
    check_sum(view, row.view(row.layout().broadcast_to(view.sizes())),
              Array::empty(DType::f32, view.sizes()));
    const Array column = view.view(layout.sliced(2, {.stop = 1}));
    check_sum(column.view(column.layout().broadcast_to(view.sizes())), view,
              Array::empty(DType::f32, view.sizes()));
    Sizes sizes = view.sizes();
    std::swap(sizes[0], sizes[2]);
    const std::vector<int64_t> mirrored = {2, 1, 0};
    const Array out = Array::empty(DType::f32, sizes);
    check_sum(view, view, out.view(out.layout().permuted(mirrored).reversed(1)));
  }
}

TEST(RunElementwise, SharesLargeArraysAmongThreads) {
  for (const int threads : {1, 2, 5}) {
    const Threads team(threads);
    const Array big = Array::filled(DType::f32, {700, 900}, Element::of(1.5));
    const std::vector<int64_t> turned = {1, 0};
    const Array other = Array::filled(DType::f32, {900, 700}, Element::of(2.0));
    check_sum(big, big, Array::empty(DType::f32, {700, 900}));
    check_sum(big, other.view(other.layout().permuted(turned)),
              Array::empty(DType::f32, {700, 900}));
  }
}

TEST(RunElementwise, RefusesWhatDoesNotFit) {
  const ElementwiseLoop add = find_elementwise_loop("add", DType::f32);
  const Array one = Array::of(1.f), operands[] = {one, one};
  Array out = Array::empty(DType::f32, {2});
  EXPECT_THROW(run_elementwise(add, operands, out), ShapeError);
  EXPECT_THROW(run_elementwise(nullptr, operands, out), TypeError);
  EXPECT_THROW(run_elementwise(add, {}, out), ValueError);
}

}  // namespace
}  // namespace plait::elementwise_test
