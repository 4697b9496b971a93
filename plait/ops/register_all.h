// Registers all primitives of this build, so that programs read from text find them by name.
#pragma once

namespace plait {

void register_all();  // idempotent

}  // namespace plait
