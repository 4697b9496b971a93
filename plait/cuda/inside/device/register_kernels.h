// The kernels of this room, registered when the first device is opened.
#pragma once

namespace plait::cuda {

void register_kernels();

}  // namespace plait::cuda
