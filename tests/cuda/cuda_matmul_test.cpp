// Products on the emulated device (tests/cuda_emulator), compared with the CPU's.
#include <array>
#include <complex>
#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/cuda/inside/kernels/compile_text.h"
#include "plait/cuda/inside/products/cublaslt.h"
#include "plait/cuda/inside/products/device_product.h"
#include "plait/cuda/inside/products/f8_product.h"
#include "plait/cuda/inside/products/tiled_product.h"
#include "plait/plait.h"
#include "plait/tensor/inside/device_calls.h"

#include "tests/cuda/cuda_support.h"
#include "tests/cuda/nvidias_compiler.h"
#include "tests/support/errors.h"

namespace plait::cuda_matmul_test {
namespace {

using View = std::function<Layout(const Layout&)>;

const Device kFirst = cuda_test::kDevice, kSecond = cuda_test::kOtherDevice;

// An array on the host and the same on a device; views are taken of both.
struct Twin {
  Array host, there;

  Twin view(const View& change) const {
    return {host.view(change(host.layout())), there.view(change(there.layout()))};
  }
  Twin permuted(const std::vector<int64_t>& axes) const {
    return view([&](const Layout& layout) { return layout.permuted(axes); });
  }
  Twin sliced(int64_t axis, const Slice& slice) const {
    return view([&](const Layout& layout) { return layout.sliced(axis, slice); });
  }
  Twin broadcast_to(const Sizes& sizes) const {
    return view([&](const Layout& layout) { return layout.broadcast_to(sizes); });
  }
};

// Small integers, which have exact products in all dtypes.
Array small_integers(DType dtype, Sizes sizes) {
  Array parts = Array::empty(DType::f64, std::move(sizes));
  int64_t state = parts.element_count() + 1;
  for (double& each : parts.writable_elements<double>()) {
    state = (state * 1103515245 + 12345) % 2147483648;
    each = static_cast<double>(state / 65536 % 5 - 2);
  }
  if (!is_complex(dtype)) return parts.converted(dtype);
  Array complex = Array::empty(DType::c128, parts.sizes());
  const auto real = parts.elements<double>();
  for (size_t i = 0; i < real.size(); ++i) {
    complex.writable_elements<std::complex<double>>()[i] = {real[i], real[real.size() - 1 - i]};
  }
  return complex.converted(dtype);
}

Twin twin(DType dtype, Sizes sizes, Device device = kFirst) {
  const Array host = small_integers(dtype, std::move(sizes));
  return {host, host.on(device)};
}

Tensor product(const Array& a, const Array& b) { return matmul(Tensor(a), Tensor(b)); }

int64_t products_of_host() {
  for (const HostCalls& calls : host_calls()) {
    const std::string_view name = calls.primitive->name;
    if (name == "matmul") return calls.count;
  }
  return 0;
}

class CudaMatmul : public cuda_test::CudaTest {
 protected:
  void SetUp() override {
    CudaTest::SetUp();
    calls_before_ = products_of_host();
  }
  void TearDown() override {
    CudaTest::TearDown();
    EXPECT_EQ(products_of_host(), calls_before_);
  }

  void expect_equal(const Twin& a, const Twin& b) {
    const Tensor expected = product(a.host, b.host), found = product(a.there, b.there);
    EXPECT_EQ(found.array().device(), a.there.device());
    EXPECT_EQ(found.array().literal(), expected.array().literal())
        << name_of(a.host.dtype()) << text_of_sizes(a.host.sizes()) << " · "
        << text_of_sizes(b.host.sizes());
  }

 private:
  int64_t calls_before_ = 0;
};

constexpr DType kProducts[] = {DType::f64,  DType::f32, DType::f16,
                               DType::bf16, DType::c64, DType::c128};
constexpr DType kTiled[] = {DType::i8, DType::i64, DType::f8e5m2};

TEST_F(CudaMatmul, EveryDTypeTransposedAndNot) {
  constexpr std::array<int64_t, 3> kSizes[] = {{1, 1, 1}, {1, 7, 1},   {5, 1, 1},
                                               {1, 1, 6}, {1, 9, 4},   {6, 9, 1},
                                               {3, 1, 5}, {17, 33, 9}, {64, 48, 8}};
  for (const DType dtype : kProducts) {
    for (const auto& [rows, steps, columns] : kSizes) {
      const Twin a = twin(dtype, {rows, steps}), b = twin(dtype, {steps, columns});
      const Twin a_turned = twin(dtype, {steps, rows}).permuted({1, 0});
      const Twin b_turned = twin(dtype, {columns, steps}).permuted({1, 0});
      expect_equal(a, b);
      expect_equal(a, b_turned);
      expect_equal(a_turned, b);
      expect_equal(a_turned, b_turned);
    }
  }
}

TEST_F(CudaMatmul, IntegersAndFloatsOf8Bits) {
  for (const DType dtype : kTiled) {
    for (const int64_t size : {16, 33}) {
      const Twin a = twin(dtype, {size, 19}), b = twin(dtype, {19, size + 2});
      const Twin b_turned = twin(dtype, {size + 2, 19}).permuted({1, 0});
      expect_equal(a, b);
      expect_equal(a, b_turned);
      expect_equal(a.sliced(0, {.step = -2}), b.sliced(1, {.step = 3}));
    }
    expect_equal(twin(dtype, {3, 2, 17, 5}).permuted({1, 0, 2, 3}), twin(dtype, {2, 1, 5, 18}));
    expect_equal(twin(dtype, {3, 0}), twin(dtype, {0, 4}));
    expect_equal(twin(dtype, {0, 3}), twin(dtype, {3, 4}));
  }
}

// Both operands contiguous along k, in units of 16: the layout of FP8 tensor cores.
TEST_F(CudaMatmul, FloatsOf8BitsByCublasLt) {
  const Twin a = twin(DType::f8e4m3, {5, 32}), b = twin(DType::f8e4m3, {48, 32}).permuted({1, 0});
  Array out = Array::empty_on(kFirst, DType::f8e4m3, {5, 48});
  EXPECT_TRUE(cuda::multiply_f8(cuda::cuda_device(0), a.there, b.there, out));
  EXPECT_EQ(out.literal(), product(a.host, b.host).array().literal());
  const Twin row = a.sliced(1, {.start = 1, .stop = 17}), column = b.sliced(0, {.stop = 16});
  EXPECT_FALSE(cuda::multiply_f8(cuda::cuda_device(0), row.there, column.there, out));
  expect_equal(row, column);
  const Twin x = twin(DType::f8e4m3, {3, 2, 4, 16});
  const Twin y = twin(DType::f8e4m3, {2, 3, 32, 16}).permuted({1, 0, 3, 2});
  Array batch = Array::empty_on(kFirst, DType::f8e4m3, {3, 2, 4, 32});
  EXPECT_TRUE(cuda::multiply_f8(cuda::cuda_device(0), x.there, y.there, batch));
  EXPECT_EQ(batch.literal(), product(x.host, y.host).array().literal());
  const Array most = Array::filled(DType::f8e4m3, {16, 16}, Element::of(256.0));
  const Array there = most.on(kFirst);
  const auto turned = [](const Array& x) {
    return x.view(x.layout().permuted(std::array<int64_t, 2>{1, 0}));
  };
  EXPECT_EQ(text_of(product(there, turned(there)).array().on_host()),
            text_of(product(most, turned(most)).array()));  // not saturated
}

TEST_F(CudaMatmul, IntegersWrap) {
  for (const DType dtype : {DType::i8, DType::i64}) {
    const Array most = Array::filled(dtype, {2, 3}, Element::of(100.0));
    Tensor x(most), y(most.on(kFirst));
    for (int i = 0; i < 5; ++i) {
      x = matmul(x, matrix_transpose(x));
      y = matmul(y, matrix_transpose(y));
    }
    EXPECT_EQ(y.array().literal(), x.array().literal()) << name_of(dtype);
  }
}

// Products that cuBLASLt declines.
TEST_F(CudaMatmul, TilesMultiplyFloatsAndComplexNumbers) {
  for (const DType dtype : {DType::f64, DType::bf16, DType::c64}) {
    const Twin a = twin(dtype, {2, 21, 35}), b = twin(dtype, {2, 35, 18});
    const Twin c = twin(dtype, {35, 21}).permuted({1, 0});
    for (const auto& [left, right] :
         {std::pair(a, b),
          std::pair(c, b.view([](const Layout& all) { return all.picked(0, 1); }))}) {
      Sizes sizes = left.host.sizes();
      sizes[sizes.size() - 1] = 18;
      Array out = Array::empty_on(kFirst, dtype, sizes);
      cuda::multiply_by_tiles(cuda::cuda_device(0), left.there, right.there, out);
      EXPECT_EQ(out.literal(), product(left.host, right.host).array().literal()) << name_of(dtype);
    }
  }
}

// Sums of narrow floats may stay in f32, by both.
TEST_F(CudaMatmul, SumsOfNarrowFloats) {
  for (const DType dtype : {DType::f16, DType::bf16}) {
    const Array row = Array::filled(dtype, {1, 3000}, Element::of(1.5));
    const Array a = row.on(kFirst);
    const Array b = a.view(a.layout().permuted(std::array<int64_t, 2>{1, 0}));
    Array sum = Array::empty_on(kFirst, DType::f32, {1, 1});
    cuda::multiply(cuda::cuda_device(0), a, b, sum);
    EXPECT_EQ(sum.element().number.real(), 6750);
    cuda::fill_with_zeros(cuda::cuda_device(0), sum);
    cuda::multiply_by_tiles(cuda::cuda_device(0), a, b, sum);
    EXPECT_EQ(sum.element().number.real(), 6750);
  }
}

TEST_F(CudaMatmul, TilesGiveTheSameBitsInEachOrderOfThreads) {
  const Tensor a = sin(Tensor(twin(DType::f32, {33, 20}).host) * 1.3f);
  const auto multiplied = [&](int order) {
    set_order(order);
    const Array there = a.array().on(kFirst);
    const Array turned = there.view(there.layout().permuted(std::array<int64_t, 2>{1, 0}));
    Array out = Array::empty_on(kFirst, DType::f32, {33, 33});
    cuda::multiply_by_tiles(cuda::cuda_device(0), there, turned, out);
    return out.literal();
  };
  const Literal in_order = multiplied(0);
  for (const int order : {1, 7, 0}) EXPECT_EQ(multiplied(order), in_order);
}

TEST(TiledProduct, CompilesByNvrtc) {
  const auto nvrtc = cuda_test::nvidias_compiler();
  if (!nvrtc) GTEST_SKIP() << "NVRTC is not installed";
  for (const DType dtype : {DType::i8, DType::u64, DType::f8e5m2, DType::bf16, DType::c128}) {
    const int each = is_complex(dtype) ? cuda::kSmallTiles : cuda::kLargeTiles;
    const cuda::KernelText text{cuda::kTiledProduct, cuda::tiled_product_text(dtype, dtype, each)};
    EXPECT_FALSE(cuda::compile_text(*nvrtc, text, 90).empty()) << name_of(dtype);
  }
  EXPECT_FALSE(cuda::compile_text(*nvrtc, {cuda::kRoundSums, cuda::kRoundSumsText}, 90).empty());
}

TEST_F(CudaMatmul, EmptySizes) {
  for (const DType dtype : kProducts) {
    expect_equal(twin(dtype, {3, 0}), twin(dtype, {0, 4}));
    expect_equal(twin(dtype, {0, 3}), twin(dtype, {3, 4}));
    expect_equal(twin(dtype, {2, 3}), twin(dtype, {3, 0}));
    expect_equal(twin(dtype, {0, 2, 3}), twin(dtype, {0, 3, 2}));
    expect_equal(twin(dtype, {2, 3, 0}), twin(dtype, {2, 0, 2}));
  }
}

TEST_F(CudaMatmul, OffsetsStepsAndReversedAxes) {
  for (const DType dtype : {DType::f16, DType::c128}) {
    const Twin a = twin(dtype, {20, 24}), b = twin(dtype, {24, 18});
    const auto from = [](int64_t start) { return Slice{.start = start}; };
    for (const int64_t start : {1, 2, 3, 8}) {
      expect_equal(a.sliced(1, from(start)), b.sliced(0, from(start)));
      expect_equal(a.sliced(0, from(start)), b.sliced(1, from(start)));
    }
    const Slice even{.step = 2}, back{.step = -1};
    expect_equal(a.sliced(0, even), b.sliced(1, even));
    expect_equal(a.sliced(1, even), b.sliced(0, even));
    expect_equal(a.sliced(1, even).sliced(0, even), b.sliced(0, even));
    expect_equal(a.sliced(0, back), b.sliced(1, back));
    expect_equal(a.sliced(1, back), b.sliced(0, back));
    expect_equal(twin(dtype, {1, 24}).broadcast_to({20, 24}), b);
    expect_equal(twin(dtype, {20, 1}).broadcast_to({20, 24}), b.sliced(1, {.stop = 1}));
    expect_equal(a.sliced(1, {.start = 3, .stop = 4}), b.sliced(0, {.stop = 1}));
    expect_equal(b.sliced(1, {.start = 5, .stop = 6}).permuted({1, 0}), b);
  }
}

TEST_F(CudaMatmul, Batches) {
  for (const DType dtype : kProducts) {
    const Twin a = twin(dtype, {2, 3, 4, 5}), b = twin(dtype, {2, 3, 5, 6});
    expect_equal(a, b);
    expect_equal(a.permuted({1, 0, 2, 3}), b.permuted({1, 0, 2, 3}));
    expect_equal(a.sliced(0, {.step = -1}), b.sliced(1, {.step = -1}));
    expect_equal(a.sliced(1, {.step = 2}), b.sliced(1, {.step = 2}));
    expect_equal(a, twin(dtype, {3, 5, 6}));
    expect_equal(twin(dtype, {3, 4, 5}), b);
    expect_equal(twin(dtype, {2, 1, 4, 5}), twin(dtype, {3, 5, 6}));
    expect_equal(twin(dtype, {4, 5}), b);
    expect_equal(a, twin(dtype, {5, 6}));
    // Heads of attention: [batch, length, heads, width] as [batch, heads, length, width].
    const Twin q = twin(dtype, {6, 5, 2, 4}).permuted({0, 2, 1, 3});
    const Twin k = twin(dtype, {6, 5, 2, 4}).permuted({0, 2, 3, 1});
    expect_equal(q, k);
    expect_equal(q.permuted({0, 1, 3, 2}), k.permuted({0, 1, 3, 2}));
  }
}

TEST_F(CudaMatmul, BroadcastMatricesInABatch) {
  const auto b = twin(DType::f32, {5, 6});
  expect_equal(twin(DType::f32, {1, 4, 5}).broadcast_to({3, 4, 5}), b.broadcast_to({3, 5, 6}));
  expect_equal(twin(DType::f32, {1, 1, 5}).broadcast_to({3, 1, 5}), b.broadcast_to({3, 5, 6}));
  expect_equal(twin(DType::f32, {3, 1, 5}).broadcast_to({3, 4, 5}), b.broadcast_to({3, 5, 6}));
  const Twin x = twin(DType::f32, {7, 1, 4, 5}), y = twin(DType::f32, {1, 3, 5, 6});
  expect_equal(x.broadcast_to({7, 3, 4, 5}), y.broadcast_to({7, 3, 5, 6}));
  expect_equal(twin(DType::f32, {3, 1, 5}).sliced(0, {.step = -1}), b.broadcast_to({3, 5, 6}));
}

TEST_F(CudaMatmul, BatchesBeyondOneCall) {
  expect_equal(twin(DType::f32, {66000, 1, 1}), twin(DType::f32, {66000, 1, 1}));
}

TEST_F(CudaMatmul, VectorsAndHostScalars) {
  const Twin v = twin(DType::f32, {7}), m = twin(DType::f32, {7, 4});
  expect_equal(v, v);
  expect_equal(v, m);
  expect_equal(m.permuted({1, 0}), v);
  const Array ones = Array::filled(DType::f32, {}, Element::of(1.0));
  const Array many = ones.view(ones.layout().broadcast_to(Sizes{4, 3}));
  EXPECT_EQ(product(m.there, many).array().literal(), product(m.host, many).array().literal());
}

TEST_F(CudaMatmul, EqualCallsGiveEqualBits) {
  const Array a = sin(Tensor(twin(DType::f32, {33, 129}).host) * 1.3f).array();
  const Array there = a.on(kFirst);
  const Array turned = there.view(there.layout().permuted(std::array<int64_t, 2>{1, 0}));
  const Literal first = product(there, turned).array().literal();
  EXPECT_EQ(product(there, turned).array().literal(), first);
}

TEST_F(CudaMatmul, PrecisionOfFloat32IsASetting) {
  const Array a = Array::filled_on(kFirst, DType::f32, {1, 1}, Element::of(1 + 0x1p-12));
  const Array one = Array::filled_on(kFirst, DType::f32, {1, 1}, Element::of(1.0));
  const auto number = [&] { return product(a, one).array().element().number.real(); };
  EXPECT_EQ(number(), 1 + 0x1p-12);
  set_setting("float32_matmul_precision", "high");
  EXPECT_EQ(number(), 1);
  reset_setting("float32_matmul_precision");
  EXPECT_EQ(number(), 1 + 0x1p-12);
}

struct Pair {
  Tensor first, second;
};

TEST_F(CudaMatmul, Gradients) {
  const auto loss = [](const Pair& p) {
    const Tensor y = matmul(p.first, p.second);
    return sum(y * y);
  };
  for (const bool is_batched : {false, true}) {
    const Twin a = is_batched ? twin(DType::f32, {2, 4, 3}) : twin(DType::f32, {4, 3});
    const Twin b = is_batched ? twin(DType::f32, {2, 3, 5}) : twin(DType::f32, {3, 5});
    const Pair host{Tensor(a.host), Tensor(b.host)}, there{Tensor(a.there), Tensor(b.there)};
    const Pair expected = grad(loss)(host), found = grad(loss)(there);
    EXPECT_EQ(found.first.array().device(), kFirst);
    EXPECT_EQ(found.first.array().literal(), expected.first.array().literal());
    EXPECT_EQ(found.second.array().literal(), expected.second.array().literal());
  }
}

TEST_F(CudaMatmul, ThreadsAndTwoDevices) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      const Device device = t % 2 == 0 ? kFirst : kSecond;
      const Twin a = twin(DType::f32, {30, 20}, device), b = twin(DType::f32, {20, 10}, device);
      for (int64_t rows = 1; rows <= 30; ++rows) expect_equal(a.sliced(0, {.stop = rows}), b);
    });
  }
  for (std::thread& each : threads) each.join();
}

TEST_F(CudaMatmul, RaggedProducts) {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Twin rows = twin(dtype, {12, 5}), matrices = twin(dtype, {4, 5, 6});
    const Twin others = twin(dtype, {12, 3});
    const std::vector<int32_t> counts = {3, 0, 5, 2};
    const Array host = Array::of<int32_t>(counts, {4}), there = host.on(kFirst);
    EXPECT_EQ(
        ragged_dot(Tensor(rows.there), Tensor(matrices.there), Tensor(there)).array().literal(),
        ragged_dot(Tensor(rows.host), Tensor(matrices.host), Tensor(host)).array().literal());
    EXPECT_EQ(
        ragged_outer(Tensor(rows.there), Tensor(others.there), Tensor(there)).array().literal(),
        ragged_outer(Tensor(rows.host), Tensor(others.host), Tensor(host)).array().literal());
    const std::vector<int32_t> many = {3, 0, 9, 2};
    const Tensor bad(Array::of<int32_t>(many, {4}).on(kFirst));
    expect_contains(message_of<ValueError>(
                        [&] { (void)ragged_dot(Tensor(rows.there), Tensor(matrices.there), bad); }),
                    {"group 3 has 2 rows, but 0 of 12 are left"});
  }
}

TEST(CublasLt, AMissingLibraryIsNamed) {
  expect_contains(what_of<DeviceError>([] { (void)cuda::open_cublaslt("/nowhere/cublas.so"); }),
                  {"cuBLASLt for CUDA devices cannot be loaded", "/nowhere/cublas.so",
                   "pip install nvidia-cublas-cu12", "setting cublaslt"});
}

TEST(CublasLt, NvidiasLibraryHasAllFunctions) {
  for (const std::string& path : cuda::library_paths(cuda::cublaslt_names())) {
    if (!std::filesystem::exists(path)) continue;
    const cuda::CublasLt lt = cuda::open_cublaslt(path);
    EXPECT_GE(lt.get_version(), 120000);
    EXPECT_STREQ(lt.get_status_name(cuda::kProductUnsupported), "CUBLAS_STATUS_NOT_SUPPORTED");
    return;
  }
  GTEST_SKIP() << "cuBLASLt is not installed";
}

}  // namespace
}  // namespace plait::cuda_matmul_test
