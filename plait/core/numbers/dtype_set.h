// A set of dtypes: what an operation accepts.
#pragma once

#include <cstdint>
#include <string>

#include "plait/core/numbers/dtype.h"

namespace plait {

class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(DType dtype) : bits_(1U << static_cast<int>(dtype)) {}  // NOLINT: one of them
  static constexpr DTypeSet of(DTypeKind kind) {
    DTypeSet set;
    for (const DTypeInfo& info : kDTypes) {
      if (info.kind == kind) set.bits_ |= DTypeSet(info.dtype).bits_;
    }
    return set;
  }

  constexpr bool contains(DType dtype) const { return (bits_ & DTypeSet(dtype).bits_) != 0; }
  std::string text() const;  // "floating, c64"

  friend constexpr DTypeSet operator|(DTypeSet a, DTypeSet b) {
    a.bits_ |= b.bits_;
    return a;
  }
  friend constexpr bool operator==(DTypeSet, DTypeSet) = default;

 private:
  uint32_t bits_ = 0;
};

inline constexpr DTypeSet kBoolean = DTypeSet::of(DTypeKind::boolean);
inline constexpr DTypeSet kIntegers = DTypeSet::of(DTypeKind::integer);
inline constexpr DTypeSet kFloatings = DTypeSet::of(DTypeKind::floating);
inline constexpr DTypeSet kComplexes = DTypeSet::of(DTypeKind::complex);
inline constexpr DTypeSet kInexacts = kFloatings | kComplexes;
inline constexpr DTypeSet kReals = kIntegers | kFloatings;  // dtypes with an order and arithmetic
inline constexpr DTypeSet kNumbers = kReals | kComplexes;
inline constexpr DTypeSet kOrdered = kReals | kBoolean;
inline constexpr DTypeSet kAllButKeys = kNumbers | kBoolean;
inline constexpr DTypeSet kAllDTypes = kAllButKeys | DTypeSet::of(DTypeKind::key);

}  // namespace plait
