// For a build without LAPACK: the loops of plait/ops serve.
#include "plait/cpu/lapack.h"

namespace plait {

void register_lapack() {}

}  // namespace plait
