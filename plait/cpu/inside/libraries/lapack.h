// Linear algebra by LAPACK. Inside of plait/cpu.
#pragma once

namespace plait {

// Has the primitives of linear algebra computed by the library, where the build has it.
void register_lapack();

}  // namespace plait
