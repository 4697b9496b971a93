// Type promotion: the dtype of the result of an operation on operands of several dtypes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "plait/core/numbers/dtype.h"

namespace plait {

// A number written in the source, such as the 2 of `x * 2`, has a kind but no dtype.
enum class ScalarKind : uint8_t { boolean, integer, floating, complex };

// The dtype of a scalar alone: bool, i64, f32, c64.
DType default_dtype(ScalarKind kind);

// The result is the least upper bound of the operands in this order, in which the scalar kinds (in
// capitals) are placed between the dtypes:
//
//   bool → INTEGER → i8 → i16 → i32 → i64 → FLOATING           and u8 → i16, u16 → i32,
//          INTEGER → u8 → u16 → u32 → u64 → FLOATING           u32 → i64
//   FLOATING → f8e4m3, f8e5m2 → f16, bf16 → f32 → f64 → c128   (each f8 to both f16 and bf16)
//   FLOATING → COMPLEX → c64 → c128, f32 → c64
//
// This is the table of the Array API where it defines one, and JAX's order beyond it:
// - an integer or bool with a floating or complex dtype gives that dtype, whatever its width;
// - f16 with bf16 gives f32;
// - u64 with a signed integer gives the default floating dtype, f32 (no integer dtype holds both);
// - a scalar of a kind not above the dtype's takes the dtype, otherwise the default dtype of its
//   kind, at least as wide as the dtype: 1.0 with i32 gives f32, 1.0j with f64 gives c128.
// Unlike JAX, which refuses, an f8 with a wider floating dtype gives the wider one.
//
// TypeError if there is no least upper bound: f8e4m3 with f8e5m2 (f16 and bf16 both hold them), and
// key with anything, itself included.
DType promote(DType a, DType b);
DType promote(DType dtype, ScalarKind scalar);

// Promotes all together, independent of their order. A chain of pairs would differ: (u64, i64), f16
// gives f32 but u64, (i64, f16) gives f16. ValueError if there are no operands.
DType promote(std::span<const DType> dtypes, std::span<const ScalarKind> scalars = {});

// Empty if promote() throws.
std::optional<DType> find_promotion(DType a, DType b);

}  // namespace plait
