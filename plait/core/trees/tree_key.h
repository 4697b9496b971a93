// What makes two trees alike but for the values of their leaves: their types, the sizes of their
// containers, and their static fields. A compiled program is kept under such a key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plait {

enum class TreeForm {
  leaf,
  record,    // a struct, by its fields
  tuple,     // a fixed number of elements: tuple, pair, array
  sequence,  // vector
  map,
  optional,
  variant,
  value,   // a static value that fits a word: a number, a bool, an enumerator, a function's address
  text,    // a static string
  opaque,  // another static value, compared by its own ==
};

// A type that occurs in trees. There is one object for each type, so its address is the type's
// identity.
struct TreeType {
  TreeForm form;
  std::string_view name;                         // as the compiler spells it
  std::span<const std::string_view> fields;      // of a record
  size_t count = 0;                              // elements of a tuple
  std::string (*text)(uint64_t word) = nullptr;  // of a value
};

// Stands for a static value whose type and value do not count.
inline constexpr TreeType kAnyStaticValue{.form = TreeForm::value, .name = "static", .fields = {}};

// A static value that fits neither a word nor a text.
struct OpaqueValue {
  virtual ~OpaqueValue() = default;
  virtual bool equals(const OpaqueValue& other) const = 0;  // of the same type
  virtual std::string text() const = 0;
};

template <class T>
struct OpaqueOf final : OpaqueValue {
  OpaqueOf(const T& v, std::string (*t)(const T&)) : value(v), text_of(t) {}
  bool equals(const OpaqueValue& other) const override {
    return value == static_cast<const OpaqueOf&>(other).value;
  }
  std::string text() const override { return text_of(value); }

  T value;
  std::string (*text_of)(const T&);  // called only when the value has to be shown
};

// A static value as it is met in a tree.
struct StaticValue {
  const TreeType& type;
  uint64_t word = 0;  // its bits, or the hash of an opaque one
  std::string_view text = {};
  const void* object = nullptr;  // an opaque one, of which keep(object) makes a copy
  std::shared_ptr<const OpaqueValue> (*keep)(const void* object) = nullptr;
};

class TreeKey {
 public:
  uint64_t hash() const { return hash_; }  // valid within this process only
  friend bool operator==(const TreeKey& a, const TreeKey& b);

 private:
  friend class TreeKeyBuilder;
  friend class TreeKeyReader;

  // A tree is its tokens in the order of a walk, the parent before its children. A map's children
  // are a key and a value for each entry.
  struct Token {
    const TreeType* type;
    uint64_t word;  // the size of a sequence, map or text; 1 when an optional is there; a variant's
                    // index; the bits of a value; an opaque value's hash; else 0
    friend bool operator==(const Token&, const Token&) = default;
  };

  std::vector<Token> tokens_;
  std::string text_;  // of all text tokens
  std::vector<std::shared_ptr<const OpaqueValue>> opaque_;
  uint64_t hash_ = 0;
};

// Where two keys first differ and how: "blocks.3.heads: 8 ≠ 12". Empty when they are equal.
std::string explain_difference(const TreeKey& a, const TreeKey& b);

class TreeKeyBuilder {
 public:
  void add(const TreeType& type, uint64_t word = 0) { key_.tokens_.push_back({&type, word}); }
  void add(const StaticValue& value);
  TreeKey finish() &&;

 private:
  TreeKey key_;
};

// The name of a place in a tree, "blocks.3.norm1.scale", kept while walking. A name that could be
// taken for something else (an empty one, or one with a dot or a quote in it) is quoted.
class TreePath {
 public:
  // Appends a part, and returns what pop needs to take it off again.
  size_t push(std::string_view name);
  size_t push(size_t index);
  void pop(size_t length) { text_.resize(length); }
  std::string_view text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace plait

template <>
struct std::hash<plait::TreeKey> {
  size_t operator()(const plait::TreeKey& key) const noexcept {
    return static_cast<size_t>(key.hash());
  }
};
