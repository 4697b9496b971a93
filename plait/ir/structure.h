// The structural instructions of the IR: their attributes and declarations (docs/ir.md defines
// their meaning).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plait/ir/primitive.h"

namespace plait::ir {

struct LiteralAttributes {
  Literal value = {};
  static constexpr std::string_view kRequired[] = {"value"};
};
struct SizeAttributes {
  Dim value = 0;
  DType dtype = DType::i64;
  static constexpr std::string_view kRequired[] = {"value"};
};
struct SizeGuardAttributes {
  SizeFact fact = {};
  static constexpr std::string_view kRequired[] = {"fact"};
};
struct GuardAttributes {
  bool expect = true;
};
struct VaryAttributes {
  AxisSet axes = {};
  static constexpr std::string_view kRequired[] = {"axes"};
};
struct ElementAttributes {
  int64_t index = 0;
  static constexpr std::string_view kRequired[] = {"index"};
};
struct AsSizeAttributes {
  bool at_least = false;  // batched: the maximum over the samples
};
struct WhileAttributes {
  int64_t constants = 0;
};
struct ScanAttributes {
  int64_t constants = 0;
  int64_t carries = 0;
  Dim length = 0;
  bool reverse = false;
  static constexpr std::string_view kRequired[] = {"length"};
};
struct PullAttributes {
  std::vector<int64_t> wanted = {};  // indices of the parameters whose cotangents it returns
};
struct RematAttributes {
  std::string policy = "nothing";       // saves nothing, everything, dots, names
  std::vector<std::string> names = {};  // for the policy `names`
};

inline Effects may_fail(const Instruction&) { return {.may_fail = true}; }

// True if every size is a number of the dtype (floats round it). A size as an element of another
// dtype is checked when it is computed.
bool holds_every_size(DType dtype);
// ValueError if a number of that dtype cannot be the size.
void expect_holds(DType dtype, int64_t size);

// True if a value of this type has a tangent: it contains floating-point or complex numbers.
bool has_tangent(const Type& type);

// Sizes, literals, tuples, records, optional values: structure_data.cpp. Control:
// structure_control.cpp.
std::vector<Primitive> data_primitives();
std::vector<Primitive> control_primitives();

}  // namespace plait::ir
