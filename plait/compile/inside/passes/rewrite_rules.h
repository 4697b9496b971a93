// Rewrite rules for single instructions.
#pragma once

#include <vector>

#include "plait/ir/rewriting/rewrite.h"

namespace plait::compile {

std::vector<ir::RewriteRule> simplifying_rules();  // simplify.cpp

}  // namespace plait::compile
