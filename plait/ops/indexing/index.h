// Indices x[…], as in NumPy:
//
//   x[0]                             removes the first axis
//   x[{Slice{1, -1}, ellipsis, 2}]   in Python: x[1:-1, ..., 2]
//   x[{Slice{}, new_axis}]           x[:, None]
//   x[{rows, columns}]               the elements that two integer tensors, broadcast to one
//                                    shape, select; also mixed with the other kinds
//   x[mask]                          the elements where a tensor of bool is true; the mask
//                                    covers as many axes as it has
//
// Integers and slices alone return a view. The dimensions of index tensors replace the indexed axes
// if these tensors (and integers) are next to each other; otherwise they come first.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "plait/tensor/memory/layout.h"
#include "plait/tensor/tensor.h"

namespace plait {

// A slice whose bounds are sizes, which may be symbolic.
struct SymbolicSlice {
  std::optional<Dim> start = {};
  std::optional<Dim> stop = {};
  int64_t step = 1;
};
struct Ellipsis {};  // all axes that the rest of the index does not mention
struct NewAxis {};   // a new axis of size 1
inline constexpr Ellipsis ellipsis{};
inline constexpr NewAxis new_axis{};

class Index {
 public:
  using Choice = std::variant<Dim, bool, SymbolicSlice, Ellipsis, NewAxis, Tensor>;

  template <std::integral T>
  Index(T number) {  // NOLINT: all implicit
    if constexpr (std::same_as<T, bool>)
      choice_ = number;
    else
      choice_ = dim_of(number);
  }
  Index(Dim number) : choice_(number) {}                                    // NOLINT
  Index(const Slice& slice);                                                // NOLINT
  Index(const SymbolicSlice& slice) : choice_(slice) {}                     // NOLINT
  Index(Ellipsis all) : choice_(all) {}                                     // NOLINT
  Index(NewAxis axis) : choice_(axis) {}                                    // NOLINT
  Index(Tensor integers_or_mask) : choice_(std::move(integers_or_mask)) {}  // NOLINT

  const Choice& choice() const { return choice_; }

 private:
  static Dim dim_of(std::integral auto number) {
    if (!std::in_range<int64_t>(number)) refuse_number();
    return Dim(static_cast<int64_t>(number));
  }
  [[noreturn]] static void refuse_number();

  Choice choice_;
};

Tensor index(const Tensor& x, std::span<const Index> indices);

}  // namespace plait
