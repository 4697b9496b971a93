#include "python/bindings/functions/argument_names.h"

#include <algorithm>

namespace plait::python {
namespace {

struct OtherName {
  std::string_view given, here;
};
// The first row applies whose second name is that of a parameter.
constexpr OtherName kOtherNames[] = {
    // PyTorch's.
    {"dim", "axis"},
    {"dim", "axes"},
    {"dims", "axes"},
    {"dims", "axis"},
    {"dims", "counts"},
    {"keepdim", "keepdims"},
    {"input", "x"},
    {"input", "logits"},
    {"input", "ids"},
    {"other", "b"},
    {"k", "count"},
    {"k", "times"},
    {"p", "order"},
    {"ord", "order"},
    {"chunks", "parts"},
    {"sections", "parts"},
    {"split_size", "size"},
    {"split_size_or_sections", "size"},
    {"shifts", "shift"},
    {"src", "source"},
    {"value", "source"},
    {"alpha", "factor"},
    {"length", "count"},
    {"value", "scale"},
    {"tensors", "arrays"},
    {"size", "shape"},
    {"size", "sizes"},
    {"size", "output_size"},
    {"repeats", "counts"},
    {"upscale_factor", "factor"},
    {"downscale_factor", "factor"},
    {"var", "variance"},
    {"x1", "a"},
    {"x2", "b"},
    {"input1", "a"},
    {"input2", "b"},
    {"drop_prob", "p"},
    {"diagonal", "k"},
    {"diagonal", "offset"},
    {"_random_samples", "samples"},
    // NumPy's.
    {"ddof", "correction"},
    {"indices_or_sections", "parts"},
    {"reps", "counts"},
    {"newshape", "shape"},
    {"a_min", "min"},
    {"a_max", "max"},
    // Those of readers of CSV.
    {"sep", "separator"},
    {"delimiter", "separator"},
    {"quotechar", "quote"},
    {"na_values", "missing"},
    {"usecols", "columns"},
    // Plait's own names until 0.1.
    {"epsilon", "eps"},
    {"is_training", "training"},
    {"running_variance", "running_var"},
    {"weights", "weight"},
    {"w", "weight"},
    {"slope", "weight"},
    {"table", "weight"},
    {"slope", "negative_slope"},
    {"low", "min_val"},
    {"high", "max_val"},
    {"otherwise", "value"},
    {"probability", "p"},
    {"shape", "normalized_shape"},
    {"groups", "num_groups"},
    {"window", "kernel_size"},
    {"counts", "output_size"},
    {"mask", "attn_mask"},
    {"q", "query"},
    {"k", "key"},
    {"v", "value"},
    {"padding", "padding_idx"},
    {"padding", "padding_mode"},
    {"divisor", "divisor_override"},
    {"positive_weight", "pos_weight"},
    {"sizes", "size"},
    {"scales", "scale_factor"},
    {"count", "num_classes"},
    {"relative", "rtol"},
    {"absolute", "atol"},
};

struct Replacement {
  std::string_view keyword, replacement;
};
constexpr Replacement kReplacements[] = {
    {"requires_grad", "plait.grad(f)(x) does not need it; x.requires_grad() begins a tape"},
    {"in_dims", "in_axes="},
    {"out_dims", "out_axes="},
    {"static_argnums", "arguments that are not tensors are static already"},
    {"static_argnames", "arguments that are not tensors are static already"},
    {"donate_argnums", "donate="},
    {"out", "results are new tensors: x = f(x)"},
    {"inplace", "x = f(x): it returns a new tensor"},
    {"log_target", "plait.kl_div_loss(x, target, log_target=True) is PyTorch's kl_div"},
    {"reduction", "plait.mean(x) or plait.sum(x) of the result; PyTorch's kl_div is kl_div_loss"},
    {"unbiased", "correction=1 for True, correction=0 for False"},
    {"rounding_mode", "plait.floor_divide(a, b), or plait.trunc(a / b)"},
    {"alpha", "write it as a product: a + alpha * b"},
    {"return_indices", "the function whose name ends in _with_indices returns them too"},
    {"return_index", "plait.unique_all(x) returns them too"},
    {"return_inverse", "plait.unique_inverse(x) returns it too"},
    {"return_counts", "plait.unique_counts(x) returns them too"},
    {"as_tuple", "plait.nonzero(x) returns a tuple, plait.argwhere(x) a row for each element"},
    {"order", "elements are always in row-major order"},
    {"memory_format", "elements are always in row-major order"},
    {"layout", "all tensors are dense"},
    {"pin_memory", "the only device is the CPU"},
    {"generator", "pass a key: plait.random.key(0)"},
    {"size_average", "reduction='mean' or 'sum'"},
    {"kind", "sorting is stable"},
    {"where", "use plait.where(condition, x, 0) before"},
    {"initial", "add it to the result, or plait.maximum(result, initial)"},
    {"dropout_p", "plait.dropout(x, p, key) of the result"},
    {"inputs", "plait.gradient(result, inputs)"},
};

constexpr OtherMeaning kOtherMeanings[] = {
    {"max",
     "with dim= PyTorch returns values and indices: axis= returns the values, argmax the indices"},
    {"min",
     "with dim= PyTorch returns values and indices: axis= returns the values, argmin the indices"},
    {"cummax", "with dim= PyTorch returns values and indices: axis= returns the values"},
    {"cummin", "with dim= PyTorch returns values and indices: axis= returns the values"},
    {"sort",
     "with dim= PyTorch returns values and indices, as sort_with_indices(x, axis=…) does; sort(x, "
     "axis=…) returns the values"},
    {"median",
     "of the two middle elements PyTorch returns the lower one, and NumPy the mean, as median(x, "
     "axis=…) does"},
    {"nanmedian",
     "of the two middle elements PyTorch returns the lower one, and NumPy the mean, as "
     "nanmedian(x, axis=…) does"},
    {"std", "PyTorch divides by n - 1, and NumPy by n: pass correction=1 or correction=0",
     "correction"},
    {"var", "PyTorch divides by n - 1, and NumPy by n: pass correction=1 or correction=0",
     "correction"},
};

}  // namespace

std::string_view name_meant(std::string_view keyword, FunctionRef<bool(std::string_view)> has) {
  for (const OtherName& each : kOtherNames) {
    if (each.given == keyword && has(each.here)) return each.here;
  }
  return {};
}

std::string_view replacement_of(std::string_view keyword) {
  const auto* found = std::ranges::find(kReplacements, keyword, &Replacement::keyword);
  return found == std::end(kReplacements) ? std::string_view() : found->replacement;
}

const OtherMeaning* other_meaning(std::string_view function) {
  const auto* found = std::ranges::find(kOtherMeanings, function, &OtherMeaning::function);
  return found == std::end(kOtherMeanings) ? nullptr : found;
}

bool is_word_of_pytorch(std::string_view keyword) {
  return keyword == "dim" || keyword == "keepdim";
}

}  // namespace plait::python
