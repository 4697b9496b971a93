// Trees: models, optimizer states, batches. A tree is any nesting of plain structs
// (plait/core/trees/reflect.h), tuples, pairs, arrays, vectors, maps, optionals and variants whose
// leaves are of a leaf type, Tensor above all. What else is in it is static: part of the tree's
// key, not of its values.
//
//   for_each_leaf(model, [](std::string_view path, Tensor& t) { ... });    //
//   "blocks.3.norm1.scale" Model zeros = map_leaves(model, zeros_like); Model sum = map_leaves(add,
//   model, gradient); cache[key_of(model)]
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "plait/core/error.h"
#include "plait/core/trees/reflect.h"
#include "plait/core/trees/tree_key.h"

namespace plait {

// Specialised as true by the rooms that have leaf types.
template <class T>
inline constexpr bool is_tree_leaf = false;

namespace trees {

// ---- What a type is in a tree.

enum class Container { none, tuple, array, vector, map, unordered_map, optional, variant, pointer };

template <class T>
inline constexpr Container container_of =
    std::is_pointer_v<T> && !std::is_function_v<std::remove_pointer_t<T>> ? Container::pointer
                                                                          : Container::none;
template <class... T>
inline constexpr Container container_of<std::tuple<T...>> = Container::tuple;
template <class A, class B>
inline constexpr Container container_of<std::pair<A, B>> = Container::tuple;
template <class T, size_t size>
inline constexpr Container container_of<std::array<T, size>> = Container::array;
template <class T, size_t size>
inline constexpr Container container_of<T[size]> = Container::array;
template <class T, class A>
inline constexpr Container container_of<std::vector<T, A>> = Container::vector;
template <class A>  // static, by the hash and == that it has
inline constexpr Container container_of<std::vector<bool, A>> = Container::none;
template <class K, class T, class C, class A>
inline constexpr Container container_of<std::map<K, T, C, A>> = Container::map;
template <class K, class T, class H, class E, class A>
inline constexpr Container container_of<std::unordered_map<K, T, H, E, A>> =
    Container::unordered_map;
template <class T>
inline constexpr Container container_of<std::optional<T>> = Container::optional;
template <class... T>
inline constexpr Container container_of<std::variant<T...>> = Container::variant;
template <class T, class D>
inline constexpr Container container_of<std::unique_ptr<T, D>> = Container::pointer;
template <class T>
inline constexpr Container container_of<std::shared_ptr<T>> = Container::pointer;
template <class T>
inline constexpr Container container_of<std::weak_ptr<T>> = Container::pointer;

template <class T>
concept Word = (std::is_arithmetic_v<T> && sizeof(T) <= sizeof(uint64_t)) || std::is_enum_v<T> ||
               std::is_function_v<std::remove_pointer_t<T>>;

template <class T>
concept Text = std::same_as<T, std::string> || std::same_as<T, std::string_view>;

template <class T>
concept Hashable = std::equality_comparable<T> && std::copy_constructible<T> &&
                   !std::is_floating_point_v<T> && requires(const T& value) {
                     { std::hash<T>{}(value) } -> std::convertible_to<size_t>;
                   };

template <class T>
consteval TreeForm form_of_container() {
  switch (container_of<T>) {
    case Container::vector: return TreeForm::sequence;
    case Container::map:
    case Container::unordered_map: return TreeForm::map;
    case Container::optional: return TreeForm::optional;
    case Container::variant: return TreeForm::variant;
    default: return TreeForm::tuple;
  }
}

template <class T>
consteval TreeForm form_of() {
  static_assert(container_of<T> != Container::pointer,
                "a tree owns its parts by value: use std::optional or std::vector instead of a "
                "pointer, or leave the pointer out of the struct's fields()");
  if constexpr (is_tree_leaf<T>) {
    return TreeForm::leaf;
  } else if constexpr (container_of<T> != Container::none) {
    return form_of_container<T>();
  } else if constexpr (Word<T>) {
    return TreeForm::value;
  } else if constexpr (Text<T>) {
    return TreeForm::text;
  } else if constexpr (reflect::Reflectable<T>) {
    return TreeForm::record;
  } else if constexpr (std::is_empty_v<T>) {
    return TreeForm::tuple;  // a function object, say: nothing but its type
  } else {
    static_assert(Hashable<T>,
                  "a static field of a tree must have std::hash and ==; or give its type a static "
                  "fields() that lists its parts, or leave it out of the fields() of its struct");
    return TreeForm::opaque;
  }
}

template <class T>
inline constexpr bool kIsStatic =
    form_of<T>() == TreeForm::value || form_of<T>() == TreeForm::text ||
    form_of<T>() == TreeForm::opaque;

// ---- Static values as words and as text.

template <class T>
uint64_t word_of(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::bit_cast<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(value);
  } else if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<uintptr_t>(value);
  } else {
    return static_cast<uint64_t>(value);
  }
}

template <class T>
std::string text_of_word(uint64_t word) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;
    return fmt::format("{}", std::bit_cast<T>(static_cast<Bits>(word)));
  } else if constexpr (requires(T value) { std::string(name_of(value)); }) {
    return std::string(name_of(static_cast<T>(word)));
  } else if constexpr (std::same_as<T, bool>) {
    return word != 0 ? "true" : "false";
  } else if constexpr (std::is_pointer_v<T>) {
    return fmt::format("the function at {:#x}", word);
  } else if constexpr (std::is_unsigned_v<T>) {
    return std::to_string(word);
  } else {
    return std::to_string(static_cast<int64_t>(word));
  }
}

template <class T>
std::string text_of_opaque(const T& value) {
  if constexpr (requires { std::string(value.text()); }) {
    return std::string(value.text());
  } else if constexpr (fmt::is_formattable<T>::value) {
    return fmt::format("{}", value);
  } else {
    return std::string("a ") + std::string(reflect::type_name<T>());
  }
}

template <class T>
inline constexpr size_t kElementCount = 0;
template <class T>
  requires requires { std::tuple_size<T>::value; }
inline constexpr size_t kElementCount<T> = std::tuple_size_v<T>;
template <class T, size_t size>
inline constexpr size_t kElementCount<T[size]> = size;
template <class... T>
inline constexpr size_t kElementCount<std::variant<T...>> = sizeof...(T);

template <class T>
constexpr TreeType type_of() {
  TreeType type{form_of<T>(), reflect::type_name<T>(), {}, kElementCount<T>};
  if constexpr (form_of<T>() == TreeForm::record) type.fields = reflect::kFieldNames<T>;
  if constexpr (form_of<T>() == TreeForm::value) type.text = &text_of_word<T>;
  return type;
}

template <class T>
inline constexpr TreeType kType = type_of<T>();

// ---- The walk. A visitor has
//   leaf(leaf), for each leaf;
//   push(name or index) and pop(what push returned), around each part that has one;
//   note(type, word), before the parts of everything that has parts;
//   fixed(value), for each static value;
//   key(key), before each value of a map.

template <class Tree, class Visitor>
void walk(Tree& tree, Visitor& visitor);

template <class Part, class Visitor>
void walk_part(auto name, Part& part, Visitor& visitor) {
  const size_t mark = visitor.push(name);
  walk(part, visitor);
  visitor.pop(mark);
}

// The entries of an unordered map, by key.
template <class Map>
auto in_order(Map& map) {
  std::vector<decltype(&*map.begin())> entries;
  for (auto& entry : map) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](auto* a, auto* b) { return a->first < b->first; });
  return entries;
}

template <class Entry, class Visitor>
void walk_entry(Entry& entry, Visitor& visitor) {
  using Key = std::remove_const_t<decltype(entry.first)>;
  static_assert(Text<Key> || std::integral<Key>,
                "the keys of a map in a tree are strings or integers");
  visitor.key(entry.first);
  if constexpr (Text<Key>) {
    walk_part(std::string_view(entry.first), entry.second, visitor);
  } else {
    walk_part(std::string_view(std::to_string(entry.first)), entry.second, visitor);
  }
}

template <class Tree, class Visitor>
void walk_container(Tree& tree, Visitor& visitor) {
  using T = std::remove_const_t<Tree>;
  constexpr Container container = container_of<T>;
  if constexpr (container == Container::tuple) {
    visitor.note(kType<T>, 0);
    [&]<size_t... i>(std::index_sequence<i...>) {
      (walk_part(i, std::get<i>(tree), visitor), ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (container == Container::array || container == Container::vector) {
    visitor.note(kType<T>, container == Container::array ? 0 : std::size(tree));
    size_t index = 0;
    for (auto& element : tree) walk_part(index++, element, visitor);
  } else if constexpr (container == Container::map) {
    visitor.note(kType<T>, tree.size());
    for (auto& entry : tree) walk_entry(entry, visitor);
  } else if constexpr (container == Container::unordered_map) {
    visitor.note(kType<T>, tree.size());
    for (auto* entry : in_order(tree)) walk_entry(*entry, visitor);
  } else if constexpr (container == Container::optional) {
    visitor.note(kType<T>, tree.has_value() ? 1 : 0);
    if (tree.has_value()) walk(*tree, visitor);
  } else {
    static_assert(container == Container::variant);
    visitor.note(kType<T>, tree.index());
    if (!tree.valueless_by_exception()) {
      std::visit([&](auto& alternative) { walk(alternative, visitor); }, tree);
    }
  }
}

template <class Tree, class Visitor>
void walk(Tree& tree, Visitor& visitor) {
  using T = std::remove_const_t<Tree>;
  constexpr TreeForm form = form_of<T>();
  if constexpr (form == TreeForm::leaf) {
    visitor.leaf(tree);
  } else if constexpr (kIsStatic<T>) {
    visitor.fixed(tree);
  } else if constexpr (container_of<T> != Container::none) {
    walk_container(tree, visitor);
  } else {
    visitor.note(kType<T>, 0);
    if constexpr (form == TreeForm::record) {
      reflect::for_each_field(
          tree, [&](std::string_view name, auto& field) { walk_part(name, field, visitor); });
    }
  }
}

template <class F>
struct LeafVisitor {
  F& visit;
  TreePath path;

  void leaf(auto& leaf) { visit(path.text(), leaf); }
  size_t push(auto name) { return path.push(name); }
  void pop(size_t length) { path.pop(length); }
  void note(const TreeType&, uint64_t) {}
  void fixed(const auto&) {}
  void key(const auto&) {}
};

// Spends nothing on paths.
template <class F>
struct PlainLeafVisitor {
  F& visit;

  void leaf(auto& leaf) { visit(leaf); }
  size_t push(const auto&) { return 0; }
  void pop(size_t) {}
  void note(const TreeType&, uint64_t) {}
  void fixed(const auto&) {}
  void key(const auto&) {}
};

template <class Tree, class F>
void for_each_plain_leaf(Tree& tree, F&& visit) {
  PlainLeafVisitor<F> visitor{visit};
  walk(tree, visitor);
}

// Without `statics` one static value is as good as another.
template <bool statics, class Visit>
struct KeyVisitor {
  Visit& visit;  // of each leaf
  TreeKeyBuilder builder = {};

  template <class Leaf>
  void leaf(const Leaf& leaf) {
    builder.add(kType<Leaf>);
    visit(leaf);
  }
  size_t push(const auto&) { return 0; }
  void pop(size_t) {}
  void note(const TreeType& type, uint64_t word) { builder.add(type, word); }
  void fixed(const auto& value) {
    if constexpr (statics) {
      key(value);
    } else {
      builder.add(kAnyStaticValue);
    }
  }
  template <class T>
  void key(const T& value) {
    if constexpr (Word<T>) {
      builder.add(kType<T>, word_of(value));
    } else if constexpr (Text<T>) {
      builder.add_text(kType<T>, value);
    } else {
      builder.add_opaque(kType<T>, value, &text_of_opaque<T>);
    }
  }
};

template <bool statics, class T, class Visit>
TreeKey key_of(const T& tree, Visit&& visit) {
  KeyVisitor<statics, Visit> visitor{visit};
  walk(tree, visitor);
  return std::move(visitor.builder).finish();
}

[[noreturn]] void refuse_leaf_count(size_t in_tree, size_t given);
[[noreturn]] void refuse_structure(const TreeKey& a, const TreeKey& b);

template <class Leaf, class Value>
void assign(Leaf& leaf, Value&& value) {
  static_assert(std::is_assignable_v<Leaf&, Value&&>,
                "this leaf cannot be replaced: it is const, or the new value is of another type");
  leaf = std::forward<Value>(value);
}

}  // namespace trees

// Calls visit(path, leaf) for each leaf, in the order of declaration; maps go by key. The leaves
// are const where the tree is.
template <class T, class F>
void for_each_leaf(T& tree, F&& visit) {
  trees::LeafVisitor<F> visitor{visit, {}};
  trees::walk(tree, visitor);
}

template <class T>
size_t leaf_count(const T& tree) {
  size_t count = 0;
  trees::for_each_plain_leaf(tree, [&](const auto&) { ++count; });
  return count;
}

template <class T>
std::vector<std::string> leaf_paths(const T& tree) {
  std::vector<std::string> paths;
  for_each_leaf(tree, [&](std::string_view path, const auto&) { paths.emplace_back(path); });
  return paths;
}

// Pointers to the leaves, all of which are of one type: leaves<Tensor>(model).
template <class Leaf, class T>
auto leaves(T& tree) {
  std::vector<std::conditional_t<std::is_const_v<T>, const Leaf, Leaf>*> result;
  trees::for_each_plain_leaf(tree, [&](auto& leaf) {
    static_assert(std::same_as<std::remove_cvref_t<decltype(leaf)>, Leaf>,
                  "the tree has leaves of another type");
    result.push_back(&leaf);
  });
  return result;
}

// The tree with these leaves (a vector or span) in the place of its own, in the same order.
// ValueError when their number differs.
template <class T, class Leaves>
T replace_leaves(T like, const Leaves& new_leaves) {
  const size_t count = leaf_count(like);
  if (count != new_leaves.size()) trees::refuse_leaf_count(count, new_leaves.size());
  size_t next = 0;
  trees::for_each_plain_leaf(like, [&](auto& leaf) { trees::assign(leaf, new_leaves[next++]); });
  return like;
}

// The tree with f(leaf) in the place of each leaf.
template <class T, class F>
T map_leaves(T tree, F&& f) {
  trees::for_each_plain_leaf(tree,
                             [&](auto& leaf) { trees::assign(leaf, f(std::as_const(leaf))); });
  return tree;
}

// The first tree with f(leaf, leaf of b in the same place) in the place of each leaf. ValueError
// that names the first difference unless the trees have the same structure; their static values may
// differ.
template <class F, class T>
T map_leaves(F&& f, T a, const T& b) {
  std::vector<const void*> others;  // whatever their types
  const TreeKey structure = trees::key_of<false>(a, [](const auto&) {});
  const TreeKey other_structure =
      trees::key_of<false>(b, [&](const auto& leaf) { others.push_back(&leaf); });
  if (structure != other_structure) trees::refuse_structure(structure, other_structure);
  size_t next = 0;
  trees::for_each_plain_leaf(
      a, [&]<class Leaf>(Leaf& leaf) {  // the same type at the same place in b
        trees::assign(leaf, f(std::as_const(leaf), *static_cast<const Leaf*>(others[next++])));
      });
  return a;
}

// Equal for trees that differ in nothing but the values of their leaves. Floats count by their
// bits: -0 and 0 differ, and a NaN equals itself.
template <class T>
TreeKey key_of(const T& tree) {
  return trees::key_of<true>(tree, [](const auto&) {});
}
// The same, while it calls visit(leaf) for each leaf.
template <class T, class Visit>
TreeKey key_of(const T& tree, Visit&& visit) {
  return trees::key_of<true>(tree, visit);
}

}  // namespace plait
