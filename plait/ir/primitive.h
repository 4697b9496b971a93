// A primitive: one declaration of an operation. What it is called, what it takes, the type of what
// it gives, and what it does besides. Derivatives and batching are declared in the tensor room,
// kernels in the backends.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/numbers/dtype_set.h"
#include "plait/ir/attributes.h"
#include "plait/ir/effects.h"
#include "plait/ir/function.h"
#include "plait/ir/index_signature.h"

namespace plait::ir {

// The instructions that the IR itself gives meaning to. Everything else is `machine`: the evaluator
// hands it to the Machine, the compiler to a backend.
enum class Structure : uint8_t {
  machine,
  literal,
  size,
  as_size,
  refine,
  size_guard,
  guard,
  vary,
  tuple,
  element,
  pack,
  unpack,
  absent,
  present,
  is_present,
  unwrap,
  call,
  fused,
  cond,
  switch_,
  while_,
  scan,
  unwind,
  pull,
  remat,
  custom_vjp,
  custom_jvp,
};

struct Count {
  uint32_t least = 0;
  uint32_t most = 0;
  bool holds(size_t n) const { return n >= least && n <= most; }
  static constexpr uint32_t kAny = 0xffffffff;
};
inline constexpr Count exactly(uint32_t n) { return {n, n}; }
inline constexpr Count at_least(uint32_t n) { return {n, Count::kAny}; }

// What is computed at one point of the index space, in the widest type of each kind; null where
// undefined.
struct ScalarBody {
  double (*real)(std::span<const double>) = nullptr;
  int64_t (*integer)(std::span<const int64_t>) = nullptr;    // of bool too, as 0 and 1
  uint64_t (*natural)(std::span<const uint64_t>) = nullptr;  // of u64; `integer` serves otherwise
  std::complex<double> (*complex)(std::span<const std::complex<double>>) = nullptr;
};

// Whether each element of the result is made of the elements at the same place in the operands,
// which are alike in sizes and dtype; and the dtype of the result.
enum class Elementwise : uint8_t {
  no,
  same,   // that of the operands
  truth,  // bool
  real,   // of the parts, where the operands are complex
};

class Inference;

// Where the elements of a result lie in the operand that they are taken from: for each of the
// operand's dimensions an index, in terms of those of the result.
struct ElementPlaces {
  std::vector<IndexSignature::Affine> dimensions;
  bool guarded = false;  // outside of the operand the result is 0
};
// Each at the place where it is in the result.
std::optional<ElementPlaces> own_places(const Instruction& instruction);

struct Primitive {
  std::string name;
  std::string summary = {};  // one sentence, for documentation
  // What its results are checked against: functions of other libraries as they are called in Python
  // (tests/conformance sees that they are what its cases call), or in words what holds of them.
  std::string oracle = {};
  Structure structure = Structure::machine;
  const AttributeSchema* attributes = nullptr;
  Count operands = {};
  Count callees = {};
  Count size_arguments = {};

  DTypeSet takes = kAllDTypes;  // the dtypes of its array operands
  // Gives the type rule and the index signature.
  Elementwise elementwise = Elementwise::no;

  // The type rule: reads what is in `inference`, adds the result types to it, or fails with a clear
  // error. Null where the index signature gives it.
  void (*infer)(Inference& inference) = nullptr;
  // The operands of an ordinary primitive vary along the same axes, and its results along those; a
  // primitive for which this is not so says true here and its type rule gives the axes.
  bool infers_axes = false;
  // Of a collective: the named axes along which it communicates. Its operands vary along them.
  AxisSet (*communicates)(const Attributes& attributes) = nullptr;
  // Its own effects, without its callees'. Null: pure.
  Effects (*effects)(const Instruction& instruction) = nullptr;

  // Stands for something while a function is recorded, and is never part of a finished one.
  bool is_stand_in = false;

  // For primitives that are described by loops: which element meets which, and what is computed
  // there.
  std::function<IndexSignature(const Inference& inference)> signature = {};
  ScalarBody body = {};
  // Of a primitive that only looks at its one operand otherwise, or has zeros around it. Nothing
  // where the places are not affine.
  std::optional<ElementPlaces> (*places)(const Instruction& instruction) = nullptr;

  uint32_t number = 0;  // counts the primitives of this process, in order of registration
};

// "... , ... -> ..." for an elementwise primitive, else what it declares; ValueError where it
// declares none.
IndexSignature signature_of(const Inference& inference);
// The dtype of an elementwise primitive's result.
DType elementwise_result(Elementwise elementwise, DType operands);

// The primitives of this process, by name. Registered before programs are built; the addresses
// stay.
const Primitive& register_primitive(Primitive primitive);  // ValueError when the name is taken
const Primitive* find_primitive(std::string_view name);
const Primitive& primitive(std::string_view name);  // KeyError names near misses
std::vector<const Primitive*> primitives();         // sorted by name

// The structural primitives (plait/ir/structure.h). Registered with the first use of the table.
const Primitive& primitive(Structure structure);

}  // namespace plait::ir
