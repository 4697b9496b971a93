// What sizes stand for: types as they are declared, against those that are given.
#pragma once

#include <optional>
#include <span>

#include "plait/ir/type.h"

namespace plait {

// Notes for each size that stands by itself in `declared`, and is not known yet, what it is in
// `given`. False where the two are not alike but for sizes.
bool learn_sizes(const ir::Type& declared, const ir::Type& given, SymbolMap<Dim>& sizes);

// For values of these types in the place of parameters; nothing where they do not fit.
std::optional<SymbolMap<Dim>> sizes_between(std::span<const ir::Type> parameters,
                                            std::span<const ir::Type> given);

}  // namespace plait
