// The table of primitives, for inspection: name, operands, attributes, rules and oracle of each.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plait/ir/primitive.h"

namespace plait {

// Views refer to data that lives as long as the process.
struct OpAttribute {
  std::string_view name;
  std::optional<std::string> default_value;  // as in the text of programs; empty if required
};

struct Op {
  std::string_view name;
  std::string_view summary;
  ir::Count operands;
  DTypeSet takes;  // the dtypes of its operands
  std::vector<OpAttribute> attributes;
  ir::Elementwise elementwise;
  ir::Precision precision;              // in mixed precision
  ir::Accuracy accuracy;                // accuracy of an elementwise primitive
  std::vector<ir::Range> domain;        // domain of an elementwise primitive: for each operand
  bool has_signature;                   // index signature
  bool has_body;                        // scalar computation; a primitive without it only moves
                                        // elements
  std::vector<std::string_view> rules;  // "partials", "transposes", "tangents", "batching", …
  std::string_view not_differentiable;  // the reason; empty if it has a derivative
  bool has_effects;                     // may have effects, depending on attributes and operands
  bool communicates;                    // along named axes
  bool runs_on_cuda;                    // else the host computes it, for tensors on a GPU
  std::string_view oracle;              // reference implementation in tests

  // All fields as text, one per line.
  std::string text() const;
};

// "same", "truth" or "real"; "no" if it is not elementwise.
std::string_view name_of(ir::Elementwise elementwise);
// "given", "narrow" or "wide".
std::string_view name_of(ir::Precision precision);
// "exact", "rounded", "twice", "function", "power" or "special".
std::string_view name_of(ir::Accuracy accuracy);
// "2", "1 or more".
std::string text_of(ir::Count count);

Op op_of(const ir::Primitive& primitive);
// All primitives by name, without the structural instructions of the IR.
std::vector<Op> ops();

}  // namespace plait
