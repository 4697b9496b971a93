// The settings of the room.
#pragma once

#include <string>

#include "plait/core/settings.h"

namespace plait::dist {

extern Setting<bool> kAgreement;
extern Setting<std::string> kCallLog;
extern Setting<std::string> kNccl;

}  // namespace plait::dist
