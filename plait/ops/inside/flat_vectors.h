// Tensors as one vector, and back.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait {

// The numbers of tensors one after another, in the dtype that all of them have in common.
// ValueError, which begins with the name of the function, if there are none.
Tensor vector_of(std::string_view function, std::span<const Tensor> tensors);
// Tensors like these with the numbers of a vector. ShapeError for a vector of another size;
// TypeError for a complex one of real tensors.
std::vector<Tensor> parts_of_vector(std::string_view function, const Tensor& vector,
                                    std::span<const Tensor> like);

}  // namespace plait
