// Reflection: the fields of a struct, by name and in the order of declaration, without listing
// them.
//
// A plain aggregate (no constructors, private members or base classes) needs nothing. Any other
// class lists its fields once, in a static member function:
//
//   class Linear : public Layer {
//    public:
//     static constexpr auto fields() {
//       return plait::fields<Linear>(plait::fields_of_base<Layer>(), "weight", &Linear::weight_,
//                                    "bias", &Linear::bias_);
//     }
//     ...
//   };
//
// For a class that cannot be changed, FieldsOf is specialised. A function that returns a reference
// represents a private field:
//
//   template <>
//   struct plait::FieldsOf<theirs::Scale> {
//     static constexpr auto fields() {
//       return plait::fields<theirs::Scale>(
//           "factor", [](auto& scale) -> auto& { return scale.factor(); });
//     }
//   };
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <functional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "plait/core/trees/reflect_bindings.h"

namespace plait {

// To be specialised, with a static fields(), for classes that cannot list their fields themselves.
template <class T>
struct FieldsOf {};

namespace reflect {

template <class Owner, class Member>
struct NamedMember {
  std::string_view name;
  Member Owner::* pointer;
};

// A field that access(owner) returns a reference to.
template <class Owner, class Access>
struct NamedAccess {
  std::string_view name;
  Access access;
};

template <class Base>
struct FieldsOfBase {};

// One entry inside the other: compilers need many times as long for a std::tuple of them.
template <class... Entries>
struct EntryList {};
template <class First, class... Rest>
struct EntryList<First, Rest...> {
  First first;
  EntryList<Rest...> rest;
};

// The type that fields() of a class returns.
template <class Owner, class... Entries>
struct FieldList {
  using OwnerType = Owner;
  EntryList<Entries...> entries;
};

template <class F>
constexpr void for_each_entry(EntryList<>, const F&) {}
template <class First, class... Rest, class F>
constexpr void for_each_entry(const EntryList<First, Rest...>& list, const F& visit) {
  visit(list.first);
  for_each_entry(list.rest, visit);
}

// ---- The number of fields of an aggregate: the maximum number of initialisers.

// Converts to the type of any field of T. Never executed, but clang requires a body if a
// constructor of the field's type converts it. const makes it the worse match if a field's type can
// be constructed from anything (std::any, std::optional), which would be ambiguous otherwise.
template <class T>
struct AnyField {
  template <class Field>
    requires(!std::same_as<Field, T>)
  operator Field() const {  // NOLINT(google-explicit-constructor): the purpose
    __builtin_unreachable();
  }
};

template <class T>
struct AnyBase {
  template <class Base>
    requires(std::is_base_of_v<Base, T> && !std::same_as<Base, T>)
  operator Base() const {  // NOLINT(google-explicit-constructor): the purpose
    __builtin_unreachable();
  }
};

struct NoField {};

template <class T, size_t>
using AnyFieldAt = AnyField<T>;

template <class T>
struct Initialisable {
  // T{any, any, ...}
  template <size_t flat>
  static consteval bool from() {
    return []<size_t... i>(std::index_sequence<i...>) {
      return requires { T{AnyFieldAt<T, i>{}...}; };
    }(std::make_index_sequence<flat>{});
  }

  // T{any × before, {any × inside}, any × after}
  template <size_t before, size_t inside, size_t after>
  static consteval bool from_braced() {
    return []<size_t... i, size_t... j, size_t... k>(
               std::index_sequence<i...>, std::index_sequence<j...>, std::index_sequence<k...>) {
      return requires { T{AnyFieldAt<T, i>{}..., {AnyFieldAt<T, j>{}...}, AnyFieldAt<T, k>{}...}; };
    }(std::make_index_sequence<before>{}, std::make_index_sequence<inside>{},
           std::make_index_sequence<after>{});
  }

  // T{first, any, any, ...}
  template <class First, size_t after>
  static consteval bool from_first() {
    return []<size_t... i>(std::index_sequence<i...>) {
      return requires { T{First{}, AnyFieldAt<T, i>{}...}; };
    }(std::make_index_sequence<after>{});
  }
};

// The largest n in [low, high) for which T can be constructed from n initialisers; `low` is valid.
template <class T, size_t low, size_t high>
consteval size_t most_initialisers_below() {
  constexpr size_t middle = low + (high - low) / 2;
  if constexpr (middle == low) {
    return low;
  } else if constexpr (Initialisable<T>::template from<middle>()) {
    return most_initialisers_below<T, middle, high>();
  } else {
    return most_initialisers_below<T, low, middle>();
  }
}

template <class T, size_t low, size_t step>
consteval size_t most_initialisers_from() {
  if constexpr (Initialisable<T>::template from<low + step>()) {
    return most_initialisers_from<T, low + step, step * 2>();
  } else {
    return most_initialisers_below<T, low, low + step>();
  }
}

inline constexpr size_t kUnknownCount = ~size_t{0};

// The number of initialisers of T, where a C array takes one for each of its elements. If the last
// fields of T have no default, a minimum number is required, so the search starts at the smallest
// valid number.
template <class T, size_t fewest = 0>
consteval size_t most_initialisers() {
  if constexpr (Initialisable<T>::template from<fewest>()) {
    return most_initialisers_from<T, fewest, 4>();
  } else if constexpr (fewest < 2 * kMostFields) {
    return most_initialisers<T, fewest + 1>();
  } else {
    return kUnknownCount;
  }
}

// The number of T's `total` initialisers that the field at `position` takes: one, or the number of
// elements of a C array. Tested with braces around n initialisers: an array of n accepts them and
// leaves room for total - position - n more, any other field leaves room for total - position - 1.
template <class T, size_t total, size_t position, size_t size = 0>
consteval size_t initialisers_of_field() {
  constexpr size_t after = total - position;
  if constexpr (size > after) {
    return 1;
  } else if constexpr (Initialisable<T>::template from_braced<position, size, after - 1>()) {
    return 1;
  } else if constexpr (size > 1) {
    if constexpr (Initialisable<T>::template from_braced<position, size, after - size>()) {
      return size;
    } else {
      return initialisers_of_field<T, total, position, size + 1>();
    }
  } else {
    return initialisers_of_field<T, total, position, size + 1>();
  }
}

template <class T, size_t total, size_t position = 0>
consteval size_t count_fields() {
  if constexpr (total == kUnknownCount) {
    return kUnknownCount;
  } else if constexpr (position == total) {
    return 0;
  } else {
    return 1 + count_fields<T, total, position + initialisers_of_field<T, total, position>()>();
  }
}

template <class T>
inline constexpr size_t kMostInitialisers = most_initialisers<T>();

// A base class would be initialised first. (If the first field accepts anything, the test tells
// nothing.)
template <class T>
consteval bool has_base() {
  constexpr size_t total = kMostInitialisers<T>;
  if constexpr (total == 0 || total == kUnknownCount) {
    return false;
  } else {
    return Initialisable<T>::template from_first<AnyBase<T>, total - 1>() &&
           !Initialisable<T>::template from_first<NoField, total - 1>();
  }
}

// ---- Types that can be reflected.

template <class T>
inline constexpr bool is_field_list = false;
template <class Owner, class... Entries>
inline constexpr bool is_field_list<FieldList<Owner, Entries...>> = true;

template <class T>
inline constexpr bool is_std_array = false;
template <class T, size_t size>
inline constexpr bool is_std_array<std::array<T, size>> = true;

template <class T>
concept ListsItsFields =
    std::is_class_v<T> && requires { T::fields(); } && is_field_list<decltype(T::fields())>;
template <class T>
concept IsListedOutside = requires { FieldsOf<T>::fields(); };
template <class T>
concept ListsFields = IsListedOutside<T> || ListsItsFields<T>;

template <class T>
concept PlainAggregate =
    std::is_class_v<T> && std::is_aggregate_v<T> && !is_std_array<T> && !has_base<T>();

template <class T>
concept Reflectable = ListsFields<std::remove_const_t<T>> || PlainAggregate<std::remove_const_t<T>>;

template <class T>
  requires IsListedOutside<T>
constexpr auto field_list() {
  return FieldsOf<T>::fields();
}
template <class T>
constexpr auto field_list() {
  static_assert(std::same_as<T, typename decltype(T::fields())::OwnerType>,
                "fields() is inherited and would lose what this class adds: define them in this "
                "class, return plait::fields<Derived>"
                "(plait::fields_of_base<Base>(), ...)");
  return T::fields();
}

template <class T>
consteval size_t field_count();

template <class T>
inline constexpr size_t kFieldCount = field_count<std::remove_const_t<T>>();

template <class Owner, class Member>
consteval size_t count_of_entry(std::type_identity<NamedMember<Owner, Member>>) {
  return 1;
}
template <class Owner, class Access>
consteval size_t count_of_entry(std::type_identity<NamedAccess<Owner, Access>>) {
  return 1;
}
template <class Base>
consteval size_t count_of_entry(std::type_identity<FieldsOfBase<Base>>) {
  return kFieldCount<Base>;
}

template <class T>
consteval size_t field_count() {
  static_assert(Reflectable<T>,
                "not a plain struct: list its fields in a static member function fields()");
  if constexpr (ListsFields<T>) {
    return []<class... Entries>(const FieldList<T, Entries...>&) {
      return (size_t{0} + ... + count_of_entry(std::type_identity<Entries>{}));
    }(field_list<T>());
  } else {
    constexpr size_t count = count_fields<T, kMostInitialisers<T>>();
    static_assert(count != kUnknownCount,
                  "cannot count the fields of this struct (a reference among them?): list them in "
                  "a static member function fields()");
    return count;
  }
}

// ---- Names.

// A T that is never defined: only the addresses of its fields are used, at compile time.
template <class T>
struct Imaginary {
  const T object;
};
#if defined(__clang__)  // never defined
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
template <class T>
extern const Imaginary<T> imaginary;

template <class T, size_t index>
consteval auto address_of_field() {
  return with_fields<kFieldCount<T>>(imaginary<T>.object, [](auto&... fields) {
    return std::get<index>(std::tuple{std::addressof(fields)...});
  });
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

// The compiler's name of this function ends in the name of what `address` points to and a bracket:
//   ... [address = &imaginary.object.x]
//   ... [with auto address = (& imaginary<Point>.Imaginary<Point>::object.Point::x)]
template <auto address>
consteval auto name_of_pointee() {  // auto: gcc would append the expansion of std::string_view
  std::string_view text = __PRETTY_FUNCTION__;
  const auto is_letter = [](char c) {
    return c == '_' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  };
  while (!is_letter(text.back())) text.remove_suffix(1);
  size_t begin = text.size();
  while (is_letter(text[begin - 1])) --begin;
  return text.substr(begin);
}

template <class T>
constexpr auto type_name() {  // "Point", "std::vector<int>"; the spelling depends on the compiler
  const std::string_view text = __PRETTY_FUNCTION__;  // ... [T = Point] or ... [with T = Point]
  const size_t begin = text.find("T = ") + 4;
  return text.substr(begin, text.size() - 1 - begin);
}

template <class T>
consteval auto names_of_fields();

template <class T>
inline constexpr std::array<std::string_view, kFieldCount<T>> kFieldNames =
    names_of_fields<std::remove_const_t<T>>();

template <class Owner, class Member>
constexpr std::array<std::string_view, 1> names_of_entry(const NamedMember<Owner, Member>& member) {
  return {member.name};
}
template <class Owner, class Access>
constexpr std::array<std::string_view, 1> names_of_entry(const NamedAccess<Owner, Access>& entry) {
  return {entry.name};
}
template <class Base>
constexpr const auto& names_of_entry(FieldsOfBase<Base>) {
  return kFieldNames<Base>;
}

template <class T>
consteval auto names_of_fields() {
  std::array<std::string_view, kFieldCount<T>> names;
  if constexpr (ListsFields<T>) {
    size_t next = 0;
    const auto append = [&](const auto& more) {
      for (std::string_view name : more) names[next++] = name;
    };
    for_each_entry(field_list<T>().entries,
                   [&](const auto& entry) { append(names_of_entry(entry)); });
  } else {
    [&]<size_t... i>(std::index_sequence<i...>) {
      ((names[i] = name_of_pointee<address_of_field<T, i>()>()), ...);
    }(std::make_index_sequence<kFieldCount<T>>{});
  }
  return names;
}

// An empty name is left out of paths, and may be there several times.
template <class T>
consteval bool names_differ() {
  const auto& names = kFieldNames<T>;
  for (size_t i = 1; i < names.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (names[i] == names[j] && !names[i].empty()) return false;
    }
  }
  return true;
}

template <class T, size_t index>
constexpr std::string_view field_name() {
  static_assert(index < kFieldCount<T>, "unknown field");
  return kFieldNames<T>[index];
}

// ---- Visiting.

template <class T, class F>
constexpr void for_each_field(T& object, F&& visit);

template <class T, class F, class Owner, class Member>
constexpr void visit_entry(T& object, F& visit, const NamedMember<Owner, Member>& member) {
  visit(member.name, object.*member.pointer);
}
template <class T, class F, class Owner, class Access>
constexpr void visit_entry(T& object, F& visit, const NamedAccess<Owner, Access>& entry) {
  static_assert(std::is_lvalue_reference_v<decltype(std::invoke(entry.access, object))>,
                "a function that stands for a field must return a reference to it");
  visit(entry.name, std::invoke(entry.access, object));
}
template <class T, class F, class Base>
constexpr void visit_entry(T& object, F& visit, FieldsOfBase<Base>) {
  using BaseLikeT = std::conditional_t<std::is_const_v<T>, const Base, Base>;
  for_each_field(static_cast<BaseLikeT&>(object), visit);
}

// Calls visit(name, field) for each field in the order of declaration; the fields are const if the
// object is.
template <class T, class F>
constexpr void for_each_field(T& object, F&& visit) {
  using Plain = std::remove_const_t<T>;
  static_assert(Reflectable<Plain>,
                "not a plain struct: list its fields in a static member function fields()");
  if constexpr (ListsFields<Plain>) {
    static_assert(
        names_differ<Plain>(),
        "two fields, of the class or of its bases, have the same name: their tensors would share "
        "one path, one parameter");
    for_each_entry(field_list<Plain>().entries,
                   [&](const auto& entry) { visit_entry(object, visit, entry); });
  } else {
    with_fields<kFieldCount<Plain>>(object, [&](auto&... fields) {
      size_t next = 0;
      (visit(kFieldNames<Plain>[next++], fields), ...);
    });
  }
}

// ---- Parsing the arguments of fields().

template <class Entry, class... Rest>
constexpr EntryList<Entry, Rest...> before(const Entry& entry, const EntryList<Rest...>& rest) {
  return {entry, rest};
}

template <class Owner>
constexpr EntryList<> entries_of() {
  return {};
}
template <class Owner, class Member, class Class, class... Rest>
  requires std::derived_from<Owner, Class>
constexpr auto entries_of(std::string_view name, Member Class::* pointer, const Rest&... rest);
template <class Owner, class Access, class... Rest>
  requires std::is_class_v<Access>
constexpr auto entries_of(std::string_view name, const Access& access, const Rest&... rest);

template <class Owner, class Base, class... Rest>
constexpr auto entries_of(FieldsOfBase<Base> base, const Rest&... rest) {
  static_assert(std::derived_from<Owner, Base>, "fields_of_base<Base>(): Base is not a base class");
  return before(base, entries_of<Owner>(rest...));
}
template <class Owner, class Member, class Class, class... Rest>
  requires std::derived_from<Owner, Class>
constexpr auto entries_of(std::string_view name, Member Class::* pointer, const Rest&... rest) {
  return before(NamedMember<Owner, Member>{name, pointer}, entries_of<Owner>(rest...));
}
template <class Owner, class Access, class... Rest>
  requires std::is_class_v<Access>
constexpr auto entries_of(std::string_view name, const Access& access, const Rest&... rest) {
  return before(NamedAccess<Owner, Access>{name, access}, entries_of<Owner>(rest...));
}

template <class Owner, class... Entries>
constexpr FieldList<Owner, Entries...> field_list_of(const EntryList<Entries...>& entries) {
  return {entries};
}

}  // namespace reflect

// The fields of Owner, for its fields(): pairs of a name and a member pointer or function, or
// fields_of_base<Base>() at the position of the inherited ones. In paths a field whose name is
// empty is left out: the entries of a map are then named like fields.
template <class Owner, class... Parts>
constexpr auto fields(const Parts&... parts) {
  return reflect::field_list_of<Owner>(reflect::entries_of<Owner>(parts...));
}

template <class Base>
constexpr reflect::FieldsOfBase<Base> fields_of_base() {
  return {};
}

}  // namespace plait
