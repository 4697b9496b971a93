// Operations on records, with their derivatives. The tangent of a record, absent or not, has the
// type `@name?`; fields without a tangent are zeros.
#pragma once

#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/tensor/tensor.h"

namespace plait::records {

Tensor packed(const ir::RecordType& record, std::span<const Tensor> fields);
std::vector<Tensor> unpacked(const ir::RecordType& record, const Tensor& given);
// A record as one that may be absent, and back; ValueError if it is absent.
Tensor present(const Tensor& given);
Tensor unwrapped(const Tensor& given);
Tensor absent(const ir::RecordType& record);
Tensor is_present(const Tensor& record);  // bool[]

}  // namespace plait::records
