// The type of a value in the IR. A small handle to a shared, immutable node; equality is
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
//   f32[n @data, 784]+{model}  one laid out over a mesh: split along `data`, a partial sum along
//   `model` (f32[n], i64[])            a tuple
//   @tape<n>                   a record, declared by name in the program
//   f32[n]?                    an optional value; absent means zero
class Type {
 public:
  enum class Kind : uint8_t { none, array, tuple, record, optional };

  // Beyond these a type is refused with a TypeError: its text would be as large, and walks as deep.
  static constexpr int64_t kDeepest = 200;
  static constexpr int64_t kMostParts = 1 << 16;

  Type() = default;  // Kind::none, the type of nothing
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

  // Of an array; TypeError for anything else.
  DType dtype() const { return expect(Kind::array).dtype; }
  const Shape& shape() const { return expect(Kind::array).shape; }
  const AxisSet& varying() const { return expect(Kind::array).varying; }
  const Sharding& sharding() const { return expect(Kind::array).sharding; }
  int64_t rank() const { return static_cast<int64_t>(shape().rank()); }

  const std::vector<Type>& elements() const { return expect(Kind::tuple).elements; }
  const std::string& record_name() const { return expect(Kind::record).name; }
  const std::vector<Dim>& record_arguments() const { return expect(Kind::record).arguments; }
  const Type& element() const { return expect(Kind::optional).elements[0]; }  // of an optional

  Type with_shape(Shape shape) const;
  Type with_dtype(DType dtype) const;
  Type with_varying(AxisSet varying) const;  // every array inside, for tuples and optionals
  Type without_sharding() const;
  AxisSet all_varying() const;  // of every array inside

  Type substitute(const SymbolMap<Dim>& sizes) const;
  void for_each_dim(const std::function<void(Dim)>& visit) const;

  std::string text() const;
  size_t hash() const;  // within this process
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
    int64_t depth = 1;  // levels, and types inside, each as often as it stands in the text
    int64_t parts = 1;
  };
  explicit Type(Node node);
  const Node& expect(Kind kind) const;

  std::shared_ptr<const Node> node_;
};

// Whether a value of type `given` may stand where `wanted` is asked for: equal but for shardings.
bool fits(const Type& given, const Type& wanted);
// The same for values that may vary along other axes.
bool fits_but_for_axes(const Type& given, const Type& wanted);

// A record: `type @tape<n> = <k> {f32[n, k], @tape<n>?}`. `n` is an argument of the type, `k` is
// held: each value brings its own.
struct RecordType {
  std::string name;
  std::vector<Dim> parameters;
  std::vector<Dim> held;
  std::vector<Type> fields;

  // The fields' types in a record of these arguments whose held sizes are known by these names.
  std::vector<Type> fields_of(std::span<const Dim> arguments,
                              std::span<const Dim> held_sizes) const;
  std::string text() const;
};

}  // namespace plait::ir

template <>
struct std::hash<plait::ir::Type> {
  size_t operator()(const plait::ir::Type& type) const noexcept { return type.hash(); }
};
