// Part of register.cpp: what layers are made of.
#pragma once

namespace plait {

void register_layer_kernels();  // convolutions, windows, softmax and the like

}  // namespace plait
