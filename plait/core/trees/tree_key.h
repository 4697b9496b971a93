// The structure of a tree without the values of its leaves: types, sizes of containers, and static
// fields. Compiled programs are cached under such keys.
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
  record,    // a struct, with its fields
  tuple,     // a fixed number of elements: tuple, pair, array
  sequence,  // vector
  map,
  optional,
  variant,
  buffers,  // a tree whose leaves are not parameters
  value,    // a static value that fits in a word: a number, bool, enumerator, or function address
  text,     // a static string
  opaque,   // any other static value, compared with its ==
};

// A type that occurs in trees. There is one object for each type, so its address identifies the
// type.
struct TreeType {
  TreeForm form;
  std::string_view name;                         // the compiler's spelling
  std::span<const std::string_view> fields;      // fields of a record
  size_t count = 0;                              // elements of a tuple
  std::string (*text)(uint64_t word) = nullptr;  // prints a value
};

// Represents a static value whose type and value are ignored.
inline constexpr TreeType kAnyStaticValue{.form = TreeForm::value, .name = "static", .fields = {}};

// A static value that is neither a word nor a text.
struct OpaqueValue {
  virtual ~OpaqueValue() = default;
  virtual bool equals(const OpaqueValue& other) const = 0;  // `other` has the same type
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
  std::string (*text_of)(const T&);  // called only if the value is printed
};

// A static value in a tree.
struct StaticValue {
  const TreeType& type;
  uint64_t word = 0;  // its bits, or the hash of an opaque one
  std::string_view text = {};
  const void* object = nullptr;  // address of an opaque value; keep(object) copies it
  std::shared_ptr<const OpaqueValue> (*keep)(const void* object) = nullptr;
};

class TreeKey {
 public:
  uint64_t hash() const { return hash_; }  // valid within this process only
  friend bool operator==(const TreeKey& a, const TreeKey& b);

 private:
  friend class TreeKeyBuilder;
  friend class TreeKeyReader;

  // A tree is the sequence of its tokens in traversal order, parents before children. A map's
  // children are a key and a value for each entry.
  struct Token {
    const TreeType* type;
    uint64_t word;  // the size of a sequence, map or text; 1 for an optional with a value; the
                    // index of a variant; the bits of a value; the hash of an opaque value; else 0
    friend bool operator==(const Token&, const Token&) = default;
  };

  std::vector<Token> tokens_;
  std::string text_;  // characters of all text tokens
  std::vector<std::shared_ptr<const OpaqueValue>> opaque_;
  uint64_t hash_ = 0;
};

// The first difference of two keys: "blocks.3.heads: 8 ≠ 12". Empty if they are equal.
std::string explain_difference(const TreeKey& a, const TreeKey& b);

class TreeKeyBuilder {
 public:
  void add(const TreeType& type, uint64_t word = 0) { key_.tokens_.push_back({&type, word}); }
  void add(const StaticValue& value);
  TreeKey finish() &&;

 private:
  TreeKey key_;
};

// The path of a place in a tree, "blocks.3.norm1.scale", updated during traversal. A name that
// would be ambiguous (an empty one, or one with a dot or a quote in it) is quoted.
class TreePath {
 public:
  // Appends a part, and returns the argument of pop that removes it.
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
