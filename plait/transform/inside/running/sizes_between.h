// Matches symbolic sizes of declared types with the sizes of actual types.
#pragma once

#include <optional>
#include <span>

#include "plait/ir/type.h"

namespace plait {

// Binds each size of `declared` that is a lone, unbound symbol to the size in `given`. False if the
// types differ in more than sizes.
bool learn_sizes(const ir::Type& declared, const ir::Type& given, SymbolMap<Dim>& sizes);

// Returns the sizes for arguments of these types; nothing if they do not fit the parameters.
std::optional<SymbolMap<Dim>> sizes_between(std::span<const ir::Type> parameters,
                                            std::span<const ir::Type> given);

}  // namespace plait
