// Registers the primitives, so that programs read from text know them by name.
#pragma once

namespace plait {

// Of all families. May be called again, which does nothing.
void register_all();

}  // namespace plait
