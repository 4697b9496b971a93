// Tables of what functions must refuse: each public function has at least one row for each way in
// which its arguments can be wrong. refusals_test.cpp checks that no function lacks rows.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"

namespace plait {

struct Refusal {
  std::string function;  // as declared in its header: "sum", "linalg::solve", "operator+"
  std::function<void()> call;
  ErrorKind kind;
  // Words that the message must contain; it begins with the name of the function.
  std::vector<std::string> words = {};
  bool in_traces = true;  // true if it is also refused in a trace
};
using Refusals = std::vector<Refusal>;

// The tables, one per file. The first has the functions of elementwise primitives that are declared
// with them (Declaration::function).
Refusals refusals_of_table();
Refusals refusals_of_elementwise();
Refusals refusals_of_special();
Refusals refusals_of_create();
Refusals refusals_of_shape();
Refusals refusals_of_rearrange();
Refusals refusals_of_reduce();
Refusals refusals_of_sort();
Refusals refusals_of_index();
Refusals refusals_of_take();
Refusals refusals_of_segment();
Refusals refusals_of_products();
Refusals refusals_of_linalg();
Refusals refusals_of_random();
Refusals refusals_of_fft();
Refusals refusals_of_activation();
Refusals refusals_of_normalization();
Refusals refusals_of_convolution();
Refusals refusals_of_pooling();
Refusals refusals_of_loss();
Refusals refusals_of_collective();

// Runs each call, eagerly and in a trace.
void expect_refused(const Refusals& rows);

inline constexpr ErrorKind kShape = ErrorKind::shape, kType = ErrorKind::type,
                           kValue = ErrorKind::value, kIndex = ErrorKind::index,
                           kMemory = ErrorKind::memory;

// 1, 2, 3, … in a shape; converted for keys and bool.
Tensor counted(DType dtype, const Sizes& sizes);
template <std::integral... Size>
Tensor f32(Size... sizes) {
  return counted(DType::f32, {sizes...});
}
template <std::integral... Size>
Tensor c64(Size... sizes) {
  return counted(DType::c64, {sizes...});
}
template <std::integral... Size>
Tensor i64(Size... sizes) {
  return counted(DType::i64, {sizes...});
}
template <std::integral... Size>
Tensor truths(Size... sizes) {
  return counted(DType::boolean, {sizes...});
}
template <std::integral... Size>
Tensor keys(Size... sizes) {
  return counted(DType::key, {sizes...});
}

Tensor places(std::initializer_list<int64_t> numbers);  // i64
using Tensors = std::vector<Tensor>;

// A function of one or two operands, and the dtypes that it takes.
template <class Function>
struct Named {
  const char* name;
  Function function;
};
using Unaries = std::vector<Named<UnaryFunction>>;
using Binaries = std::vector<Named<BinaryFunction>>;

// Rows that every function of operands has: keys, dtypes that it does not take, empty tensors, and
// shapes that do not go together.
void refuse_operands(Refusals& rows, const std::string& name, UnaryFunction f, DTypeSet takes);
void refuse_operands(Refusals& rows, const std::string& name, BinaryFunction f, DTypeSet takes);

}  // namespace plait
