// Functions of a million instructions: no deep recursion, and work that is linear in the size. Work
// is measured in heap allocations, which are reproducible.
#include <functional>

#include <gtest/gtest.h>

#include "plait/ir/analysis/identity.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/builder.h"
#include "plait/ir/rewriting/prune.h"
#include "plait/ir/rewriting/rewrite.h"

#include "tests/support/counted_allocations.h"
#include "tests/support/scalar_ops.h"
#include "tests/support/small_stack.h"

namespace plait::ir {
namespace {

#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kMany = 50'000;
#else
constexpr size_t kMany = 1'000'000;
#endif

Program chain(size_t length) {
  ProgramBuilder program;
  FunctionBuilder f = program.function("main");
  ValueId x = f.parameter(Type::scalar(DType::f64), "x");
  const Primitive& add = primitive("add");
  ValueId y = x;
  for (size_t i = 0; i < length; ++i) y = f.add(add, {y, i % 3 ? x : y});
  program.add(f.finish({y}));
  return program.finish();
}

// A chain of functions, each calling the next.
Program calls(size_t length) {
  ProgramBuilder program;
  Signature signature{.parameters = {Type::scalar(DType::f64)},
                      .results = {Type::scalar(DType::f64)}};
  for (size_t i = 0; i <= length; ++i) program.declare(fmt::format("f{}", i), signature);
  for (size_t i = 0; i <= length; ++i) {
    FunctionBuilder f = program.function(fmt::format("f{}", i));
    f.declare(signature);
    ValueId y = i < length ? f.call(fmt::format("f{}", i + 1), {0}) : f.add("add", {0, 0});
    program.add(f.finish({y}));
  }
  return program.finish();
}

int64_t allocations_of(const std::function<void()>& work) {
  int64_t before = allocations_so_far();
  on_small_stack(work);
  return allocations_so_far() - before;
}

// Eight times the size may take at most nine times the work, plus a constant.
template <class Make, class Work>
void expect_linear(const char* what, Make make, Work work, size_t size) {
  auto small = make(size / 8), large = make(size);
  work(small);  // excludes one-time initialisation
  int64_t few = allocations_of([&] { work(small); }), many = allocations_of([&] { work(large); });
  EXPECT_LE(many, 9 * few + 2000) << what << ": " << few
                                  << " allocations for an eighth of the size";
}

class Million : public testing::Test {
 protected:
  void SetUp() override { register_scalar_ops(); }
};

TEST_F(Million, BuildsAndIsDestroyed) {
  expect_linear("build", [](size_t n) { return n; }, [](size_t n) { chain(n); }, kMany);
}

TEST_F(Million, Verifies) {
  expect_linear("verify", chain, [](const Program& p) { verify(p); }, kMany);
  expect_linear("verify calls", calls, [](const Program& p) { verify(p); }, kMany / 20);
}

TEST_F(Million, PrintsAndParses) {
  auto text_of = [](size_t n) { return chain(n).text(); };
  expect_linear("print", chain, [](const Program& p) { return p.text(); }, kMany);
  expect_linear(
      "parse", text_of, [](const std::string& text) { return Program::parse(text); }, kMany);
  std::string text = text_of(kMany);
  EXPECT_TRUE(Program::parse(text).text() == text);
}

TEST_F(Million, WritesAndReadsBytes) {
  auto bytes_of = [](size_t n) { return chain(n).bytes(); };
  expect_linear("write", chain, [](const Program& p) { return p.bytes(); }, kMany);
  expect_linear(
      "read", bytes_of, [](const std::string& bytes) { return Program::from_bytes(bytes); }, kMany);
  std::string bytes = bytes_of(kMany);
  EXPECT_TRUE(Program::from_bytes(bytes).bytes() == bytes);
}

TEST_F(Million, HasAnIdentity) {
  expect_linear("identity", chain, [](const Program& p) { return identities(p); }, kMany);
  expect_linear(
      "identity of calls", calls, [](const Program& p) { return identities(p); }, kMany / 20);
}

TEST_F(Million, IsPruned) {
  auto unused = [](size_t n) {
    ProgramBuilder program;
    FunctionBuilder f = program.function("main");
    ValueId x = f.parameter(Type::scalar(DType::f64));
    for (ValueId y = x, i = 0; i < n; ++i) y = f.add("add", {y, x});
    program.add(f.finish({x}));
    return program.finish();
  };
  expect_linear("prune", unused, [](const Program& p) { return prune(p); }, kMany);
  EXPECT_EQ(prune(unused(kMany)).entry().size(), 0u);
}

}  // namespace
}  // namespace plait::ir
