// Rewriting rules as text:
//
//   add(?x, negate(?y)) => subtract(?x, ?y)
//   multiply(?x, 1) => ?x
//   element(tuple(?x, ?y)) {index = 0} => ?x
//
// `?x` matches any value, the same one at each occurrence. A number matches a literal with that
// value everywhere. An instruction matches with any attributes, unless attributes are written; then
// those must be equal, and the others must have their default values. On the right-hand side,
// numbers become literals of the replaced value's dtype, which must be a scalar there; attributes
// that are not written have their default values.
#pragma once

#include <string_view>

#include "plait/ir/rewriting/rewrite.h"

namespace plait::ir {

// ParseError with the column, for malformed text and for rules that can never apply.
RewriteRule parse_rule(std::string_view text);

}  // namespace plait::ir
