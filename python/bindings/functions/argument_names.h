// Names of parameters in other libraries and in earlier versions.
#pragma once

#include <string_view>

#include "plait/core/function_ref.h"

namespace plait::python {

// Returns the parameter that a keyword names, if no parameter has that name itself; "" if there is
// none.
std::string_view name_meant(std::string_view keyword, FunctionRef<bool(std::string_view)> has);

// Returns what to write instead of a keyword of other libraries that no parameter corresponds to;
// "" for any other.
std::string_view replacement_of(std::string_view keyword);

// PyTorch's function of that name returns something else: a caller who writes dim= means PyTorch's.
struct OtherMeaning {
  std::string_view function;
  const char* replacement;       // the replacement for either meaning
  std::string_view unless = {};  // a parameter that decides between them
};
const OtherMeaning* other_meaning(std::string_view function);
bool is_word_of_pytorch(std::string_view keyword);

}  // namespace plait::python
