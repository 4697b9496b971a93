// A primitive: the declaration of an operation, with its name, operands, type rule and effects.
// Derivatives and batching are declared in `tensor`, kernels in the backends.
#pragma once

#include <algorithm>
#include <array>
#include <complex>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/device.h"
#include "plait/core/numbers/dtype_set.h"
#include "plait/ir/attributes.h"
#include "plait/ir/effects.h"
#include "plait/ir/function.h"
#include "plait/ir/index_signature.h"

namespace plait::ir {

// The instructions that the IR itself defines. Everything else is `machine`: the evaluator passes
// it to the Machine, the compiler to a backend.
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

// A device that attributes name. Results there are unplaced (tensor/memory/array.h) if it is only
// where they were made.
struct ResultPlace {
  Device device;
  bool is_unplaced = false;
};

struct Count {
  uint32_t least = 0;
  uint32_t most = 0;
  bool holds(size_t n) const { return n >= least && n <= most; }
  static constexpr uint32_t kAny = 0xffffffff;
};
inline constexpr Count exactly(uint32_t n) { return {n, n}; }
inline constexpr Count at_least(uint32_t n) { return {n, Count::kAny}; }

// Computes one point of the index space, in the widest type of each kind; null if undefined.
struct ScalarBody {
  double (*real)(std::span<const double>) = nullptr;
  int64_t (*integer)(std::span<const int64_t>) = nullptr;    // for bool too, as 0 and 1
  uint64_t (*natural)(std::span<const uint64_t>) = nullptr;  // for u64; else `integer` is used
  std::complex<double> (*complex)(std::span<const std::complex<double>>) = nullptr;
};

// Elementwise primitives: each element of the result is computed from the elements at the same
// index of the operands, which have equal sizes and dtype. The value determines the dtype of the
// result.
enum class Elementwise : uint8_t {
  no,
  same,   // the dtype of the operands
  truth,  // bool
  real,   // the dtype of the parts of complex operands
};

// ---- Numerical properties: what mixed precision, tests and benchmarks read of a primitive.

// The dtype in which mixed precision computes (transform/autocast.h).
enum class Precision : uint8_t {
  given,   // that of the operands
  narrow,  // bf16 or f16: loses little and is far faster, as products are
  wide,    // f32: what overflows early or amplifies errors, and long sums
};

// How near the results of an elementwise primitive are to the exact ones;
// tests/conformance/suite/tolerances.py has the units in the last place.
enum class Accuracy : uint8_t { exact, rounded, twice, function, power, special };

struct Range {
  double low = -3, high = 3;
};

// A range for each operand, of three at most, or one for all; the usual range if none is given.
class Domain {
 public:
  constexpr Domain() = default;
  constexpr Domain(std::initializer_list<Range> ranges) {
    for (const Range& range : ranges) ranges_[count_++] = range;
  }

  constexpr Range of_operand(size_t i) const {
    return count_ == 0 ? Range{} : ranges_[std::min(i, count_ - 1)];
  }

 private:
  std::array<Range, 3> ranges_ = {};
  size_t count_ = 0;
};

struct Numerics {
  Precision precision = Precision::given;
  Accuracy accuracy = Accuracy::function;
  // Where an elementwise primitive is defined and smooth, and operands for tests are drawn.
  Domain domain = {};
};

class Inference;

// For each dimension of the operand, the index from which an element of the result is taken, as an
// affine function of the indices of the result.
struct IndexMap {
  std::vector<IndexSignature::Affine> dimensions;
  bool guarded = false;  // outside of the operand the result is 0
};
// The identity map.
std::optional<IndexMap> identity_map(const Instruction& instruction);

struct Primitive {
  std::string name;
  std::string summary = {};  // one sentence, for documentation
  // The reference for tests: functions of other libraries as they are called in Python
  // (tests/conformance checks that its cases call them), or a property in words.
  std::string oracle = {};
  Structure structure = Structure::machine;
  const AttributeSchema* attributes = nullptr;
  Count operands = {};
  Count callees = {};
  Count size_arguments = {};

  DTypeSet takes = kAllDTypes;  // the dtypes of its array operands
  // If not `no`, determines the type rule and the index signature.
  Elementwise elementwise = Elementwise::no;
  Numerics numerics = {};

  // The type rule: reads `inference` and adds the result types to it, or fails with a clear error.
  // Null if it is derived from the index signature.
  void (*infer)(Inference& inference) = nullptr;
  // The operands of an ordinary primitive vary along the same axes, and so do its results. If true,
  // this does not hold: the type rule infers the axes.
  bool infers_axes = false;
  // For a collective: the named axes along which it communicates. Its operands vary along them.
  AxisSet (*communicates)(const Attributes& attributes) = nullptr;
  // For an operation that moves its operand. Null: its results are where its operands are.
  ResultPlace (*result_place)(const Attributes& attributes) = nullptr;
  // Its own effects, without its callees'. Null: pure.
  Effects (*effects)(const Instruction& instruction) = nullptr;

  // A placeholder while a function is recorded; never part of a finished function.
  bool is_placeholder = false;

  // For primitives that are described by a loop nest: its signature, and the computation at one
  // point.
  std::function<IndexSignature(const Inference& inference)> signature = {};
  ScalarBody body = {};
  // For a primitive that returns a view of its one operand, possibly padded with zeros. Empty if
  // the map is not affine.
  std::optional<IndexMap> (*index_map)(const Instruction& instruction) = nullptr;

  uint32_t number = 0;  // consecutive in the order of registration in this process
};

// The dtype of an elementwise primitive's result.
DType elementwise_result(Elementwise elementwise, DType operands);

// The primitives of this process, by name. They are registered before programs are built; their
// addresses are stable.
const Primitive& register_primitive(Primitive primitive);  // ValueError if the name is taken
const Primitive* find_primitive(std::string_view name);
const Primitive& primitive(std::string_view name);  // KeyError suggests similar names
std::vector<const Primitive*> primitives();         // sorted by name
size_t primitive_count();

// The structural primitives (plait/ir/structure.h). Registered on the first use of the table.
const Primitive& primitive(Structure structure);

}  // namespace plait::ir
