// Weights that programs use repeatedly are packed once, and again after they have changed.
#include "plait/cpu/inside/products/kept_packings.h"

#include <string>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plait/compile/inside/running/compiled_access.h"
#include "plait/cpu/inside/libraries/library_product.h"
#include "plait/cpu/inside/products/bf16_product.h"
#include "plait/ops/arrays/create.h"

#include "tests/compile/as_evaluated.h"
#include "tests/support/threads.h"

namespace plait::compile {
namespace {

constexpr int64_t kSize = 320;

class KeptPackings : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    register_all();
    const bool is_packed_by_library =
        library_has_product(GetParam()) &&
        !(GetParam() == DType::bf16 && is_worth_bf16_kernels(256, kSize, kSize));
    if (!is_packed_by_library) GTEST_SKIP() << "no library packs products of this dtype";
    ASSERT_EQ(kept_packing_bytes(), 0);
  }
  Tensor matrix(uint64_t seed, int64_t rows = kSize, int64_t columns = kSize) const {
    return numbers({rows, columns}, seed, GetParam());
  }
  // Parses the text with the dtype in place of f32.
  static ir::Program typed(std::string text) {
    const std::string_view name = name_of(GetParam());
    for (size_t at = 0; (at = text.find("f32", at)) != std::string::npos; at += name.size()) {
      text.replace(at, 3, name);
    }
    return parsed(text);
  }
  static ir::Program product(std::string_view b = "f32[320, 320]",
                             std::string_view instructions = "%r = matmul %x, %w") {
    return typed(fmt::format(R"(
      func @main<n>(%x: f32[n, 320], %w: {}) -> (f32[n, 320]) {{
        {}
        return %r
      }})",
                             b, instructions));
  }
  // As if no program had used the weights.
  static Tensors fresh(const Compiled& compiled, const Tensor& x, const Tensor& w) {
    return compiled(Tensors{x, w + 0.});
  }
  int64_t bytes() const { return kSize * kSize * size_of(GetParam()); }
};

TEST_P(KeptPackings, GiveTheSameBits) {
  const Compiled compiled(product());
  const Tensor x = matrix(1), w = matrix(2);
  const Tensors wanted = fresh(compiled, x, w);
  for (int call = 0; call < 5; ++call) {
    expect_same_bits("again", compiled(Tensors{x, w}), wanted);
    EXPECT_EQ(kept_packing_bytes() >= bytes(), call > 1) << call;
  }
}

TEST_P(KeptPackings, AreReleasedWithTheWeights) {
  const Compiled compiled(product());
  const Tensor x = matrix(1);
  {
    const Tensor w = matrix(2);
    for (int call = 0; call < 3; ++call) compiled(Tensors{x, w});
    EXPECT_GE(kept_packing_bytes(), bytes());
  }
  EXPECT_EQ(kept_packing_bytes(), 0);
}

TEST_P(KeptPackings, ServeAnyNumberOfRows) {
  const Compiled compiled(product());
  const Tensor w = matrix(2);
  for (int call = 0; call < 3; ++call) compiled(Tensors{matrix(1), w});
  const int64_t kept = kept_packing_bytes();
  for (const int64_t rows : {0, 1, 130, 200, 201, 264, 700, 900}) {
    const Tensor x = matrix(static_cast<uint64_t>(rows), rows);
    expect_same_bits("other rows", compiled(Tensors{x, w}), fresh(compiled, x, w));
  }
  EXPECT_LE(kept_packing_bytes(), 3 * kept);  // the library chooses among few layouts
}

// Weights are donated to a step that overwrites them.
TEST_P(KeptPackings, FollowWeightsThatChange) {
  const Compiled compiled(product());
  const Compiled step(typed(R"(
    func @main(%x: f32[320, 320], %w: f32[320, 320]) -> (f32[320, 320]) {
      %r = add %w, %x
      return %r
    })"));
  const Tensor x = matrix(1);
  Tensor w = matrix(2);
  for (int change = 0; change < 3; ++change) {
    for (int call = 0; call < 3; ++call) {
      expect_same_bits("the product", compiled(Tensors{x, w}), fresh(compiled, x, w));
    }
    const std::byte* const place = w.array().data();
    Tensors given{x, std::move(w)};
    w = CompiledAccess::run_donated(step, std::move(given), {})[0];
    ASSERT_EQ(w.array().data(), place);
  }
}

// A program that multiplies by its weights and returns others in their place.
TEST_P(KeptPackings, WithinTheStepThatChangesTheWeights) {
  const ir::Program program = typed(R"(
    func @main(%x: f32[320, 320], %w: f32[320, 320]) -> (f32[320, 320], f32[320, 320]) {
      %y = matmul %x, %w
      %r = add %w, %y
      %z = matmul %x, %r
      return %r, %z
    })");
  const Compiled compiled(program);
  const Tensor x = matrix(1);
  Tensor w = matrix(2);
  const Tensors wanted = fresh(compiled, x, w);
  for (int call = 0; call < 3; ++call) expect_same_bits("kept", compiled(Tensors{x, w}), wanted);
  Tensors given{x, std::move(w)};
  expect_same_bits("donated", CompiledAccess::run_donated(compiled, std::move(given), {}), wanted);
}

TEST_P(KeptPackings, OfViewsAreOfTheirPlace) {
  const Compiled plain(product("f32[2, 320, 320]", R"(
        %a = slice %w {axis = 0, start = 0, count = 1}
        %b = slice %w {axis = 0, start = 1, count = 1}
        %c = reshape %a {sizes = [320, 320]}
        %d = reshape %b {sizes = [320, 320]}
        %e = permute %d {axes = [1, 0]}
        %y = matmul %x, %c
        %z = matmul %y, %d
        %r = matmul %z, %e)"));
  const Tensor x = matrix(1), w = numbers({2, kSize, kSize}, 2, GetParam());
  const Tensors wanted = fresh(plain, x, w);
  for (int call = 0; call < 4; ++call) expect_same_bits("views", plain(Tensors{x, w}), wanted);
  EXPECT_GE(kept_packing_bytes(), 2 * bytes());
  EXPECT_LE(kept_packing_bytes(), 3 * bytes());
}

TEST_P(KeptPackings, AreNotOfMemoryThatOthersMayChange) {
  const Compiled compiled(product());
  const Tensor x = matrix(1), lent = matrix(2);
  compiled(Tensors{x, lent});
  lent.array().buffer().lend();
  const Tensor source = matrix(3);
  const Array& from = source.array();
  const Tensor borrowed(Array::borrow(from.dtype(), from.layout(), from.data(), bytes(), [] {}));
  for (int call = 0; call < 4; ++call) {
    compiled(Tensors{x, lent});
    compiled(Tensors{x, borrowed});
  }
  EXPECT_EQ(kept_packing_bytes(), 0);
}

// A file that is mapped.
TEST_P(KeptPackings, MayBeOfBorrowedMemoryThatIsConstant) {
  const Compiled compiled(product());
  const Tensor x = matrix(1), source = matrix(3);
  const Array& from = source.array();
  {
    const Array array =
        Array::borrow(from.dtype(), from.layout(), from.data(), bytes(), [kept = from] {});
    array.buffer().declare_constant();
    const Tensor w(array);
    for (int call = 0; call < 4; ++call) {
      expect_same_bits("constant", compiled(Tensors{x, w}), fresh(compiled, x, source));
    }
    EXPECT_GE(kept_packing_bytes(), bytes());
  }
  EXPECT_EQ(kept_packing_bytes(), 0);
}

TEST_P(KeptPackings, TakeNoMoreThanTheSetting) {
  const Compiled compiled(product());
  const Tensor x = matrix(1), w = matrix(2), v = matrix(3);
  const auto call_all = [&] {
    for (int call = 0; call < 4; ++call) {
      expect_same_bits("w", compiled(Tensors{x, w}), fresh(compiled, x, w));
      expect_same_bits("v", compiled(Tensors{x, v}), fresh(compiled, x, v));
    }
  };
  setting::kPackedMemory.set(0);
  call_all();
  EXPECT_EQ(kept_packing_bytes(), 0);
  setting::kPackedMemory.set(bytes() * 3 / 2);
  call_all();
  EXPECT_LE(kept_packing_bytes(), bytes() * 3 / 2);
  EXPECT_GT(kept_packing_bytes(), 0);
  setting::kPackedMemory.reset();
}

// Batches of a data set: few are drawn twice.
TEST_P(KeptPackings, DoNotAddUpForPartsOfAnArray) {
  const Compiled compiled(product());
  const Tensor x = matrix(1), all = matrix(2, 4 * kSize);
  for (int64_t call = 0; call < 300; ++call) {
    compiled(Tensors{x, slice(all, 0, Slice{call * 7 % 900, call * 7 % 900 + kSize})});
  }
  EXPECT_LE(kept_packing_bytes(), 6 * bytes());
}

TEST_P(KeptPackings, AreReleasedWhereMemoryIsShort) {
  const Compiled compiled(product());
  const Tensor x = matrix(1), w = matrix(2);
  for (const bool is_asked_for : {true, false}) {
    for (int call = 0; call < 4; ++call) compiled(Tensors{x, w});
    EXPECT_GE(kept_packing_bytes(), bytes());
    if (is_asked_for) {
      release_cached_memory();
    } else {
      setting::kMemoryLimit.set(memory_statistics().live_bytes + bytes() / 2);
      EXPECT_TRUE(Array::empty(DType::u8, {bytes() * 3 / 4}));
      setting::kMemoryLimit.reset();
    }
    EXPECT_EQ(kept_packing_bytes(), 0);
  }
}

TEST_P(KeptPackings, AreSharedByThreads) {
  const Compiled compiled(product());
  const Tensor x = matrix(1), w = matrix(2);
  const Tensors wanted = fresh(compiled, x, w);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      const Threads one(1);
      for (int call = 0; call < 5; ++call) {
        expect_as_good_as_same("of a thread", compiled(Tensors{x, w}), wanted, 1e-2);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GE(kept_packing_bytes(), bytes());
}

INSTANTIATE_TEST_SUITE_P(Of, KeptPackings, testing::Values(DType::f32, DType::bf16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace plait::compile
