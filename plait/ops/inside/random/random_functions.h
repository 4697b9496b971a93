// What the functions of random.h share.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "plait/ops/inside/random/random_primitives.h"
#include "plait/ops/operand.h"
#include "plait/ops/random/random.h"

namespace plait::random {

// The key of a function, or an error that tells where keys come from.
Tensor expect_key(std::string_view function, const Tensor& key);
void expect_floating(std::string_view function, DType dtype);
void expect_integer(std::string_view function, DType dtype);
// The shape of a result: the one that was asked for, which what parameters have in common must
// stretch to, or that.
Shape shape_of_result(std::string_view function, const std::optional<Shape>& shape,
                      const Shape& common);

// With the next key of the default stream, which stays where it is if that fails.
template <class Function>
Tensor from_stream(const Function& function) {
  const Tensor key = draw_key();
  try {
    return function(key);
  } catch (...) {
    take_back_default_key(key);
    throw;
  }
}

// A parameter of a distribution, by its name in errors. What is known of a number is told at once.
enum class Known : uint8_t { anything, positive, not_negative, probability };
struct Parameter {
  std::string_view name;
  const Operand& given;
  Known range = Known::anything;
  bool is_whole = false;

  // In that dtype; TypeError or ValueError where it is no such parameter.
  Tensor as(std::string_view function, DType dtype) const;
};

// A call of a distribution with parameters. They stretch to `shape`, which is what each key gives;
// without it, to each other's.
struct Drawing {
  Tensor key;
  std::vector<Tensor> parameters;  // in f64
  Shape shape;
  DType dtype = DType::f32;  // of the result, if it is floating

  Drawing(std::string_view function, const Tensor& key, std::initializer_list<Parameter> given,
          const std::optional<Shape>& shape, std::optional<DType> dtype = {});

  const Tensor& operator[](size_t i) const { return parameters[i]; }
  // The same for the n-th of several draws, which have nothing to do with each other.
  Tensor key_of(int64_t n) const { return fold_in(key, n); }
  // The parameter stretched to the whole result, all keys' included.
  Tensor whole(const Tensor& parameter) const;
  // What was computed in f64, rounded once.
  Tensor rounded(const Tensor& x) const;
};

// The sizes of what keys give: theirs, then those.
Shape behind_keys(const Tensor& key, const Shape& shape);
// Counts in another dtype, where the greatest number of it stands for all that are greater.
Tensor counts_as(const Tensor& counts, DType dtype);

}  // namespace plait::random
