#include "plait/core/trees/tree_key.h"

#include <bit>
#include <limits>

#include <gtest/gtest.h>

#include "plait/core/hash.h"
#include "plait/core/trees/tree.h"

#include "tests/core/trees/tree_parts.h"

namespace {

// All values have the same hash, so that equality must compare the values.
struct Colour {
  explicit Colour(std::string n) : name(std::move(n)) {}
  std::string text() const { return "the colour " + name; }
  friend bool operator==(const Colour&, const Colour&) = default;
  std::string name;
};

class Secret {
 public:
  explicit Secret(int value) : value_(value) {}
  friend bool operator==(const Secret&, const Secret&) = default;
  int hash() const { return value_; }

 private:
  int value_;
};

}  // namespace

template <>
struct std::hash<Colour> {
  size_t operator()(const Colour&) const { return 1; }
};
template <>
struct std::hash<Secret> {
  size_t operator()(const Secret& s) const { return s.hash(); }
};

namespace plait {
namespace {

enum Plain : int8_t { kMinus = -1, kTwo = 2 };

std::string difference(const auto& a, const auto& b) {
  const TreeKey left = key_of(a), right = key_of(b);
  const std::string text = explain_difference(left, right);
  EXPECT_EQ(left == right, text.empty()) << text;
  EXPECT_TRUE(left != right || left.hash() == right.hash());
  return text;
}

struct Layer {
  Leaf weight;
  int heads = 8;
};
struct Stack {
  std::vector<Layer> blocks;
  std::string activation = "relu";
};

TEST(TreeKey, DoesNotSeeTheValuesOfLeaves) {
  const Stack a{{{Leaf{1}}, {Leaf{2}}}}, b{{{Leaf{3}}, {Leaf{4}}}};
  EXPECT_EQ(difference(a, b), "");
}

TEST(TreeKey, SaysWhereAndHowTwoTreesDiffer) {
  const Stack stack{std::vector<Layer>(5)};
  Stack other = stack;
  other.blocks[3].heads = 12;
  EXPECT_EQ(difference(stack, other), "blocks.3.heads: 8 ≠ 12");
  other = stack;
  other.activation = "gelu";
  EXPECT_EQ(difference(stack, other), "activation: \"relu\" ≠ \"gelu\"");
  other.activation = "rel";
  EXPECT_EQ(difference(stack, other), "activation: \"relu\" ≠ \"rel\"");
  other.blocks.pop_back();
  EXPECT_EQ(difference(stack, other), "blocks: 5 elements ≠ 4 elements");
}

// One value of each kind, with different ones.
TEST(TreeKey, StaticValues) {
  EXPECT_EQ(difference(1, 2), "1 ≠ 2");
  EXPECT_EQ(difference(-1, -1), "");
  EXPECT_EQ(difference(int8_t{-1}, int8_t{1}), "-1 ≠ 1");
  EXPECT_EQ(difference(uint64_t{1} << 63, uint64_t{0}), "9223372036854775808 ≠ 0");
  EXPECT_EQ(difference(true, false), "true ≠ false");
  EXPECT_EQ(difference(Mode::train, Mode::test), "train ≠ test");
  EXPECT_EQ(difference(kMinus, kTwo), "-1 ≠ 2");
  EXPECT_EQ(difference(0.5f, 1.5f), "0.5 ≠ 1.5");
  EXPECT_EQ(difference(std::string("a\"b"), std::string()), R"("a\"b" ≠ "")");
  EXPECT_EQ(difference(std::string_view("a"), std::string_view("a")), "");
  EXPECT_EQ(difference(std::vector{1, 2, 3}, std::vector{1, 2, 4}), "2: 3 ≠ 4");
  EXPECT_NE(difference(std::vector{true, false}, std::vector{true, true}), "");
  EXPECT_EQ(difference(std::vector{true, false}, std::vector{true, false}), "");
}

TEST(TreeKey, FloatsCountByTheirBits) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(difference(nan, nan), "");
  EXPECT_EQ(difference(0.0, -0.0), "0 ≠ -0");
  EXPECT_EQ(difference(0.0f, -0.0f), "0 ≠ -0");
  EXPECT_EQ(difference(std::vector{nan}, std::vector{nan}), "");
}

TEST(TreeKey, StructureCounts) {
  using Optional = std::optional<int>;
  EXPECT_EQ(difference(Optional(), Optional(0)), "absent ≠ present");
  EXPECT_EQ(difference(Optional(1), Optional(0)), "1 ≠ 0");
  using Variant = std::variant<int, double, Leaf>;
  EXPECT_EQ(difference(Variant(0), Variant(0.0)), "alternative 0 ≠ alternative 1");
  EXPECT_EQ(difference(Variant(Leaf{1}), Variant(Leaf{2})), "");
  using Map = std::map<std::string, int>;
  EXPECT_EQ(difference(Map{{"a", 1}}, Map{{"b", 1}}), "key: \"a\" ≠ \"b\"");
  EXPECT_EQ(difference(Map{{"a", 1}}, Map{{"a", 2}}), "a: 1 ≠ 2");
  using Nested = std::map<int, std::map<std::string, std::vector<int>>>;
  EXPECT_EQ(difference(Nested{{3, {}}, {4, {{"x", {}}, {"y.z", {1, 2}}}}},
                       Nested{{3, {}}, {4, {{"x", {}}, {"y.z", {1, 3}}}}}),
            "4.\"y.z\".1: 2 ≠ 3");
  EXPECT_EQ(difference(Nested{{3, {{"a", {}}}}}, Nested{{3, {{"b", {}}}}}), "3 key: \"a\" ≠ \"b\"");
}

TEST(TreeKey, EmptyContainersBeforeADifference) {
  struct Tree {
    std::vector<Leaf> none;
    std::tuple<> unit;
    std::optional<Leaf> absent;
    std::array<int, 0> zero;
    std::pair<int, std::vector<int>> last;
  };
  Tree a, b;
  a.last = {1, {2}};
  b.last = {1, {3}};
  EXPECT_EQ(difference(a, b), "last.1.0: 2 ≠ 3");
}

TEST(TreeKey, UnorderedMapsDoNotDependOnTheOrderOfInsertion) {
  std::unordered_map<std::string, int> up, down;
  for (int i = 0; i < 100; ++i) up[std::to_string(i)] = i;
  for (int i = 99; i >= 0; --i) down[std::to_string(i)] = i;
  EXPECT_EQ(difference(up, down), "");
  down["50"] = 0;
  EXPECT_EQ(difference(up, down), "50: 50 ≠ 0");
}

TEST(TreeKey, TextsDoNotRunIntoEachOther) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(difference(Texts{"ab", "c"}, Texts{"a", "bc"}), "0: \"ab\" ≠ \"a\"");
  EXPECT_EQ(difference(Texts{"ab", "cd", "e"}, Texts{"ab", "cx", "e"}), "1: \"cd\" ≠ \"cx\"");
}

TEST(TreeKey, TheTypeCounts) {
  struct OtherLayer {
    Leaf weight;
    int heads = 8;
  };
  EXPECT_NE(key_of(Layer{}), key_of(OtherLayer{}));
  EXPECT_NE(key_of(1), key_of(1L));
  EXPECT_NE(key_of(std::vector<int>{}), key_of(std::vector<Leaf>{}));
  EXPECT_NE(key_of(std::array{1, 2}), key_of(std::pair{1, 2}));
  const std::string text = explain_difference(key_of(1), key_of(1.0));
  EXPECT_EQ(text, "int ≠ double");
}

TEST(TreeKey, UserTypesAreComparedByTheirOwnEquality) {
  EXPECT_EQ(difference(Colour("red"), Colour("red")), "");
  EXPECT_EQ(key_of(Colour("red")).hash(), key_of(Colour("blue")).hash());
  EXPECT_EQ(difference(Colour("red"), Colour("blue")), "the colour red ≠ the colour blue");
  const std::vector<Colour> two{Colour("red"), Colour("blue")}, swapped{two[0], two[0]};
  EXPECT_EQ(difference(two, swapped), "1: the colour blue ≠ the colour red");
  EXPECT_TRUE(difference(Secret(1), Secret(2)).ends_with("Secret ≠ another"));
}

double doubled(double x) { return 2 * x; }
double halved(double x) { return x / 2; }

TEST(TreeKey, FunctionsAreTheirAddresses) {
  struct Activation {
    double (*function)(double);
  };
  EXPECT_EQ(difference(Activation{doubled}, Activation{doubled}), "");
  EXPECT_TRUE(
      difference(Activation{doubled}, Activation{halved}).starts_with("function: the function"));
  const auto square = [](double x) { return x * x; };
  const auto cube = [](double x) { return x * x * x; };
  EXPECT_EQ(key_of(square), key_of(square));
  EXPECT_NE(key_of(square), key_of(cube));
}

TEST(TreeKey, KeysOutliveTheirTrees) {
  TreeKey key;
  {
    const std::map<std::string, Colour> tree{
        {"wall", Colour("a long name of a colour, on the heap")}};
    key = key_of(tree);
  }
  const std::map<std::string, Colour> other{{"wall", Colour("white")}};
  EXPECT_EQ(explain_difference(key, key_of(other)),
            "wall: the colour a long name of a colour, on the heap ≠ the colour white");
}

TEST(TreeKey, AnEmptyKeyDiffersFromAll) {
  EXPECT_EQ(explain_difference(TreeKey(), TreeKey()), "");
  EXPECT_NE(TreeKey(), key_of(1));
  EXPECT_EQ(explain_difference(TreeKey(), key_of(1)), "one of the keys is empty");
}

TEST(TreeKey, KeysWithTheSameHashAreStillCompared) {
  using Two = std::pair<uint64_t, uint64_t>;
  const auto token = [](const TreeType& type, uint64_t word) {
    return std::rotl(uint64_t{reinterpret_cast<uintptr_t>(&type)}, 32) ^ word;
  };
  const auto joined = [](uint64_t hash, uint64_t next) {
    return (std::rotl(hash, 23) ^ next) * 0x9e3779b97f4a7c15;
  };
  const TreeType& number = trees::kType<uint64_t>;
  const uint64_t start = joined(hash_bytes(""), token(trees::kType<Two>, 0));
  const uint64_t after_1 = joined(start, token(number, 1));
  const uint64_t after_2 = joined(start, token(number, 2));
  // joined(after_1, of 3) == joined(after_2, of `other`)
  const uint64_t other = std::rotl(after_1, 23) ^ std::rotl(after_2, 23) ^ 3;
  const TreeKey a = key_of(Two{1, 3}), b = key_of(Two{2, other});
  EXPECT_EQ(a.hash(), b.hash());
  EXPECT_NE(a, b);
}

TEST(TreeKey, HashesSpread) {
  std::unordered_map<TreeKey, int> cache;
  for (int i = 0; i < 20000; ++i) cache[key_of(std::pair{i, Leaf{}})] = i;
  EXPECT_EQ(cache.size(), 20000u);
  EXPECT_EQ(cache.at(key_of(std::pair{777, Leaf{5}})), 777);
  std::vector<uint64_t> hashes;
  for (const auto& [key, value] : cache) hashes.push_back(key.hash());
  std::sort(hashes.begin(), hashes.end());
  EXPECT_EQ(std::unique(hashes.begin(), hashes.end()), hashes.end());
}

}  // namespace
}  // namespace plait
