// Programs that together use every instruction of the IR and all of its syntax.
#pragma once

#include <string>
#include <vector>

namespace plait::ir {

// The well-formed programs in tests/fuzz/corpus/text, sorted by name.
std::vector<std::string> form_examples();
// The malformed ones.
std::vector<std::string> malformed_forms();

}  // namespace plait::ir
