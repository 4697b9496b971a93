// The engine nccl on the GPUs of this machine.
#pragma once

namespace plait::gpu_check {

// Each GPU is a rank: calls among them, beside what they should give. The number of wrong results;
// 0 without NCCL, which is said.
int check_nccl();

}  // namespace plait::gpu_check
