// The parts of register_cpu_kernels().
#pragma once

namespace plait {

void register_arranging_kernels();  // sorts and scans
void register_layer_kernels();      // convolutions, windows, softmax and the like

}  // namespace plait
