// Parsers of the declarations in a program's text: records, and the heads of functions.
#pragma once

#include <string>
#include <vector>

#include "plait/core/location.h"
#include "plait/core/text.h"
#include "plait/ir/function.h"

namespace plait::ir {

RecordType parse_record(TextReader& reader);  // after "type"

// The head of a function, from its name to the opening brace and its location.
struct FunctionHead {
  std::string name;
  size_t name_position = 0;
  Signature signature;
  std::vector<std::string> labels;  // labels of the parameters, as written
  std::vector<size_t> label_positions;
  Location location;
  size_t brace = 0;  // position of the opening brace
  size_t end = 0;    // after the closing brace
};
FunctionHead parse_function_head(TextReader& reader);  // after "func"

}  // namespace plait::ir
