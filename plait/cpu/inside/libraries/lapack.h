// Linear algebra by LAPACK. Internal to plait/cpu.
#pragma once

namespace plait {

// Registers the library's routines for the primitives of linear algebra, if the build has it.
void register_lapack();

}  // namespace plait
