// For a build without LAPACK: the loops of plait/ops serve.
#include "plait/cpu/inside/libraries/lapack.h"

namespace plait {

void register_lapack() {}

}  // namespace plait
