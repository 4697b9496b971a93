// The words that other libraries, and earlier versions, have for the parameters of a function.
#pragma once

#include <string_view>

#include "plait/core/function_ref.h"

namespace plait::python {

// The name of the parameter that a keyword stands for, where no parameter has that name itself; ""
// where there is none.
std::string_view name_meant(std::string_view keyword, FunctionRef<bool(std::string_view)> has);

// What to write for a keyword that other libraries have and nothing here stands for; "" for any
// other.
std::string_view way_without(std::string_view keyword);

// Where PyTorch's function of that name gives something else: who writes dim= means PyTorch's.
struct OtherMeaning {
  std::string_view function;
  const char* way;               // what to write for either
  std::string_view unless = {};  // a parameter that settles it where it is given
};
const OtherMeaning* other_meaning(std::string_view function);
bool is_word_of_pytorch(std::string_view keyword);

}  // namespace plait::python
