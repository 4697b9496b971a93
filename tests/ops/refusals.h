// What functions must refuse, as tables: each public function has at least one row for each way in
// which its arguments can be wrong. refusals_test.cpp sees that none lacks rows.
#pragma once

#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/error.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"

namespace plait {

struct Refusal {
  std::string function;  // as its header has it: "sum", "linalg::solve", "operator+"
  std::function<void()> call;
  ErrorKind kind;
  // What the message must hold besides the function's name, which it begins with.
  std::vector<std::string> words = {};
  bool in_traces = true;  // whether it is refused for the same reason, if at all
};
using Refusals = std::vector<Refusal>;

// Of the tables of one file each.
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

// Runs each call, now and within a trace.
void expect_refused(const Refusals& rows);

inline constexpr ErrorKind kShape = ErrorKind::shape, kType = ErrorKind::type,
                           kValue = ErrorKind::value, kIndex = ErrorKind::index,
                           kMemory = ErrorKind::memory;

// 1, 2, 3, … in a shape; of keys and bool, whatever those numbers make.
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

// A function of one operand refuses dtypes: rows for each of several functions.
using Unary = Tensor (*)(const Operand&);
using Binary = Tensor (*)(const Operand&, const Operand&);
template <class Function>
struct Named {
  const char* name;
  Function function;
};

}  // namespace plait
