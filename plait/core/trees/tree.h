// Trees: models, optimizer states, batches. A tree is any nesting of plain structs
// (plait/core/trees/reflect.h), tuples, pairs, arrays, vectors, maps, optionals and variants with
// leaves of a leaf type, usually Tensor. Everything else in it is static: part of the tree's key,
// not of its values.
//
//   trees::for_each_leaf<Leaf>(model, [](std::string_view path, Leaf& leaf) { ... });
//   Model zeros = trees::map_leaves<Leaf>(model, zeros_like);
//   Model sum = trees::map_leaves<Leaf>(add, model, gradient);
//   cache[key_of(model)]
//
// For tensors (tensor/tensor.h), <Leaf> is omitted. Leaves in a Buffers are not parameters:
// gradients and optimizers leave them out. Only one function is compiled to traverse the trees of a
// type: `walk`, which reports each part to a TreeVisitor.
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
#include <span>
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
#include "plait/core/function_ref.h"
#include "plait/core/trees/reflect.h"
#include "plait/core/trees/tree_key.h"
#include "plait/core/trees/tree_visitor.h"

namespace plait {

// Specialised as true for leaf types.
template <class T>
inline constexpr bool is_tree_leaf = false;

// A tree whose leaves are not parameters of a model: running statistics, tables, frozen weights.
// Otherwise it is a T.
template <class T>
struct Buffers : T {
  Buffers() = default;
  Buffers(T tree) : T(std::move(tree)) {}  // NOLINT(google-explicit-constructor): is a T
};

namespace trees {

// ---- The role of a type in a tree.

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
template <class A>  // static, by its hash and ==
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
inline constexpr bool is_buffers = false;
template <class T>
inline constexpr bool is_buffers<Buffers<T>> = true;

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
  } else if constexpr (is_buffers<T>) {
    return TreeForm::buffers;
  } else if constexpr (container_of<T> != Container::none) {
    return form_of_container<T>();
  } else if constexpr (Word<T>) {
    return TreeForm::value;
  } else if constexpr (Text<T>) {
    return TreeForm::text;
  } else if constexpr (reflect::Reflectable<T>) {
    return TreeForm::record;
  } else if constexpr (std::is_empty_v<T>) {
    return TreeForm::tuple;  // for example a function object: only its type counts
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

// ---- Traversal.

template <class T>
StaticValue static_value(const T& value) {
  if constexpr (Word<T>) {
    return {.type = kType<T>, .word = word_of(value)};
  } else if constexpr (Text<T>) {
    return {.type = kType<T>, .text = value};
  } else {
    return {.type = kType<T>,
            .word = std::hash<T>{}(value),
            .object = &value,
            .keep = [](const void* object) -> std::shared_ptr<const OpaqueValue> {
              return std::make_shared<const OpaqueOf<T>>(*static_cast<const T*>(object),
                                                         &text_of_opaque<T>);
            }};
  }
}

template <class T>
void walk(T& tree, TreeVisitor& visitor);

template <class Part>
void walk_part(auto name, Part& part, TreeVisitor& visitor) {
  const size_t mark = visitor.wants_names() ? visitor.push(name) : 0;
  walk(part, visitor);
  if (visitor.wants_names()) visitor.pop(mark);
}

// An element of a tuple. A tuple of references is only read: the leaves of another tree are never
// replaced.
template <size_t index, class Tuple>
auto& element_of(Tuple& tuple) {
  using Element = std::tuple_element_t<index, Tuple>;
  if constexpr (std::is_reference_v<Element>) {
    return const_cast<std::remove_cvref_t<Element>&>(std::get<index>(tuple));
  } else {
    return std::get<index>(tuple);
  }
}

// The entries of an unordered map, sorted by key.
template <class Map>
auto in_order(Map& map) {
  std::vector<decltype(&*map.begin())> entries;
  for (auto& entry : map) entries.push_back(&entry);
  std::sort(entries.begin(), entries.end(), [](auto* a, auto* b) { return a->first < b->first; });
  return entries;
}

template <class Entry>
void walk_entry(Entry& entry, TreeVisitor& visitor) {
  using Key = std::remove_const_t<decltype(entry.first)>;
  static_assert(Text<Key> || std::integral<Key>,
                "the keys of a map in a tree are strings or integers");
  visitor.key(static_value(entry.first));
  if constexpr (Text<Key>) {
    walk_part(std::string_view(entry.first), entry.second, visitor);
  } else {
    walk_part(std::string_view(std::to_string(entry.first)), entry.second, visitor);
  }
}

template <class T>
void walk_container(T& tree, TreeVisitor& visitor) {
  constexpr Container container = container_of<T>;
  if constexpr (container == Container::tuple) {
    visitor.begin(kType<T>, 0);
    [&]<size_t... i>(std::index_sequence<i...>) {
      (walk_part(i, element_of<i>(tree), visitor), ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  } else if constexpr (container == Container::array || container == Container::vector) {
    visitor.begin(kType<T>, container == Container::array ? 0 : std::size(tree));
    size_t index = 0;
    for (auto& element : tree) walk_part(index++, element, visitor);
  } else if constexpr (container == Container::map) {
    visitor.begin(kType<T>, tree.size());
    for (auto& entry : tree) walk_entry(entry, visitor);
  } else if constexpr (container == Container::unordered_map) {
    visitor.begin(kType<T>, tree.size());
    for (auto* entry : in_order(tree)) walk_entry(*entry, visitor);
  } else if constexpr (container == Container::optional) {
    visitor.begin(kType<T>, tree.has_value() ? 1 : 0);
    if (tree.has_value()) walk(*tree, visitor);
  } else {
    static_assert(container == Container::variant);
    visitor.begin(kType<T>, tree.index());
    if (!tree.valueless_by_exception()) {
      std::visit([&](auto& alternative) { walk(alternative, visitor); }, tree);
    }
  }
}

template <class T>
T& tree_of(Buffers<T>& buffers) {
  return buffers;
}

template <class T>
void walk_buffers(Buffers<T>& tree, TreeVisitor& visitor) {
  visitor.begin(kType<Buffers<T>>, 0);
  visitor.enter_buffers();
  walk(tree_of(tree), visitor);
  visitor.leave_buffers();
}

template <class T>
void walk_plain(T& tree, TreeVisitor& visitor) {
  constexpr TreeForm form = form_of<T>();
  if constexpr (form == TreeForm::leaf) {
    visitor.leaf(&tree, kType<T>);
  } else if constexpr (form == TreeForm::buffers) {
    walk_buffers(tree, visitor);
  } else if constexpr (kIsStatic<T>) {
    visitor.fixed(static_value(tree));
  } else if constexpr (container_of<T> != Container::none) {
    walk_container(tree, visitor);
  } else {
    visitor.begin(kType<T>, 0);
    if constexpr (form == TreeForm::record) {
      reflect::for_each_field(tree, [&](std::string_view name, auto& field) {
        if (name.empty()) {
          walk(field, visitor);
        } else {
          walk_part(name, field, visitor);
        }
      });
    }
  }
}

// Reports each part of the tree to the visitor. Only a visitor that changes leaves changes the
// tree, and it must not receive a const tree.
template <class T>
void walk(T& tree, TreeVisitor& visitor) {
  using Plain = std::remove_const_t<T>;
  static_assert(!(std::is_const_v<T> && is_tree_leaf<Plain>),
                "this leaf cannot be replaced: it is const");
  walk_plain(const_cast<Plain&>(tree), visitor);
}

// Walks a whole tree, which may be const.
template <class T>
void walk_tree(const T& tree, TreeVisitor& visitor) {
  walk_plain(const_cast<T&>(tree), visitor);
}

// Casts a leaf to the type that the caller expects. TypeError if the tree has leaves of another
// type.
template <class Leaf>
Leaf& leaf_as(void* leaf, const TreeType& type) {
  if (&type != &kType<Leaf>) refuse_leaf(type, kType<Leaf>);
  return *static_cast<Leaf*>(leaf);
}

template <class Leaf>
struct LeafVisitor final : TreeVisitor {
  explicit LeafVisitor(FunctionRef<void(Leaf&)> each) : visit(each) {}
  void leaf(void* leaf, const TreeType& type) override { visit(leaf_as<Leaf>(leaf, type)); }
  FunctionRef<void(Leaf&)> visit;
};

template <class Leaf>
struct NamedLeafVisitor final : PathVisitor {
  explicit NamedLeafVisitor(FunctionRef<void(std::string_view, Leaf&)> each) : visit(each) {}
  void leaf(void* leaf, const TreeType& type) override { visit(path(), leaf_as<Leaf>(leaf, type)); }
  FunctionRef<void(std::string_view, Leaf&)> visit;
};

// The type of a leaf in a tree of type T: const if the tree is.
template <class Leaf, class T>
using LeafOf = std::conditional_t<std::is_const_v<T>, const Leaf, Leaf>;

template <class Leaf, class T>
void for_each_plain_leaf(T& tree, FunctionRef<void(LeafOf<Leaf, T>&)> visit) {
  LeafVisitor<Leaf> visitor(visit);
  walk_tree(tree, visitor);
}

// A KeyVisitor that also calls visit(leaf) for each leaf.
template <class Leaf>
struct LeafKeyVisitor final : KeyVisitor {
  LeafKeyVisitor(Statics statics, FunctionRef<void(const Leaf&)> each)
      : KeyVisitor(statics), visit(each) {}
  void leaf(void* leaf, const TreeType& type) override {
    KeyVisitor::leaf(leaf, type);
    visit(leaf_as<Leaf>(leaf, type));
  }
  FunctionRef<void(const Leaf&)> visit;
};

// The key without static values; calls visit(leaf) for each leaf.
template <class Leaf, class T>
TreeKey structure_of(const T& tree, FunctionRef<void(const Leaf&)> visit) {
  LeafKeyVisitor<Leaf> visitor(Statics::do_not_count, visit);
  walk_tree(tree, visitor);
  return visitor.finish();
}

// Calls visit(path, leaf, is_buffer) for each leaf.
template <class Leaf>
struct LeafRoleVisitor final : PathVisitor {
  explicit LeafRoleVisitor(FunctionRef<void(std::string_view, Leaf&, bool)> each) : visit(each) {}
  void leaf(void* leaf, const TreeType& type) override {
    visit(path(), leaf_as<Leaf>(leaf, type), in_buffers());
  }
  FunctionRef<void(std::string_view, Leaf&, bool)> visit;
};

// Calls visit(path, leaf) for each leaf, in the order of declaration; maps are sorted by key. The
// leaves are const if the tree is. TypeError if one is not a Leaf.
template <class Leaf, class T>
void for_each_leaf(T& tree, FunctionRef<void(std::string_view, LeafOf<Leaf, T>&)> visit) {
  NamedLeafVisitor<Leaf> visitor(visit);
  walk_tree(tree, visitor);
}
template <class Leaf, class T>
void for_each_leaf_and_role(T& tree,
                            FunctionRef<void(std::string_view, LeafOf<Leaf, T>&, bool)> visit) {
  LeafRoleVisitor<Leaf> visitor(visit);
  walk_tree(tree, visitor);
}

}  // namespace trees

template <class T>
size_t leaf_count(const T& tree) {
  trees::LeafCounter counter;
  trees::walk_tree(tree, counter);
  return counter.count;
}

template <class T>
std::vector<std::string> leaf_paths(const T& tree) {
  trees::LeafPaths visitor;
  trees::walk_tree(tree, visitor);
  return std::move(visitor.paths);
}

// Pointers to the leaves: leaves<Tensor>(model).
template <class Leaf, class T>
std::vector<trees::LeafOf<Leaf, T>*> leaves(T& tree) {
  std::vector<trees::LeafOf<Leaf, T>*> result;
  trees::for_each_plain_leaf<Leaf>(tree, [&](auto& leaf) { result.push_back(&leaf); });
  return result;
}

namespace trees {

// Replaces the leaves by these, in the same order. ValueError if their number differs.
template <class Leaf, class T>
void assign_leaves(T& tree, std::span<const Leaf> new_leaves) {
  size_t count = 0;
  for_each_plain_leaf<Leaf>(tree, [&](Leaf& leaf) {
    if (count < new_leaves.size()) leaf = new_leaves[count];
    ++count;
  });
  if (count != new_leaves.size()) refuse_leaf_count(count, new_leaves.size());
}

// The tree with each leaf replaced by f(leaf).
template <class Leaf, class T, class F>
T map_leaves(T tree, F&& f) {
  for_each_plain_leaf<Leaf>(tree, [&](Leaf& leaf) { leaf = f(std::as_const(leaf)); });
  return tree;
}

// The first tree with each leaf replaced by f(leaf, leaf of b at the same place). ValueError that
// names the first difference unless the trees have the same structure; their static values may
// differ.
template <class Leaf, class F, class T>
T map_leaves(F&& f, T a, const T& b) {
  std::vector<const Leaf*> others;
  const TreeKey structure = structure_of<Leaf>(a, [](const Leaf&) {});
  const TreeKey other_structure =
      structure_of<Leaf>(b, [&](const Leaf& leaf) { others.push_back(&leaf); });
  if (structure != other_structure) refuse_structure(structure, other_structure);
  size_t next = 0;
  for_each_plain_leaf<Leaf>(a, [&](Leaf& leaf) { leaf = f(std::as_const(leaf), *others[next++]); });
  return a;
}

}  // namespace trees

// Equal for trees that differ only in the values of their leaves. Floats are compared by their
// bits: -0 and 0 differ, and a NaN equals itself.
template <class T>
TreeKey key_of(const T& tree) {
  trees::KeyVisitor visitor;
  trees::walk_tree(tree, visitor);
  return visitor.finish();
}
// The same; also calls visit(leaf) for each leaf.
template <class Leaf, class T>
TreeKey key_of(const T& tree, FunctionRef<void(const Leaf&)> visit) {
  trees::LeafKeyVisitor<Leaf> visitor(trees::Statics::count, visit);
  trees::walk_tree(tree, visitor);
  return visitor.finish();
}

}  // namespace plait
