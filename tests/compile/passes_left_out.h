// Disables passes while it exists.
#pragma once

#include <string>

#include "plait/compile/pass.h"

namespace plait::compile {

class PassesLeftOut {
 public:
  explicit PassesLeftOut(const std::string& passes) { setting::kPasses.set(passes); }
  ~PassesLeftOut() { setting::kPasses.reset(); }
  PassesLeftOut(const PassesLeftOut&) = delete;
  PassesLeftOut& operator=(const PassesLeftOut&) = delete;
};

}  // namespace plait::compile
