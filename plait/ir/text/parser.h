// Parsers of the parts of the text form. Program::parse parses a whole program.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plait/core/location.h"
#include "plait/core/text.h"
#include "plait/ir/function.h"
#include "plait/ir/type.h"

namespace plait::ir {

Type parse_type(TextReader& reader);
AxisSet parse_axes(TextReader& reader);                 // {data, model}
std::vector<Dim> parse_dims(TextReader& reader);        // after "<", including ">"
std::vector<Dim> parse_size_names(TextReader& reader);  // likewise, names only
RecordType parse_record(TextReader& reader);            // after "type"

// The head of a function, from its name to the opening brace and its location.
struct FunctionHead {
  std::string name;
  size_t name_position = 0;
  Signature signature;
  std::vector<std::string> labels;  // of the parameters, as written
  std::vector<size_t> label_positions;
  Location location;
  size_t brace = 0;  // position of the opening brace
  size_t end = 0;    // after the closing brace
};
FunctionHead parse_function_head(TextReader& reader);  // after "func"

// A parameter without a label is printed as %p0, %p1, …, with underscores appended if that is taken
// as a label; a name of this form at its position is therefore not a label.
bool is_unlabelled_name(std::string_view written, size_t parameter);

}  // namespace plait::ir
