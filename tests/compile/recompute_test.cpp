// Values that the backward pass keeps, and those that it computes again.
#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "plait/compile/inside/passes/kernel_passes.h"
#include "plait/compile/inside/passes/min_cut.h"

#include "tests/compile/as_evaluated.h"
#include "tests/compile/passes_left_out.h"

namespace plait::compile {
namespace {

// ---- Minimum cuts.

struct Edge {
  uint32_t from, to;
  int64_t capacity;
};

int64_t capacity_of(uint32_t sink_side, std::span<const Edge> edges) {
  int64_t sum = 0;
  for (const Edge& edge : edges) {
    const bool leaves = (sink_side >> edge.from & 1) == 0 && (sink_side >> edge.to & 1) == 1;
    if (leaves) sum += edge.capacity;
  }
  return sum;
}

TEST(MinCut, IsTheCheapestOfAllWithTheFewestNodesOfTheSink) {
  std::mt19937 random(1);
  const auto draw = [&](uint32_t below) { return static_cast<uint32_t>(random() % below); };
  for (int round = 0; round < 500; ++round) {
    const uint32_t nodes = 2 + draw(7);
    std::vector<Edge> edges(draw(20));
    for (Edge& edge : edges) edge = {draw(nodes), draw(nodes), draw(10)};
    FlowNetwork network;
    for (uint32_t i = 2; i < nodes; ++i) network.add_node();
    for (const Edge& edge : edges) network.add_edge(edge.from, edge.to, edge.capacity);
    int64_t cheapest = FlowNetwork::kUnlimited;
    uint32_t smallest = 0;
    for (uint32_t side = 0; side < 1U << nodes; ++side) {
      const bool separates =
          (side >> FlowNetwork::kSource & 1) == 0 && (side >> FlowNetwork::kSink & 1) == 1;
      if (!separates) continue;
      const int64_t capacity = capacity_of(side, edges);
      if (capacity > cheapest) continue;
      smallest = capacity < cheapest ? side : smallest & side;
      cheapest = capacity;
    }
    const std::vector<bool> found = network.sink_side();
    uint32_t side = 0;
    for (uint32_t i = 0; i < nodes; ++i) side |= found[i] ? 1U << i : 0;
    EXPECT_EQ(side, smallest) << "round " << round;
  }
}

// ---- Programs.

// The training step of two layers, with GELU between them. They are too wide for one kernel.
ir::Program two_layers() {
  return parsed(R"(
    func @main(%x: f32[256, 320], %w1: f32[320, 256], %b: f32[256], %w2: f32[256, 320], %g: f32[256, 320]) -> (f32[256, 320], f32[320, 256], f32[256, 320]) {
      %half = literal {value = f32[256, 256](0.5 ...)}
      %one = literal {value = f32[256, 256](1 ...)}
      %root = literal {value = f32[256, 256](0.70710677 ...)}
      %slope = literal {value = f32[256, 256](1.1283792 ...)}
      %0 = matmul %x, %w1
      %1 = broadcast %b {sizes = [256, 256]}
      %a = add %0, %1
      %scaled = multiply %a, %root
      %erf = erf %scaled
      %cdf = add %erf, %one
      %half_a = multiply %half, %a
      %h = multiply %half_a, %cdf
      %y = matmul %h, %w2
      %loss = add %y, %g
      %2 = permute %w2 {axes = [1, 0]}
      %dh = matmul %loss, %2
      %3 = permute %h {axes = [1, 0]}
      %dw2 = matmul %3, %loss
      %4 = multiply %dh, %cdf
      %5 = multiply %dh, %half_a
      %6 = multiply %4, %half
      %7 = square %scaled
      %8 = negative %7
      %9 = exp %8
      %10 = multiply %slope, %9
      %11 = multiply %5, %10
      %12 = multiply %11, %root
      %da = add %6, %12
      %13 = permute %x {axes = [1, 0]}
      %dw1 = matmul %13, %da
      return %y, %dw1, %dw2
    })");
}

Tensors arguments_of_two_layers() {
  return {numbers({256, 320}, 1), numbers({320, 256}, 2), numbers({256}, 3), numbers({256, 320}, 4),
          numbers({256, 320}, 5)};
}

// How many arrays of 256 x 256 the kernels write.
size_t large_results(const ir::Program& program) {
  const ir::Function& main = program.entry();
  size_t count = 0;
  for (const ir::Instruction instruction : main.instructions()) {
    if (instruction.primitive().structure != ir::Structure::fused) continue;
    count += static_cast<size_t>(std::ranges::count_if(
        instruction.result_types(),
        [](const ir::Type& type) { return same(type.shape().element_count(), Dim(256 * 256)); }));
  }
  return count;
}

TEST(Recompute, TheBackwardPassOfGeluReadsOneArray) {
  const Target* const target = find_target(Device::Kind::cpu);
  if (target == nullptr) GTEST_SKIP() << "no code is generated in this build";
  register_all();
  const auto fused_from = [&] { return optimized_for(target, two_layers(), true, {}); };
  EXPECT_EQ(large_results(fused_from()), 3U);  // a and h, and the gradient of a
  const PassesLeftOut without("-recompute");
  EXPECT_EQ(large_results(fused_from()), 5U);
}

TEST(Recompute, ChangesNoBit) {
  const Tensors arguments = arguments_of_two_layers();
  const ir::Program program = two_layers();
  const Tensors found = Compiled(program)(arguments);
  const PassesLeftOut without("-recompute");
  const Tensors expected = Compiled(program)(arguments);
  expect_same_bits("recomputed", found, expected);
  expect_as_evaluated(program, arguments, 1e-4);
}

}  // namespace
}  // namespace plait::compile
