// Structural identity of functions: a hash of their content without names.
#pragma once

#include <cstdint>
#include <vector>

#include "plait/core/hash.h"
#include "plait/ir/program.h"

namespace plait::ir {

// 128 bits. Equal for functions that do the same when all calls are followed, independent of the
// names of functions, values and sizes, and of how mutually recursive functions are declared or
// repeated. Records count by name and content. The same in every process if literals count by
// content.
using Identity = Hash128;

struct IdentityOptions {
  // If true, literals count by their buffer, which is fast but valid in this process only; else by
  // content.
  bool literals_by_buffer = false;
};

// One for each function of the program. Linear time, except for mutually recursive functions:
// there, their number times the number of refinement rounds.
std::vector<Identity> identities(const Program& program, const IdentityOptions& options = {});
Identity identity_of(const Program& program, size_t function, const IdentityOptions& options = {});
bool same(const Program& a, size_t function_a, const Program& b, size_t function_b,
          const IdentityOptions& options = {});

}  // namespace plait::ir
