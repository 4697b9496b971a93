// Special functions that few kernels use, as CUDA C++: the mathematics that the library itself
// compiles (core/inside/mathematics/*.inl), with the names of shared_names.h. Their texts are long,
// so that only kernels which use them get them.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace plait::cuda {

// True for the primitives whose functions the text below has, in namespace `op`.
bool has_special_text(std::string_view primitive);

// The functions of these primitives. They are computed with pairs of doubles for results in f64, or
// if differences of shares are taken, which would cancel in doubles.
std::string special_text(std::span<const std::string_view> primitives, bool has_double);

// Around other shared texts: namespace `shared` with the names of shared_names.h, where Wide is
// double.
std::string_view begin_shared_text();
std::string_view end_shared_text();
// Between them: log_poisson and log_binomial (count_probabilities.inl).
const std::string& count_probabilities_text();

}  // namespace plait::cuda
