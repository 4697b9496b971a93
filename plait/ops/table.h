// The table of primitives, to be read: what each one is called, takes, has, and is checked by.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plait/ir/primitive.h"

namespace plait {

// Views are of what stays for the life of the process.
struct OpAttribute {
  std::string_view name;
  std::optional<std::string> by_default;  // as programs write it; none: it must be given
};

struct Op {
  std::string_view name;
  std::string_view summary;
  ir::Count operands;
  DTypeSet takes;  // the dtypes of its operands
  std::vector<OpAttribute> attributes;
  ir::Elementwise elementwise;
  bool has_signature;                   // loops say what it does
  bool has_body;                        // what they compute; without it they only move elements
  std::vector<std::string_view> rules;  // "partials", "transposes", "tangents", "batching", …
  std::string_view not_differentiable;  // why it has no derivative; empty where it has one
  bool has_effects;                     // by its attributes and operands; else it only computes
  bool communicates;                    // along named axes
  std::string_view oracle;              // what it is checked against

  // All of it, a line each.
  std::string text() const;
};

// "same", "truth" or "real"; "no" for what is not elementwise.
std::string_view name_of(ir::Elementwise elementwise);
// "2", "1 or more".
std::string text_of(ir::Count count);

Op op_of(const ir::Primitive& primitive);
// Those that compute, by name, without the instructions that the IR itself gives meaning to.
std::vector<Op> ops();

}  // namespace plait
