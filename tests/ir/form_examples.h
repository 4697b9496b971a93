// Programs that between them use every instruction of the IR and every piece of its syntax.
#pragma once

#include <string>
#include <vector>

namespace plait::ir {

// The files of tests/fuzz/corpus/text that are well-formed, by name.
std::vector<std::string> form_examples();
// The malformed ones, likewise.
std::vector<std::string> malformed_forms();

}  // namespace plait::ir
