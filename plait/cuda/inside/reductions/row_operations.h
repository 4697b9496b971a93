// Operations on rows that decompose into one loop nest: softmax, log_softmax and standardize.
#pragma once

#include "plait/tensor/kernels.h"

namespace plait::cuda {

void run_softmax_rows(KernelCall& call, const void* data);  // and log_softmax
void run_standardize_rows(KernelCall& call, const void* data);

}  // namespace plait::cuda
