// The processor's mode that flushes denormals to 0.
#pragma once

namespace plait {

bool can_flush_denormals();  // true if it has one

}  // namespace plait
