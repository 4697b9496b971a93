// What register_cpu_kernels() is made of.
#pragma once

namespace plait {

void register_arranging_kernels();  // sorts, scans, and elements picked along an axis

}  // namespace plait
