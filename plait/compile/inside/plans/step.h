// A step of a plan: what it does, and the registers that it reads and writes. Each kind of step
// holds what only it needs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "plait/core/location.h"
#include "plait/core/sizes/size_facts.h"
#include "plait/ir/attributes.h"
#include "plait/ir/primitive.h"
#include "plait/ir/type.h"

namespace plait::compile {

using Register = uint32_t;

// ---- Computation.

struct KernelStep {
  static constexpr std::string_view kName = "kernel";
  uint32_t kernel = 0;                 // in Plan::kernels
  std::vector<ir::Type> results = {};  // their types
  std::vector<Dim> sizes = {};         // sizes of Nest::sizes()
  std::vector<Dim> outer = {};         // extents of Nest::outer
  Dim columns = 1;
  std::vector<Dim> function_sizes = {};  // size arguments of the kernel's function
};

// A primitive with its own kernel.
struct Operation {
  const ir::Primitive* primitive = nullptr;
  ir::Attributes attributes = {};
  std::vector<ir::Type> results = {};  // their types
  std::vector<Dim> new_sizes = {};     // data-dependent sizes among them
};
struct PrimitiveStep {
  static constexpr std::string_view kName = "primitive";
  Operation operation = {};
  bool keeps_operands = false;  // others may keep them, beyond the frame
};
// The result may be a view of the operand.
struct ViewStep {
  static constexpr std::string_view kName = "view";
  Operation operation = {};
};

// ---- Numbers and sizes.

struct ConstantStep {
  static constexpr std::string_view kName = "constant";
  uint32_t constant = 0;  // in Plan::constants
};
struct SizeStep {
  static constexpr std::string_view kName = "size";
  Dim size = 0;
  DType dtype = DType::i64;
};
struct AsSizeStep {
  static constexpr std::string_view kName = "as_size";
  Dim symbol = 0;
};
// Returns the operand if the sizes of the types are equal.
struct RefineStep {
  static constexpr std::string_view kName = "refine";
  ir::Type to = {}, from = {};
};
struct GuardStep {
  static constexpr std::string_view kName = "guard";
  bool expected = true;
};
struct SizeGuardStep {
  static constexpr std::string_view kName = "size_guard";
  SizeFact fact = {};
};
// symbols[i] = values[i], simultaneously.
struct SetSizesStep {
  static constexpr std::string_view kName = "set_sizes";
  std::vector<Dim> symbols = {}, values = {};
};

// ---- Records.

struct TupleStep {
  static constexpr std::string_view kName = "tuple";
};
struct ElementStep {
  static constexpr std::string_view kName = "element";
  uint32_t index = 0;
};
struct PackStep {
  static constexpr std::string_view kName = "pack";
  std::vector<Dim> held = {};
};
struct UnpackStep {
  static constexpr std::string_view kName = "unpack";
  std::vector<Dim> held = {};  // symbols
};
struct AbsentStep {
  static constexpr std::string_view kName = "absent";
};
struct PresentStep {
  static constexpr std::string_view kName = "present";
};
struct IsPresentStep {
  static constexpr std::string_view kName = "is_present";
};
struct UnwrapStep {
  static constexpr std::string_view kName = "unwrap";
};

// ---- Control flow. A `target` is a step.

// results[i] = operands[i], simultaneously.
struct MoveStep {
  static constexpr std::string_view kName = "move";
  bool is_loop_carry = false;  // sets the carries of the next step of a loop
};
// The loop of a scan: its counter, and the number of its rounds.
struct ScanLoop {
  uint32_t counter = 0;
  Dim length = 0;
  bool is_reversed = false;
};
// Results: stacked, not filled. Sets the counter to 0.
struct BeginScanStep {
  static constexpr std::string_view kName = "begin_scan";
  ScanLoop loop = {};
  std::vector<ir::Type> results = {};
};
// To `target` after the last round. Results: slices of the operands.
struct NextSliceStep {
  static constexpr std::string_view kName = "next_slice";
  ScanLoop loop = {};
  uint32_t target = 0;
};
// Stores the operands of the first half in those of the second, which are stacked; increments the
// counter.
struct PutSliceStep {
  static constexpr std::string_view kName = "put_slice";
  ScanLoop loop = {};
};
// To `target` if the list, operands[0], is empty. Results: its fields, the rest of the list last.
struct NextNodeStep {
  static constexpr std::string_view kName = "next_node";
  std::vector<Dim> held = {};  // symbols
  uint32_t target = 0;
};
struct JumpStep {
  static constexpr std::string_view kName = "jump";
  uint32_t target = 0;
  std::optional<uint32_t> loop = {};  // the loop whose next round begins there
};
// To `target` unless the operand is true.
struct BranchStep {
  static constexpr std::string_view kName = "branch";
  uint32_t target = 0;
};
// To targets[operand].
struct ChooseStep {
  static constexpr std::string_view kName = "choose";
  std::vector<uint32_t> targets = {};
};
struct CallStep {
  static constexpr std::string_view kName = "call";
  uint32_t callee = 0;              // in Plan::functions
  std::vector<Dim> sizes = {};      // its size arguments
  std::vector<Dim> new_sizes = {};  // symbols for its result sizes
};
// Releases the operands.
struct DropStep {
  static constexpr std::string_view kName = "drop";
};

template <class Kind>
concept HasTarget = requires(Kind kind) { kind.target; };

struct Step {
  using Kind =
      std::variant<KernelStep, PrimitiveStep, ViewStep, ConstantStep, SizeStep, AsSizeStep,
                   RefineStep, GuardStep, SizeGuardStep, SetSizesStep, TupleStep, ElementStep,
                   PackStep, UnpackStep, AbsentStep, PresentStep, IsPresentStep, UnwrapStep,
                   MoveStep, BeginScanStep, NextSliceStep, PutSliceStep, NextNodeStep, JumpStep,
                   BranchStep, ChooseStep, CallStep, DropStep>;

  Kind kind;
  std::vector<Register> operands = {}, results = {};
  std::vector<bool> is_last = {};  // one an operand: true if it is not read afterwards
  Location location = {};
  // The function that error messages name, in Plan::names; if none, the planned function.
  std::optional<uint32_t> function = {};

  template <class T>
  bool is() const {
    return std::holds_alternative<T>(kind);
  }
  template <class T>
  const T* as() const {  // null if it is of another kind
    return std::get_if<T>(&kind);
  }
  const Operation* operation() const {  // null unless it is a primitive's
    if (const auto* primitive = as<PrimitiveStep>()) return &primitive->operation;
    const auto* view = as<ViewStep>();
    return view != nullptr ? &view->operation : nullptr;
  }
  std::string_view name() const {
    return std::visit([]<class T>(const T&) { return T::kName; }, kind);
  }
};

}  // namespace plait::compile
