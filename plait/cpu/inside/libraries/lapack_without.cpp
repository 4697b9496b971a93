// For builds without LAPACK: the reference routines of plait/ops are used.
#include "plait/cpu/inside/libraries/lapack.h"

namespace plait {

void register_lapack() {}

}  // namespace plait
