#include "plait/core/trees/tree.h"

#include <type_traits>

#include <gtest/gtest.h>

#include "tests/core/trees/tree_parts.h"
#include "tests/support/errors.h"

namespace {

struct OtherLeaf {
  double value = 0;
};

}  // namespace

template <>
inline constexpr bool plait::is_tree_leaf<OtherLeaf> = true;

// A class of another library: private members, constructors, no fields().
namespace theirs {

class Scale {
 public:
  Scale() : rest{plait::Leaf{2}}, factor_{1} {}
  plait::Leaf& factor() { return factor_; }
  const plait::Leaf& factor() const { return factor_; }

  std::vector<plait::Leaf> rest;

 private:
  plait::Leaf factor_;
};

}  // namespace theirs

template <>
struct plait::FieldsOf<theirs::Scale> {
  static constexpr auto fields() {
    return plait::fields<theirs::Scale>(
        "factor", [](auto& scale) -> auto& { return scale.factor(); }, "rest",
        &theirs::Scale::rest);
  }
};

namespace plait {
namespace {

using Paths = std::vector<std::string>;

struct Norm {
  Leaf scale, shift;
  double epsilon = 1e-5;
};
struct Block {
  Norm norm1, norm2;
  int heads = 8;
  std::optional<Leaf> bias;
};
struct Model {
  std::vector<Block> blocks;
  std::map<std::string, Leaf> extra;
  std::string activation = "relu";
  Mode mode = Mode::train;
  bool causal = false;
};

// Numbers the leaves 1, 2, ... in order.
template <class T>
T numbered(T tree) {
  int next = 0;
  return trees::map_leaves<Leaf>(std::move(tree), [&](const Leaf&) { return Leaf{++next}; });
}

template <class T>
std::vector<int> ids_of(const T& tree) {
  std::vector<int> ids;
  for (const Leaf* leaf : leaves<Leaf>(tree)) ids.push_back(leaf->id);
  return ids;
}

Model small_model() {
  Model model;
  model.blocks.resize(2);
  model.blocks[1].bias = Leaf{};
  model.extra = {{"z", {}}, {"a", {}}};
  return numbered(std::move(model));
}

// ---- Leaves and their paths

TEST(Tree, VisitsLeavesInOrderWithTheirPaths) {
  const Model model = small_model();
  EXPECT_EQ(leaf_paths(model),
            (Paths{"blocks.0.norm1.scale", "blocks.0.norm1.shift", "blocks.0.norm2.scale",
                   "blocks.0.norm2.shift", "blocks.1.norm1.scale", "blocks.1.norm1.shift",
                   "blocks.1.norm2.scale", "blocks.1.norm2.shift", "blocks.1.bias", "extra.a",
                   "extra.z"}));
  EXPECT_EQ(ids_of(model), (std::vector<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(leaf_count(model), 11u);
  EXPECT_EQ(model.extra.at("a").id, 10);
}

TEST(Tree, EveryContainer) {
  struct Everything {
    std::tuple<Leaf, int, Leaf> tuple;
    std::pair<Leaf, Leaf> pair;
    std::array<Leaf, 2> array;
    Leaf c_array[2];
    Leaf matrix[2][2];
    std::vector<std::vector<Leaf>> vectors;
    std::map<int, Leaf> by_number;
    std::unordered_map<std::string, Leaf> by_name;
    std::unordered_map<int64_t, Leaf> by_long;
    std::optional<Leaf> absent, present;
    std::variant<int, Leaf, std::vector<Leaf>> variant;
  };
  Everything tree;
  tree.vectors = {{}, {Leaf{}, Leaf{}}};
  tree.by_number = {{10, {}}, {-2, {}}, {9, {}}};
  for (char c = 'z'; c >= 'a'; --c) tree.by_name[std::string(1, c)] = {};
  for (int64_t i = 30; i > 0; --i) tree.by_long[i * 7] = {};
  tree.present = Leaf{};
  tree.variant = std::vector<Leaf>(1);
  Paths expected{"tuple.0",     "tuple.2",     "pair.0",      "pair.1",      "array.0",
                 "array.1",     "c_array.0",   "c_array.1",   "matrix.0.0",  "matrix.0.1",
                 "matrix.1.0",  "matrix.1.1",  "vectors.1.0", "vectors.1.1", "by_number.-2",
                 "by_number.9", "by_number.10"};
  for (char c = 'a'; c <= 'z'; ++c) expected.push_back(fmt::format("by_name.{}", c));
  for (int i = 1; i <= 30; ++i) expected.push_back(fmt::format("by_long.{}", i * 7));
  expected.insert(expected.end(), {"present", "variant.0"});
  EXPECT_EQ(leaf_paths(tree), expected);
}

TEST(Tree, ALeafIsATree) {
  Leaf leaf{3};
  EXPECT_EQ(leaf_paths(leaf), Paths{""});
  EXPECT_EQ(trees::map_leaves<Leaf>(leaf, [](Leaf l) { return Leaf{l.id * 2}; }).id, 6);
  EXPECT_EQ(leaf_count(7), 0u);
}

TEST(Tree, BuffersAreTheirTreeAndMarkItsLeaves) {
  struct Inner {
    Leaf weight;
    Buffers<Leaf> statistic;
  };
  struct Outer {
    Inner own;
    Buffers<Inner> frozen;
    std::vector<Buffers<Leaf>> several;
  };
  Outer tree{.own = {{1}, Leaf{2}}, .frozen = Inner{{3}, Leaf{4}}, .several = {Leaf{5}}};
  EXPECT_EQ(tree.frozen.weight.id, 3);
  std::string found;
  trees::for_each_leaf_and_role<Leaf>(tree, [&](std::string_view path, Leaf& leaf, bool buffer) {
    found += fmt::format("{} {}{}\n", path, leaf.id, buffer ? " buffer" : "");
    leaf.id *= 10;
  });
  EXPECT_EQ(found,
            "own.weight 1\nown.statistic 2 buffer\nfrozen.weight 3 buffer\n"
            "frozen.statistic 4 buffer\nseveral.0 5 buffer\n");
  EXPECT_EQ(tree.frozen.statistic.id, 40);
  const Inner inner{{1}, Leaf{2}};
  EXPECT_NE(key_of(inner), key_of(Buffers<Inner>(inner))) << "grad treats them differently";
  EXPECT_EQ(key_of(Buffers<Inner>(inner)), key_of(tree.frozen));
}

TEST(Tree, NamesThatCouldMisleadAreQuoted) {
  const std::map<std::string, std::map<std::string, Leaf>> tree{
      {"a", {{"b.c", {}}, {"", {}}}}, {"a.b", {{"c", {}}}}, {"say \"hi\"", {{"\\", {}}}}};
  EXPECT_EQ(leaf_paths(tree), (Paths{"a.\"\"", "a.\"b.c\"", "\"a.b\".c", R"("say \"hi\""."\\")"}));
}

TEST(Tree, LeavesOfAMutableTreeCanBeWritten) {
  Model model = small_model();
  trees::for_each_leaf<Leaf>(model, [](std::string_view path, Leaf& leaf) {
    if (path.ends_with("scale")) leaf.id = 100;
  });
  *leaves<Leaf>(model).back() = Leaf{5};
  EXPECT_EQ(ids_of(model), (std::vector<int>{100, 2, 100, 4, 100, 6, 100, 8, 9, 10, 5}));
}

TEST(Tree, LeavesOfAConstTreeAreConst) {
  const Model model = small_model();
  trees::for_each_leaf<Leaf>(model, [](std::string_view, auto& leaf) {
    static_assert(std::same_as<decltype(leaf), const Leaf&>);
  });
  static_assert(std::same_as<decltype(leaves<Leaf>(model)), std::vector<const Leaf*>>);
}

struct Node {
  Leaf value;
  std::vector<Node> children;
};

TEST(Tree, RecursiveTypes) {
  const Node tree{{1}, {Node{{2}, {}}, Node{{3}, {Node{{4}, {}}}}}};
  EXPECT_EQ(leaf_paths(tree), (Paths{"value", "children.0.value", "children.1.value",
                                     "children.1.children.0.value"}));
  EXPECT_EQ(ids_of(tree), (std::vector<int>{1, 2, 3, 4}));
  Node shorter = tree;
  shorter.children[1].children.clear();
  EXPECT_EQ(explain_difference(key_of(tree), key_of(shorter)),
            "children.1.children: 1 element ≠ 0 elements");
}

class Hidden {
 public:
  explicit Hidden(int id) : weight_{id} {}
  static constexpr auto fields() { return plait::fields<Hidden>("weight", &Hidden::weight_); }

 private:
  Leaf weight_;
  std::unique_ptr<int> cache_;  // not listed, so a pointer is allowed
};

class Extended : public Hidden {
 public:
  Extended() : Hidden(1) {}
  static constexpr auto fields() {
    return plait::fields<Extended>(plait::fields_of_base<Hidden>(), "bias", &Extended::bias_);
  }

 private:
  Leaf bias_{2};
};

struct Recurrent {
  std::map<std::string, Leaf> weights;
  int size = 2;
  static constexpr auto fields() {
    return plait::fields<Recurrent>("", &Recurrent::weights, "size", &Recurrent::size);
  }
};

TEST(Tree, FieldsWithoutANameAreLeftOutOfPaths) {
  const std::map<std::string, Recurrent> layers{{"a", {{{"weight_0", {1}}, {"weight_1", {2}}}}}};
  EXPECT_EQ(leaf_paths(layers), (Paths{"a.weight_0", "a.weight_1"}));
  auto other = layers;
  other.at("a").weights.erase("weight_1");
  EXPECT_EQ(explain_difference(key_of(layers), key_of(other)), "a: 2 entries ≠ 1 entry");
  other = layers;
  other.at("a").size = 3;
  EXPECT_EQ(explain_difference(key_of(layers), key_of(other)), "a.size: 2 ≠ 3");
}

TEST(Tree, ClassesThatListTheirFieldsAndMoveOnlyTrees) {
  Extended tree;
  EXPECT_EQ(leaf_paths(tree), (Paths{"weight", "bias"}));
  static_assert(!std::is_copy_constructible_v<Extended>);
  const Extended mapped =
      trees::map_leaves<Leaf>(std::move(tree), [](const Leaf& leaf) { return Leaf{leaf.id + 10}; });
  EXPECT_EQ(ids_of(mapped), (std::vector<int>{11, 12}));
}

TEST(Tree, ClassesThatAreListedOutside) {
  theirs::Scale scale;
  EXPECT_EQ(leaf_paths(scale), (Paths{"factor", "rest.0"}));
  const theirs::Scale other =
      trees::map_leaves<Leaf>(scale, [](Leaf leaf) { return Leaf{leaf.id + 5}; });
  EXPECT_EQ(other.factor().id, 6);
  EXPECT_EQ(other.rest.front().id, 7);
  EXPECT_EQ(leaves<Leaf>(scale).front(), &scale.factor());
  static_assert(std::same_as<decltype(leaves<Leaf>(other)), std::vector<const Leaf*>>);
}

TEST(Tree, LeavesOfAnotherTypeAreRefused) {
  struct Both {
    Leaf a;
    OtherLeaf b;
  };
  const Both tree{{1}, {2.5}};
  EXPECT_EQ(leaf_paths(tree), (Paths{"a", "b"}));
  EXPECT_NE(key_of(tree), key_of(std::pair{tree.a, tree.a}));
  const std::string message = message_of<TypeError>([&] { leaves<Leaf>(tree); });
  EXPECT_NE(message.find("OtherLeaf"), std::string::npos) << message;
}

// ---- New trees from old

TEST(Tree, AssignLeaves) {
  const Model model = small_model();
  std::vector<Leaf> fresh;
  for (int i = 0; i < 11; ++i) fresh.push_back(Leaf{20 + i});
  Model replaced = model;
  trees::assign_leaves<Leaf>(replaced, fresh);
  EXPECT_EQ(ids_of(replaced), (std::vector<int>{20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30}));
  EXPECT_EQ(key_of(replaced), key_of(model));
  EXPECT_EQ(ids_of(model).front(), 1);
}

TEST(Tree, AssignLeavesRefusesAnotherNumberOfLeaves) {
  std::vector<Leaf> two(2);
  EXPECT_EQ(message_of<ValueError>([&] { trees::assign_leaves<Leaf>(two, std::vector<Leaf>(3)); }),
            "the tree has 2 leaves, but 3 were given");
  EXPECT_EQ(message_of<ValueError>([&] { trees::assign_leaves<Leaf>(two, std::vector<Leaf>(1)); }),
            "the tree has 2 leaves, but 1 were given");
}

Leaf sum(const Leaf& a, const Leaf& b) { return {a.id + b.id}; }

TEST(Tree, MapLeavesOverTwoTrees) {
  const Model model = small_model();
  Model other =
      trees::map_leaves<Leaf>(model, [](const Leaf& leaf) { return Leaf{leaf.id * 100}; });
  other.activation = "gelu";  // static values may differ, and the first tree's stay
  const Model result = trees::map_leaves<Leaf>(sum, model, other);
  EXPECT_EQ(ids_of(result),
            (std::vector<int>{101, 202, 303, 404, 505, 606, 707, 808, 909, 1010, 1111}));
  EXPECT_EQ(result.activation, "relu");
}

TEST(Tree, MapLeavesNamesTheFirstDifferenceInStructure) {
  const Model model = small_model();
  Model alike = model;
  alike.blocks[0].heads = 99;  // static values are ignored
  EXPECT_NO_THROW(trees::map_leaves<Leaf>(sum, model, alike));
  const auto message_for = [&](auto change) {
    Model other = alike;
    change(other);
    return message_of<ValueError>([&] { trees::map_leaves<Leaf>(sum, model, other); });
  };
  const std::string start = "map_leaves: the trees differ in structure: ";
  EXPECT_EQ(message_for([](Model& m) { m.blocks.pop_back(); }),
            start + "blocks: 2 elements ≠ 1 element");
  EXPECT_EQ(message_for([](Model& m) { m.blocks[1].bias.reset(); }),
            start + "blocks.1.bias: present ≠ absent");
  EXPECT_EQ(message_for([](Model& m) {
              m.extra.erase("z");
              m.extra["y"] = {};
            }),
            start + "extra key: \"z\" ≠ \"y\"");
  EXPECT_EQ(message_for([](Model& m) { m.extra["b"] = {}; }),
            start + "extra: 2 entries ≠ 3 entries");
}

TEST(Tree, MapLeavesOverVariants) {
  using Either = std::variant<Leaf, std::vector<Leaf>>;
  const std::vector<Either> a{Leaf{1}, std::vector<Leaf>{{2}}}, b{Leaf{3}, Leaf{4}};
  EXPECT_EQ(message_of<ValueError>([&] { trees::map_leaves<Leaf>(sum, a, b); }),
            "map_leaves: the trees differ in structure: 1: alternative 1 ≠ alternative 0");
  EXPECT_EQ(ids_of(trees::map_leaves<Leaf>(sum, a, a)), (std::vector<int>{2, 4}));
}

}  // namespace
}  // namespace plait
