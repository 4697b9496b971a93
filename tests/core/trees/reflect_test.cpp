#include "plait/core/trees/reflect.h"

#include <any>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

namespace plait::reflect {
namespace {

template <class T>
std::vector<std::string> names_of() {
  return {kFieldNames<T>.begin(), kFieldNames<T>.end()};
}

using Names = std::vector<std::string>;

struct Empty {};

struct Point {
  double x, y;
};

class NoDefault {
 public:
  NoDefault(int a, int b) : sum_(a + b) {}
  int sum() const { return sum_; }

 private:
  int sum_;
};

struct Nested {
  Point from, to;
  Empty empty;
  std::array<int, 3> counts;
  const int fixed;
};

TEST(Reflect, NestedAggregatesCountOnce) {
  EXPECT_EQ(names_of<Nested>(), (Names{"from", "to", "empty", "counts", "fixed"}));
}

struct Arrays {
  int before;
  float matrix[2][3];
  char name[8];
  Point corners[4];
  NoDefault pairs[2];
  std::string after[1];
};

TEST(Reflect, ArraysCountOnce) {
  EXPECT_EQ(names_of<Arrays>(), (Names{"before", "matrix", "name", "corners", "pairs", "after"}));
}

struct OneArray {
  int values[7];
};
struct ArrayOfStringsLast {
  std::vector<int> first;
  std::string values[3];
};
struct LongArray {
  float values[200];
  int last;
};
static_assert(kFieldCount<OneArray> == 1);
static_assert(kFieldCount<ArrayOfStringsLast> == 2);
static_assert(kFieldCount<LongArray> == 2);

// Types with constructors from many types.
struct Library {
  std::any any;
  std::optional<int> optional;
  std::optional<std::any> optional_any;
  std::variant<int, std::string> variant;
  std::function<int(int)> function;
  std::string string;
  std::string_view view;
  std::vector<std::vector<int>> vectors;
  std::map<std::string, double> map;
  std::pair<int, int> pair;
  std::tuple<int, std::string> tuple;
  std::shared_ptr<int> shared;
};

TEST(Reflect, LibraryTypesCountOnce) {
  EXPECT_EQ(names_of<Library>(),
            (Names{"any", "optional", "optional_any", "variant", "function", "string", "view",
                   "vectors", "map", "pair", "tuple", "shared"}));
}

struct MoveOnly {
  std::unique_ptr<int> pointer;
  std::optional<std::unique_ptr<int>> optional;
};
struct Immovable {
  std::mutex mutex;
  std::atomic<int> atomic;
  int last;
};
struct WithoutDefault {
  NoDefault first;
  int middle = 3;
  NoDefault last;
};
struct Defaulted {
  int a = 1;
  std::string b = "b";
  NoDefault c{1, 2};
  std::vector<int> d = {1, 2};
};

TEST(Reflect, TypesThatAreNotCopiedOrNotDefaultMade) {
  EXPECT_EQ(names_of<MoveOnly>(), (Names{"pointer", "optional"}));
  EXPECT_EQ(names_of<Immovable>(), (Names{"mutex", "atomic", "last"}));
  EXPECT_EQ(names_of<WithoutDefault>(), (Names{"first", "middle", "last"}));
  EXPECT_EQ(names_of<Defaulted>(), (Names{"a", "b", "c", "d"}));
}

struct Node {
  int value;
  std::vector<Node> children;
  std::optional<std::vector<Node>> others;
  std::unique_ptr<Node> next;
};

TEST(Reflect, RecursiveTypes) {
  EXPECT_EQ(names_of<Node>(), (Names{"value", "children", "others", "next"}));
}

template <class T>
struct Pair {
  T first_one;
  T second2;
};

TEST(Reflect, TemplatesAndLocalTypes) {
  struct Local {
    int a_;
    Pair<Point> pair;
  };
  EXPECT_EQ(names_of<Pair<Point>>(), (Names{"first_one", "second2"}));
  EXPECT_EQ(names_of<Pair<Pair<Empty>>>(), (Names{"first_one", "second2"}));
  EXPECT_EQ(names_of<Local>(), (Names{"a_", "pair"}));
}

TEST(Reflect, VisitsTheFieldsThemselves) {
  Defaulted object;
  Names names;
  for_each_field(object, [&](std::string_view name, auto& field) {
    names.emplace_back(name);
    if constexpr (std::same_as<decltype(field), int&>) field = 7;
    if constexpr (std::same_as<decltype(field), std::string&>) field += "!";
  });
  EXPECT_EQ(names, (Names{"a", "b", "c", "d"}));
  EXPECT_EQ(object.a, 7);
  EXPECT_EQ(object.b, "b!");
}

TEST(Reflect, FieldsOfAConstObjectAreConst) {
  const Point point{1, 2};
  double sum = 0;
  for_each_field(point, [&](std::string_view, auto& field) {
    static_assert(std::same_as<decltype(field), const double&>);
    sum += field;
  });
  EXPECT_EQ(sum, 3);
}

constexpr double sum_of(Point point) {
  double sum = 0;
  for_each_field(point, [&](std::string_view, double field) { sum += field; });
  return sum;
}
static_assert(sum_of({3, 4}) == 7);
static_assert(field_name<Point, 1>() == "y");
static_assert(field_name<const Point, 0>() == "x");

// ---- Classes that list their fields.

class Layer {
 public:
  static constexpr auto fields() { return plait::fields<Layer>("scale", &Layer::scale_); }
  int scale() const { return scale_; }

 private:
  int scale_ = 1;
};

class Linear : public Layer {
 public:
  explicit Linear(int in) : weight_(in, 0.5) {}
  static constexpr auto fields() {
    return plait::fields<Linear>(plait::fields_of_base<Layer>(), "weight", &Linear::weight_, "bias",
                                 &Linear::bias_);
  }
  const std::vector<double>& weight() const { return weight_; }

 private:
  std::vector<double> weight_;
  std::string cache_ = "not listed";
  double bias_ = 0;
};

struct Named : Point {  // the base is a plain struct
  std::string name;
  static constexpr auto fields() {
    return plait::fields<Named>("name", &Named::name, plait::fields_of_base<Point>());
  }
};

struct Nothing {
  explicit Nothing(int) {}
  static constexpr auto fields() { return plait::fields<Nothing>(); }
};

struct Swapped {  // listed in another order than declared
  int first, second;
  static constexpr auto fields() {
    return plait::fields<Swapped>("b", &Swapped::second, "a", &Swapped::first);
  }
};

TEST(Reflect, ListedFieldsMayBePrivateAndInherited) {
  EXPECT_EQ(names_of<Linear>(), (Names{"scale", "weight", "bias"}));
  EXPECT_EQ(names_of<Named>(), (Names{"name", "x", "y"}));
  EXPECT_EQ(names_of<Swapped>(), (Names{"b", "a"}));
  static_assert(kFieldCount<Nothing> == 0);

  Linear linear(2);
  for_each_field(linear, [&](std::string_view name, auto& field) {
    if constexpr (std::same_as<decltype(field), int&>) field = 5;
    if constexpr (std::same_as<decltype(field), std::vector<double>&>) field.push_back(9);
    EXPECT_NE(name, "cache");
  });
  EXPECT_EQ(linear.scale(), 5);
  EXPECT_EQ(linear.weight(), (std::vector<double>{0.5, 0.5, 9}));

  const Named named{{1, 2}, "n"};
  std::string text;
  for_each_field(named, [&](std::string_view name, const auto& field) {
    text += fmt::format("{}={} ", name, field);
  });
  EXPECT_EQ(text, "name=n x=1 y=2 ");
}

// ---- Types that cannot be reflected.

struct Derived : Point {
  int z;
};
struct FromEmpty : Empty {
  int z;
};
struct FieldOfItsBasesType {
  std::any first;
  Empty second;
};
union Union {
  int a;
  float b;
};
struct FieldsIsData {
  std::vector<int> fields;
};

static_assert(Reflectable<Point> && Reflectable<const Point> && Reflectable<Empty>);
static_assert(Reflectable<Linear> && Reflectable<Nothing> && Reflectable<FieldsIsData>);
static_assert(Reflectable<FieldOfItsBasesType>);
static_assert(!Reflectable<Derived> && !Reflectable<FromEmpty>);
static_assert(!Reflectable<int> && !Reflectable<Union> && !Reflectable<NoDefault>);
static_assert(!Reflectable<int[3]> && !Reflectable<std::array<int, 3>>);
static_assert(!Reflectable<std::string> && !Reflectable<std::vector<int>>);
static_assert(kFieldCount<FieldsIsData> == 1);

}  // namespace
}  // namespace plait::reflect
