// Rewriting rules as text:
//
//   add(?x, negate(?y)) => subtract(?x, ?y)
//   multiply(?x, 1) => ?x
//   element(tuple(?x, ?y)) {index = 0} => ?x
//
// `?x` is any value, the same one wherever it stands. A number is a literal that holds it
// everywhere. An instruction matches whatever its attributes, unless they are written; then they
// must be those, and what is not written has its default value. On the right, numbers become
// literals of the replaced value's dtype, which must be a scalar there; attributes that are not
// written have their default values.
#pragma once

#include <string_view>

#include "plait/ir/rewriting/rewrite.h"

namespace plait::ir {

// ParseError with the column, for text that is malformed and for rules that could never apply.
RewriteRule parse_rule(std::string_view text);

}  // namespace plait::ir
