#include "plait/core/numbers/promotion.h"

#include <array>
#include <initializer_list>
#include <string>

#include "plait/core/error.h"

namespace plait {

namespace {

// A node of the order is a dtype or a scalar kind; a set of nodes is a bit mask. The kind of bool
// scalars is the dtype bool.
using NodeSet = uint32_t;
constexpr int kInteger = kDTypeCount;
constexpr int kFloating = kDTypeCount + 1;
constexpr int kComplex = kDTypeCount + 2;
constexpr int kNodeCount = kDTypeCount + 3;
static_assert(kNodeCount <= 32);
constexpr NodeSet kAllNodes = (NodeSet{1} << kNodeCount) - 1;

constexpr int node(DType dtype) { return static_cast<int>(dtype); }

constexpr int node(ScalarKind kind) {
  switch (kind) {
    case ScalarKind::boolean: return node(DType::boolean);
    case ScalarKind::integer: return kInteger;
    case ScalarKind::floating: return kFloating;
    case ScalarKind::complex: return kComplex;
  }
  throw TypeError("{} is not a kind of scalar", static_cast<int>(kind));
}

struct Edge {
  int from, to;
};

constexpr auto kEdges = [] {
  using enum DType;
  return std::to_array<Edge>({
      {node(boolean), kInteger},  {kInteger, node(i8)},      {kInteger, node(u8)},
      {node(i8), node(i16)},      {node(i16), node(i32)},    {node(i32), node(i64)},
      {node(i64), kFloating},     {node(u8), node(i16)},     {node(u8), node(u16)},
      {node(u16), node(i32)},     {node(u16), node(u32)},    {node(u32), node(i64)},
      {node(u32), node(u64)},     {node(u64), kFloating},    {kFloating, node(f8e4m3)},
      {kFloating, node(f8e5m2)},  {kFloating, kComplex},     {node(f8e4m3), node(f16)},
      {node(f8e4m3), node(bf16)}, {node(f8e5m2), node(f16)}, {node(f8e5m2), node(bf16)},
      {node(f16), node(f32)},     {node(bf16), node(f32)},   {node(f32), node(f64)},
      {node(f32), node(c64)},     {node(f64), node(c128)},   {kComplex, node(c64)},
      {node(c64), node(c128)},
  });
}();

// For each node, the set of nodes reachable from it, including itself.
constexpr auto kReached = [] {
  std::array<NodeSet, kNodeCount> reached{};
  for (int i = 0; i < kNodeCount; ++i) reached[i] = NodeSet{1} << i;
  for (int round = 0; round < kNodeCount; ++round) {
    for (const Edge& edge : kEdges) reached[edge.from] |= reached[edge.to];
  }
  reached[node(DType::key)] = 0;
  return reached;
}();

// The least node of a set: the one from which exactly the nodes of the set are reachable. Empty if
// there is none.
std::optional<int> least_of(NodeSet set) {
  for (int i = 0; i < kNodeCount; ++i) {
    if (set != 0 && kReached[i] == set) return i;
  }
  return std::nullopt;
}

DType dtype_of_node(int node) {
  switch (node) {
    case kInteger: return DType::i64;
    case kFloating: return DType::f32;
    case kComplex: return DType::c64;
    default: return static_cast<DType>(node);
  }
}

std::optional<DType> find_least_dtype(NodeSet set) {
  const std::optional<int> least = least_of(set);
  if (!least) return std::nullopt;
  return dtype_of_node(*least);
}

NodeSet reached_from(DType dtype) { return kReached[node(info_of(dtype).dtype)]; }

[[noreturn]] void throw_no_promotion(std::span<const DType> dtypes) {
  std::string names;
  bool has_key = false;
  for (const DType dtype : dtypes) {
    names += names.empty() ? "" : " and ";
    names += name_of(dtype);
    has_key = has_key || is_key(dtype);
  }
  throw TypeError("no common dtype for {}", names)
      .hint(has_key ? "keys do not support arithmetic: draw numbers from them"
                    : "convert an operand first");
}

}  // namespace

DType default_dtype(ScalarKind kind) { return dtype_of_node(node(kind)); }

std::optional<DType> find_promotion(DType a, DType b) {
  return find_least_dtype(reached_from(a) & reached_from(b));
}

DType promote(DType a, DType b) {
  const std::optional<DType> result = find_promotion(a, b);
  if (!result) throw_no_promotion(std::array{a, b});
  return *result;
}

DType promote(DType dtype, ScalarKind scalar) {
  return promote(std::span(&dtype, 1), std::span(&scalar, 1));
}

DType promote(std::span<const DType> dtypes, std::span<const ScalarKind> scalars) {
  if (dtypes.empty() && scalars.empty()) throw ValueError("promote: expected at least one operand");
  NodeSet set = kAllNodes;
  for (const DType dtype : dtypes) set &= reached_from(dtype);
  for (const ScalarKind scalar : scalars) set &= kReached[node(scalar)];
  const std::optional<DType> result = find_least_dtype(set);
  if (!result) throw_no_promotion(dtypes);
  return *result;
}

}  // namespace plait
