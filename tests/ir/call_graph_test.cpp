#include "plait/ir/analysis/call_graph.h"

#include <random>
#include <set>

#include <gtest/gtest.h>

#include "tests/support/scalar_ops.h"

namespace plait::ir {
namespace {

using Sets = std::vector<std::set<uint32_t>>;

NumberLists lists_of(const Sets& sets) {
  NumberLists lists;
  for (const auto& set : sets) {
    for (uint32_t number : set) lists.append(number);
    lists.end_list();
  }
  return lists;
}

// The transitive closure by brute force.
std::vector<std::vector<bool>> closure(const Sets& successors) {
  size_t n = successors.size();
  std::vector<std::vector<bool>> reaches(n, std::vector<bool>(n, false));
  for (size_t i = 0; i < n; ++i)
    for (uint32_t j : successors[i]) reaches[i][j] = true;
  for (size_t k = 0; k < n; ++k)
    for (size_t i = 0; i < n; ++i)
      for (size_t j = 0; j < n; ++j)
        if (reaches[i][k] && reaches[k][j]) reaches[i][j] = true;
  return reaches;
}

void expect_components(const Sets& successors) {
  NumberLists components = strongly_connected_components(lists_of(successors));
  auto reaches = closure(successors);
  std::vector<int> component_of(successors.size(), -1);
  for (size_t c = 0; c < components.size(); ++c) {
    for (uint32_t member : components[c]) {
      ASSERT_EQ(component_of[member], -1) << "node " << member << " is in two components";
      component_of[member] = static_cast<int>(c);
    }
  }
  for (uint32_t i = 0; i < successors.size(); ++i) {
    ASSERT_NE(component_of[i], -1) << "node " << i << " is in no component";
    for (uint32_t j = 0; j < successors.size(); ++j) {
      bool together = i == j || (reaches[i][j] && reaches[j][i]);
      ASSERT_EQ(component_of[i] == component_of[j], together) << i << " and " << j;
      ASSERT_TRUE(!reaches[i][j] || component_of[i] >= component_of[j]) << i << " reaches " << j;
    }
  }
}

TEST(Components, AgreeWithReachabilityOnRandomGraphs) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 400; ++trial) {
    size_t n = 1 + random() % 12;
    Sets successors(n);
    for (size_t edges = random() % (2 * n); edges > 0; --edges)
      successors[random() % n].insert(static_cast<uint32_t>(random() % n));
    expect_components(successors);
  }
}

TEST(Components, OfAMillionNodesInAChainAndInARing) {
  constexpr uint32_t kMany = 1'000'000;
  for (bool ring : {false, true}) {
    NumberLists successors;
    for (uint32_t i = 0; i < kMany; ++i) {
      if (i + 1 < kMany)
        successors.append(i + 1);
      else if (ring)
        successors.append(0);
      successors.end_list();
    }
    NumberLists components = strongly_connected_components(successors);
    EXPECT_EQ(components.size(), ring ? 1u : kMany);
    EXPECT_EQ(components[0].size(), ring ? kMany : 1u);
    EXPECT_EQ(components[0][0], ring ? 0u : kMany - 1);
  }
}

constexpr std::string_view kMutualCalls = R"(
func @main(%x: f32[], %p: bool[]) -> (f32[]) {
  %0 = call @even(%x)
  %1 = cond @even, @leaf(%p, %0)
  %2 = call @even(%1)
  return %2
}
func @even(%x: f32[]) -> (f32[]) {
  %0 = call @odd(%x)
  return %0
}
func @odd(%x: f32[]) -> (f32[]) {
  %0 = call @even(%x)
  %1 = call @leaf(%0)
  return %1
}
func @leaf(%x: f32[]) -> (f32[]) { return %x }
func @apart(%x: f32[]) -> (f32[]) {
  %0 = call @apart(%x)
  return %0
}
)";

std::vector<uint32_t> list(std::span<const uint32_t> numbers) {
  return {numbers.begin(), numbers.end()};
}
using Numbers = std::vector<uint32_t>;

TEST(CallGraph, OfAProgram) {
  register_scalar_ops();
  CallGraph graph(Program::parse(kMutualCalls));
  EXPECT_EQ(list(graph.callees(0)), (Numbers{1, 3}));
  EXPECT_EQ(list(graph.callers(3)), (Numbers{0, 2}));
  EXPECT_EQ(list(graph.callers(0)), Numbers{});
  ASSERT_EQ(graph.component_count(), 4u);
  uint32_t mutual = graph.component_of(1);
  EXPECT_EQ(list(graph.component(mutual)), (Numbers{1, 2}));
  EXPECT_LT(graph.component_of(3), mutual);
  EXPECT_LT(mutual, graph.component_of(0));
  EXPECT_TRUE(graph.is_recursive(mutual));
  EXPECT_TRUE(graph.is_recursive(graph.component_of(4)));
  EXPECT_FALSE(graph.is_recursive(graph.component_of(0)));
  EXPECT_FALSE(graph.is_recursive(graph.component_of(3)));
  EXPECT_EQ(graph.reachable_from(0), (Numbers{0, 1, 2, 3}));
  EXPECT_EQ(graph.reachable_from(3), Numbers{3});
}

TEST(CallGraph, CalleesAreVisitedInOrder) {
  register_scalar_ops();
  Program program = Program::parse(kMutualCalls);
  std::vector<std::string> seen;
  for_each_callee(program, 0, [&](const Instruction& instruction, size_t i, uint32_t callee) {
    seen.push_back(
        fmt::format("{}.{} @{}", instruction.index(), i, program.function(callee).name()));
  });
  EXPECT_EQ(seen, (std::vector<std::string>{"0.0 @even", "1.0 @even", "1.1 @leaf", "2.0 @even"}));
}

}  // namespace
}  // namespace plait::ir
