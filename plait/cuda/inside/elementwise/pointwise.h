// Operations that compute each element of a result from one element of each operand, on a CUDA
// device.
#pragma once

#include <span>

#include "plait/ir/primitive.h"
#include "plait/tensor/kernels.h"
#include "plait/tensor/memory/array.h"

namespace plait::cuda {

// The primitive of operands with the sizes of the result, which is on the device. Operands that
// repeat one element may be on the host. The result may be written in place of an operand with the
// same layout.
void run_pointwise(const ir::Primitive& primitive, std::span<const Array> operands, Array& result);
// Arrays on one device; `from` may also repeat one element on the host.
void copy_strided(const Array& from, Array& to);

// Kernels: of elementwise primitives and conversions (the host computes dtypes that the device does
// not), and of iota.
void run_elementwise_call(KernelCall& call, const void* data);
void run_iota(KernelCall& call, const void* data);

}  // namespace plait::cuda
