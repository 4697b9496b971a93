// The kinds of steps in random programs, in groups.
#pragma once

#include "tests/support/programs/tensor_program.h"

namespace plait {

void add_elementwise_kinds(std::vector<StepKind>& kinds);
void add_along_kinds(std::vector<StepKind>& kinds);      // along one axis
void add_arranging_kinds(std::vector<StepKind>& kinds);  // slices, shapes, concatenation
void add_index_kinds(std::vector<StepKind>& kinds);      // integers, bools, and indexing
void add_product_kinds(std::vector<StepKind>& kinds);    // matrices, Fourier transforms, layers
void add_calling_kinds(std::vector<StepKind>& kinds);
void add_control_kinds(std::vector<StepKind>& kinds);

// Each step with one result, from a table of functions.
using OfOne = Tensor (*)(const Tensor& x);
using OfTwo = Tensor (*)(const Tensor& a, const Tensor& b);
using OfAxis = Tensor (*)(const Tensor& x, int64_t axis);
ChosenStep step_of(size_t x, OfOne f);
ChosenStep step_of(size_t a, size_t b, OfTwo f);
ChosenStep step_along(size_t x, int64_t axis, OfAxis f);
ChosenStep step_along(size_t a, size_t b, int64_t axis,
                      Tensor (*f)(const Tensor& a, const Tensor& b, int64_t axis));

}  // namespace plait
