#include "plait/core/version.h"

namespace plait {

std::string_view version() { return PLAIT_VERSION; }

}  // namespace plait
