// What makes two functions the same: a hash of their content, names left out.
#pragma once

#include <cstdint>
#include <vector>

#include "plait/core/hash.h"
#include "plait/ir/program.h"

namespace plait::ir {

// 128 bits. Equal for functions that do the same when every call in them is followed, whatever
// functions, values and sizes are called, and however functions that call one another are declared
// or repeated. Records count by name and content. The same in every process when literals count by
// content.
using Identity = Hash128;

struct IdentityOptions {
  // By its buffer, which is quick and good within this process; else by its content.
  bool literals_by_buffer = false;
};

// Of each function of the program, in time linear in it but for functions that call one another in
// a circle: there, the product of their number and the rounds it takes to tell them apart.
std::vector<Identity> identities(const Program& program, const IdentityOptions& options = {});
Identity identity_of(const Program& program, size_t function, const IdentityOptions& options = {});
bool same(const Program& a, size_t function_a, const Program& b, size_t function_b,
          const IdentityOptions& options = {});

}  // namespace plait::ir
