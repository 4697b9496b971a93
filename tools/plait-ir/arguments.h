// Values from the command line.
#pragma once

#include <string>

#include "plait/ir/type.h"
#include "plait/ir/value.h"

// What an argument says of a parameter of this type: a number, true or false, lists of lists of
// them, a literal as in programs, @ and the name of an .npy file, or absent. ParseError for what is
// none of these.
plait::ir::Value parse_argument(const std::string& text, const plait::ir::Type& type);
