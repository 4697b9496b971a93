// Loop nests on the emulated device compared with point-by-point evaluation; their texts by the
// real NVRTC, where it is installed.
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/cuda/inside/device/device_address.h"
#include "plait/cuda/inside/kernels/special_text.h"
#include "plait/cuda/inside/nests/nest_kernel.h"
#include "plait/cuda/inside/nests/operations.h"
#include "plait/ops/inside/primitives.h"
#include "plait/ops/register_all.h"

#include "tests/cuda/cuda_support.h"
#include "tests/cuda/nvidias_compiler.h"
#include "tests/support/random_nest.h"

namespace plait::cuda_test::nests {
namespace {

using namespace nest_test;
using ir::Reduction;

class CudaNests : public CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    register_all();
  }
};

Array bytes_of(const Elements& elements) {
  const auto bytes = static_cast<int64_t>(elements.count() * elements.size());
  Array array = Array::empty(DType::u8, {bytes});
  if (bytes > 0) std::memcpy(array.writable_data(), elements.data(), static_cast<size_t>(bytes));
  return array.on(kDevice);
}
void run_nest(const Nest& nest, const std::vector<Elements>& parameters,
              std::vector<Elements>& results, const SymbolMap<int64_t>& symbols) {
  const cuda::NestKernel kernel(nest, {});
  std::vector<int64_t> sizes;
  for (const Dim size : kernel.sizes()) sizes.push_back(size.evaluate(symbols));
  std::vector<Array> memory;
  std::vector<cuda::NestParameter> from;
  std::vector<cuda::Address> to;
  for (const Elements& each : parameters) {
    memory.push_back(bytes_of(each));
    from.push_back({.address = cuda::address_of(memory.back())});
  }
  const size_t first = memory.size();
  for (const Elements& each : results) {
    memory.push_back(bytes_of(each));
    to.push_back(cuda::address_of(memory.back()));
  }
  kernel.run(cuda::cuda_device(0), sizes, from, to);
  for (size_t r = 0; r < results.size(); ++r) {
    const Array here = memory[first + r].on_host();
    std::memcpy(results[r].data(), here.data(), static_cast<size_t>(here.element_count()));
  }
}

void check_on_device(const Nest& nest, const std::vector<size_t>& parameter_counts,
                     const std::vector<size_t>& result_counts,
                     const SymbolMap<int64_t>& symbols = {}, double least_tolerance = 0) {
  std::vector<Elements> in, out, expected;
  for (size_t i = 0; i < parameter_counts.size(); ++i) {
    in.push_back(random_elements(nest.parameters[i], parameter_counts[i],
                                 static_cast<unsigned>(17 * i + parameter_counts[i])));
  }
  for (size_t i = 0; i < result_counts.size(); ++i) {
    expected.emplace_back(nest.values[nest.results[i].value].dtype, result_counts[i]);
  }
  out = expected;
  std::vector<const Elements*> from;
  std::vector<Elements*> to;
  for (const Elements& each : in) from.push_back(&each);
  for (Elements& each : expected) to.push_back(&each);
  run_reference(nest, from, to, symbols);
  run_nest(nest, in, out, symbols);
  for (size_t r = 0; r < out.size(); ++r) {
    const DType dtype = out[r].dtype();
    const double tolerance = std::max(relative_error_of(dtype), least_tolerance);
    for (size_t i = 0; i < out[r].count(); ++i) {
      const double x = real_of(dtype, out[r].element(i)),
                   y = real_of(dtype, expected[r].element(i));
      ASSERT_TRUE(is_close(x, y, tolerance, tolerance))
          << "result " << r << " at " << i << " is " << x << " instead of " << y << " of\n"
          << nest.text();
    }
  }
}

TEST_F(CudaNests, RandomOnesComputeWhatTheirPointsDo) {
  const unsigned count = std::getenv("PLAIT_TEST_ALL") != nullptr ? 150 : 12;
  for (unsigned seed = 0; seed < count; ++seed) {
    SCOPED_TRACE(seed);
    RandomNest random(seed);
    random.fill();
    check_on_device(random.nest(), random.parameter_counts(), random.result_counts(),
                    random.symbols(), random.tolerance());
    if (HasFatalFailure() || HasNonfatalFailure()) return;
  }
}

const Dim kRows = Dim::symbol("r"), kColumns = Dim::symbol("c");

// The gradient of a normalisation: each row's sums, and sums over rows for each column and over
// all.
Nest backward_nest(DType dtype) {
  NestMaker maker({kRows}, kColumns, 0);
  const uint32_t x = maker.load(dtype, {kColumns, 1}), y = maker.load(dtype, {kColumns, 1});
  const uint32_t product = maker.compute("multiply", {maker.compute("tanh", {x}), y});
  const uint32_t total = maker.reduce(Reduction::sum, product);
  const uint32_t mean = maker.compute("divide", {total, maker.size(dtype, maker.nest.columns)});
  const uint32_t centred = maker.compute("subtract", {product, mean});
  maker.result(centred, {kColumns, 1});
  maker.result(mean, {1, 0});
  maker.result(centred, {0, 1}, Reduction::sum);
  maker.result(product, {0, 0}, Reduction::sum);
  maker.result(mean, {0, 0}, Reduction::maximum);
  return maker.nest;
}

TEST_F(CudaNests, RowsAndColumns) {
  for (const auto& [rows, columns] : std::vector<std::pair<size_t, size_t>>{
           {1, 1}, {70, 33}, {40, 512}, {33, 513}, {3, 1100}, {0, 7}}) {
    check_on_device(
        backward_nest(DType::f32), {rows * columns, rows * columns},
        {rows * columns, rows, columns, 1, 1},
        {{kRows, static_cast<int64_t>(rows)}, {kColumns, static_cast<int64_t>(columns)}}, 1e-4);
    if (HasFatalFailure()) return;
  }
}

// The values that are kept for the second stage do not fit into shared memory.
TEST_F(CudaNests, LongRowsAreComputedAgain) {
  NestMaker maker({kRows}, kColumns);
  const uint32_t x = maker.compute("exp", {maker.load(DType::f64, {kColumns, 1})});
  maker.result(maker.compute("divide", {x, maker.reduce(Reduction::sum, x)}), {kColumns, 1});
  for (const size_t columns : {100, 2000, 30000}) {
    check_on_device(maker.nest, {2 * columns}, {2 * columns},
                    {{kRows, 2}, {kColumns, static_cast<int64_t>(columns)}});
    if (HasFatalFailure()) return;
  }
}

// The same result is written in place of the parameter.
TEST_F(CudaNests, LongRowsInPlace) {
  NestMaker maker({kRows}, kColumns);
  const uint32_t x = maker.load(DType::f64, {kColumns, 1});
  const uint32_t y = maker.compute("exp", {x});
  const uint32_t z = maker.compute("divide", {y, maker.reduce(Reduction::sum, y)});
  maker.result(z, {kColumns, 1});
  maker.result(maker.compute("multiply", {y, maker.reduce(Reduction::maximum, z)}), {kColumns, 1});
  constexpr int64_t kCount = 30000;
  const cuda::NestKernel kernel(maker.nest, {});
  const Array from = numbers(DType::f64, {kCount}).on(kDevice);
  Array apart = Array::empty_on(kDevice, DType::f64, {kCount}), other = from.copy();
  Array second = Array::empty_on(kDevice, DType::f64, {kCount});
  std::vector<int64_t> sizes;
  for (const Dim size : kernel.sizes()) {
    sizes.push_back(size.evaluate({{kRows, 1}, {kColumns, kCount}}));
  }
  const auto run = [&](const Array& x_of, const Array& first) {
    const cuda::NestParameter parameter{.address = cuda::address_of(x_of)};
    const cuda::Address to[] = {cuda::address_of(first), cuda::address_of(second)};
    kernel.run(cuda::cuda_device(0), sizes, {&parameter, 1}, to);
    return second.on_host();
  };
  const Array expected = run(from, apart);
  expect_same(run(other, other), expected, "second result");
  expect_same(other, apart.on_host(), "first result");
}

// A number of each row, which all lanes read, is overwritten by its sum.
TEST_F(CudaNests, SumsOfRowsInPlace) {
  NestMaker maker({kRows}, kColumns);
  const uint32_t x = maker.load(DType::f32, {kColumns, 1}), scale = maker.load(DType::f32, {1, 0});
  maker.result(maker.reduce(Reduction::sum, maker.compute("multiply", {x, scale})), {1, 0});
  const cuda::NestKernel kernel(maker.nest, {});
  for (const int64_t columns : {40, 700, 5000}) {
    constexpr int64_t kCount = 9;
    const Array rows = numbers(DType::f32, {kCount, columns}).on(kDevice);
    const Array scales = numbers(DType::f32, {kCount}).on(kDevice), in_place = scales.copy();
    const Array apart = Array::empty_on(kDevice, DType::f32, {kCount});
    std::vector<int64_t> sizes;
    for (const Dim size : kernel.sizes()) {
      sizes.push_back(size.evaluate({{kRows, kCount}, {kColumns, columns}}));
    }
    const auto run = [&](const Array& factors, const Array& out) {
      const cuda::NestParameter from[] = {{.address = cuda::address_of(rows)},
                                          {.address = cuda::address_of(factors)}};
      const cuda::Address to[] = {cuda::address_of(out)};
      kernel.run(cuda::cuda_device(0), sizes, from, to);
      return out.on_host();
    };
    const Array expected = run(scales, apart);
    expect_same(run(in_place, in_place), expected, fmt::format("{} columns", columns));
  }
}

TEST_F(CudaNests, GroupsOfRows) {
  const Dim groups = Dim::symbol("g");
  NestMaker maker({groups, kRows}, kColumns, 1);
  const uint32_t x = maker.load(DType::f32, {kRows * kColumns, kColumns, 1});
  maker.result(x, {kColumns, 0, 1}, Reduction::sum);
  maker.result(x, {1, 0, 0}, Reduction::maximum);
  maker.result(maker.compute("negative", {x}), {kRows * kColumns, kColumns, 1});
  for (const auto& [g, r, c] :
       std::vector<std::array<int64_t, 3>>{{1, 1, 1}, {3, 5, 40}, {2, 300, 7}, {5, 9, 130}}) {
    const auto count = static_cast<size_t>(g * r * c);
    check_on_device(maker.nest, {count},
                    {static_cast<size_t>(g * c), static_cast<size_t>(g), count},
                    {{groups, g}, {kRows, r}, {kColumns, c}}, 1e-4);
    if (HasFatalFailure()) return;
  }
}

TEST_F(CudaNests, DomainsAreNotReadOutside) {
  NestMaker maker({kRows}, kColumns);
  const uint32_t x = maker.load(DType::f32, {7, 1}, -9);
  maker.nest.values[x].domains = {{0, 1, 4}, {1, 2, 9}};
  maker.nest.values[x].number = Element::of(0.5);
  maker.result(x, {kColumns, 1});
  check_on_device(maker.nest, {21}, {5 * 12}, {{kRows, 5}, {kColumns, 12}});
}

// The real compiler, where there is one.
class CudaTexts : public testing::Test {
 protected:
  void SetUp() override {
    register_all();
    nvrtc_ = nvidias_compiler();
    if (!nvrtc_) GTEST_SKIP() << "NVRTC is not installed";
  }
  void compile(const cuda::KernelText& text, std::initializer_list<int> architectures) {
    for (const int architecture : architectures) {
      EXPECT_FALSE(cuda::compile_text(*nvrtc_, text, architecture).empty());
    }
  }

  std::optional<cuda::Nvrtc> nvrtc_;
};

// All operations of one dtype, in one kernel.
cuda::KernelText operations_of(DType dtype) {
  std::string body;
  std::vector<std::string_view> special;
  const auto add = [&](const ir::Primitive& primitive, size_t count, DType result) {
    const bool is_select = &primitive == &select_primitive();
    std::vector<std::string> operands(count, "x");
    const std::vector<DType> dtypes(count, dtype);
    if (is_select) operands[0] = "op::equal(x, y)";
    if (!cuda::computes(primitive, dtypes, result)) return;
    if (cuda::has_special_text(primitive.name)) special.push_back(primitive.name);
    body += fmt::format("  ((Memory<{0}>::Value*)out)[i] = {1};\n", cuda::memory_type(result),
                        cuda::operation_text(primitive, result, operands, dtypes));
  };
  for (const ir::Primitive* primitive : ir::primitives()) {
    if (primitive->elementwise == ir::Elementwise::no || !primitive->takes.contains(dtype))
      continue;
    add(*primitive, primitive->operands.least,
        ir::elementwise_result(primitive->elementwise, dtype));
  }
  for (const DTypeInfo& info : kDTypes) {
    if (info.kind != DTypeKind::key) add(convert_primitive(), 1, info.dtype);
  }
  const std::string name = fmt::format("all_{}", name_of(dtype));
  const std::string functions =
      special.empty() ? "" : cuda::special_text(special, dtype == DType::f64);
  return {name, functions +
                    fmt::format("extern \"C\" __global__ void {0}(const {1}* in, c128* out) {{\n"
                                "  const int i = threadIdx.x;\n"
                                "  const Memory<{1}>::Value x = read(in[i]), y = read(in[i + 1]);\n"
                                "{2}}}\n",
                                name, cuda::memory_type(dtype), body)};
}

TEST_F(CudaTexts, OperationsCompile) {
  for (const DTypeInfo& info : kDTypes) {
    const bool is_chosen = info.dtype == DType::f32 || info.dtype == DType::u8 ||
                           std::getenv("PLAIT_TEST_ALL") != nullptr;
    if (info.kind != DTypeKind::key && is_chosen) compile(operations_of(info.dtype), {90});
  }
}

TEST_F(CudaTexts, SchedulesCompile) {
  std::vector<Nest> nests = {backward_nest(DType::f16)};
  RandomNest random(3);
  random.fill();
  nests.push_back(random.nest());
  for (const Nest& nest : nests) {
    const std::vector<cuda::KernelText> texts = cuda::NestKernel(nest, {}).texts();
    for (const cuda::KernelText& text : texts) compile(text, {90});
    compile(texts.front(), {80});
  }
}

}  // namespace
}  // namespace plait::cuda_test::nests
