// Helpers of the functions in random.h.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "plait/ops/inside/random/random_primitives.h"
#include "plait/ops/operand.h"
#include "plait/ops/random/random.h"

namespace plait::random {

// Returns the key, or throws an error that says how to create one.
Tensor expect_key(std::string_view function, const Tensor& key);
// The one key that is given, or if there is none, the next key of the default stream.
Tensor key_or_next(std::string_view function, const Tensor& key);
void expect_one_key(std::string_view function, const Tensor& key);
void expect_floating(std::string_view function, DType dtype);
void expect_integer(std::string_view function, DType dtype);
// The shape of a result: `shape` if given, to which the parameters' common shape must broadcast;
// else the common shape.
Shape shape_of_result(std::string_view function, const std::optional<Shape>& shape,
                      const Shape& common);

// Calls the function with the next key of the default stream; if that throws, the key is returned
// to the stream.
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

// A parameter of a distribution, with its name for errors. Plain numbers are checked immediately.
enum class Known : uint8_t { anything, positive, not_negative, probability };
struct Parameter {
  std::string_view name;
  const Operand& given;
  Known range = Known::anything;
  bool is_whole = false;

  // Converts to the dtype. Throws TypeError or ValueError for invalid parameters.
  Tensor as(std::string_view function, DType dtype) const;
};

// A call of a distribution with parameters, which are broadcast to `shape`, the shape of the result
// per key; by default their common shape.
struct Drawing {
  Tensor key;
  std::vector<Tensor> parameters;  // in f64
  Shape shape;
  DType dtype = DType::f32;  // dtype of the result if it is floating

  Drawing(std::string_view function, const Tensor& key, std::initializer_list<Parameter> given,
          const std::optional<Shape>& shape, std::optional<DType> dtype = {});

  const Tensor& operator[](size_t i) const { return parameters[i]; }
  // An independent key for the n-th of several draws.
  Tensor key_of(int64_t n) const { return fold_in(key, n); }
  // The parameter broadcast to the shape of the result, including the dimensions of the keys.
  Tensor whole(const Tensor& parameter) const;
  // Converts a result in f64 to the dtype, rounded once.
  Tensor rounded(const Tensor& x) const;
};

// The dimensions of the keys, followed by `shape`.
Shape behind_keys(const Tensor& key, const Shape& shape);
// Converts counts to another dtype; greater ones become its greatest number.
Tensor counts_as(const Tensor& counts, DType dtype);

}  // namespace plait::random
