// The type of a value in the IR: a small handle to a shared, immutable node. Equality is
// structural.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "plait/core/numbers/dtype.h"
#include "plait/core/sizes/shape.h"
#include "plait/ir/mesh.h"

namespace plait::ir {

//   f32[n, 784]                an array
//   f32[n, 784]^{data}         one that varies along the named axis `data`
//   f32[n @data, 784]+{model}  sharded: split along `data`, a partial sum along `model`
//   (f32[n], i64[])            a tuple
//   @tape<n>                   a record, declared by name in the program
//   f32[n]?                    an optional value; absent means zero
class Type {
 public:
  enum class Kind : uint8_t { none, array, tuple, record, optional };

  // Types beyond these limits are refused with a TypeError: their text would be as large, and
  // traversals as deep.
  static constexpr int64_t kDeepest = 200;
  static constexpr int64_t kMostParts = 1 << 16;

  Type() = default;  // Kind::none
  static Type array(DType dtype, Shape shape, AxisSet varying = {}, Sharding sharding = {});
  static Type scalar(DType dtype) { return array(dtype, {}); }
  static Type tuple(std::vector<Type> elements);
  static Type record(std::string name, std::vector<Dim> arguments = {});
  static Type optional(Type element);

  Kind kind() const { return node_ ? node_->kind : Kind::none; }
  bool is_array() const { return kind() == Kind::array; }
  bool is_tuple() const { return kind() == Kind::tuple; }
  bool is_record() const { return kind() == Kind::record; }
  bool is_optional() const { return kind() == Kind::optional; }
  explicit operator bool() const { return node_ != nullptr; }

  // For arrays; TypeError otherwise.
  DType dtype() const { return expect(Kind::array).dtype; }
  const Shape& shape() const { return expect(Kind::array).shape; }
  const AxisSet& varying() const { return expect(Kind::array).varying; }
  const Sharding& sharding() const { return expect(Kind::array).sharding; }
  int64_t rank() const { return static_cast<int64_t>(shape().rank()); }

  const std::vector<Type>& elements() const { return expect(Kind::tuple).elements; }
  const std::string& record_name() const { return expect(Kind::record).name; }
  const std::vector<Dim>& record_arguments() const { return expect(Kind::record).arguments; }
  const Type& element() const {
    return expect(Kind::optional).elements[0];
  }  // element of an optional

  Type with_shape(Shape shape) const;
  Type with_dtype(DType dtype) const;
  Type with_varying(AxisSet varying) const;  // for each array inside a tuple or optional
  Type without_sharding() const;
  AxisSet all_varying() const;  // the union over all arrays inside

  Type substitute(const SymbolMap<Dim>& sizes) const;
  void for_each_dim(const std::function<void(Dim)>& visit) const;

  std::string text() const;
  size_t hash() const;  // valid within this process
  friend bool operator==(const Type& a, const Type& b);

 private:
  struct Node {
    Kind kind;
    DType dtype = DType::f32;
    Shape shape = {};
    AxisSet varying = {};
    Sharding sharding = {};
    std::vector<Type> elements = {};
    std::string name = {};
    std::vector<Dim> arguments = {};
    int64_t depth = 1;  // nesting depth; and number of types inside, with repetitions
    int64_t parts = 1;
  };
  explicit Type(Node node);
  const Node& expect(Kind kind) const;

  std::shared_ptr<const Node> node_;
};

// True if a value of type `given` is accepted where `wanted` is required: equal except for
// shardings.
bool fits(const Type& given, const Type& wanted);
// The same, ignoring the axes along which the values vary.
bool fits_but_for_axes(const Type& given, const Type& wanted);

// A record: `type @tape<n> = <k> {f32[n, k], @tape<n>?}`. `n` is a parameter of the type; `k` is a
// held size: each value has its own.
struct RecordType {
  std::string name;
  std::vector<Dim> parameters;
  std::vector<Dim> held;
  std::vector<Type> fields;

  // The types of the fields of a record with these arguments and these names for the held sizes.
  std::vector<Type> fields_of(std::span<const Dim> arguments,
                              std::span<const Dim> held_sizes) const;
  std::string text() const;
};

}  // namespace plait::ir

template <>
struct std::hash<plait::ir::Type> {
  size_t operator()(const plait::ir::Type& type) const noexcept { return type.hash(); }
};
