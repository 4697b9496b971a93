// Values from the command line.
#pragma once

#include <string>

#include "plait/ir/type.h"
#include "plait/ir/value.h"

// Parses an argument for a parameter of this type: a number, true or false, nested lists of them, a
// literal as in programs, @ and the name of an .npy file, or absent. ParseError for anything else.
plait::ir::Value parse_argument(const std::string& text, const plait::ir::Type& type);
