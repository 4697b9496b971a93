// What the text form is made of, for whoever reads a part of it. Program::parse reads a whole
// program.
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
std::vector<Dim> parse_dims(TextReader& reader);        // after "<", up to and past ">"
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
  size_t brace = 0;  // where the opening brace is
  size_t end = 0;    // behind the closing one
};
FunctionHead parse_function_head(TextReader& reader);  // after "func"

// Parameters without a label print as %p0, %p1, …, with underscores behind where a label is in the
// way; what looks like this in its place is no label.
bool stands_for_no_label(std::string_view written, size_t parameter);

}  // namespace plait::ir
