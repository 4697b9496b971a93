// Parsers of types and of what types consist of. Program::parse parses a whole program.
#pragma once

#include <string_view>
#include <vector>

#include "plait/core/text.h"
#include "plait/ir/type.h"

namespace plait::ir {

Type parse_type(TextReader& reader);
// Types between commas, up to `closing`, which is consumed.
std::vector<Type> parse_types(TextReader& reader, std::string_view closing);
DType parse_dtype(TextReader& reader);
AxisSet parse_axes(TextReader& reader);  // {data, model}
// An expression may contain negative numbers, but a size is not negative.
Dim parse_size(TextReader& reader);
std::vector<Dim> parse_dims(TextReader& reader);        // after "<", including ">"
std::vector<Dim> parse_size_names(TextReader& reader);  // likewise, names only

}  // namespace plait::ir
