// Maxima and minima in canonical form.
#include <algorithm>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/inside/sizes/dim_polynomial.h"
#include "plait/core/inside/sizes/integer_arithmetic.h"

namespace plait {

namespace {

constexpr size_t kMaxMembers = 64;  // all pairs are compared

// If the sum is max(...) + k and nothing else: adds its members, each plus k.
void add_members(std::vector<Dim>& members, DimKind kind, Dim dim) {
  const int64_t constant = Polynomial(dim).constant();
  const Dim rest = dim - constant;
  if (!is_kind(rest, kind)) {
    members.push_back(dim);
    return;
  }
  for (const Dim member : DimTable::node(rest).operands) members.push_back(member + constant);
}

// True if `other` dominates `member`, which can be dropped then.
bool is_dominated(DimKind kind, Dim member, Dim other) {
  const Interval lead = kind == DimKind::max ? bounds_of_difference(other, member)
                                             : bounds_of_difference(member, other);
  return lead.low.value_or(-1) >= 0;
}

// One at a time, so that one of two equal members stays.
void drop_dominated(std::vector<Dim>& members, DimKind kind) {
  for (size_t i = 0; i < members.size();) {
    const bool dominated = std::ranges::any_of(members, [&](Dim other) {
      return !same(other, members[i]) && is_dominated(kind, members[i], other);
    });
    if (dominated)
      members.erase(members.begin() + static_cast<std::ptrdiff_t>(i));
    else
      ++i;
  }
}

// The constant that can be subtracted from all members so that one has the constant 0 and no
// constant changes sign.
int64_t shared_constant(std::span<const Dim> members) {
  int64_t least = kGreatestSize, greatest = kLeastSize;
  for (const Dim member : members) {
    const int64_t constant = Polynomial(member).constant();
    least = std::min(least, constant);
    greatest = std::max(greatest, constant);
  }
  if (least > 0) return least;
  return greatest < 0 ? greatest : 0;
}

Dim extremum(DimKind kind, Dim a, Dim b) {
  std::vector<Dim> members;
  add_members(members, kind, a);
  add_members(members, kind, b);
  std::ranges::sort(members, text_comes_before);
  members.erase(std::ranges::unique(members, kSame).begin(), members.end());
  drop_dominated(members, kind);
  if (members.size() == 1) return members[0];
  if (members.size() > kMaxMembers) {
    throw ValueError("a {} of more than {} sizes: {} and others",
                     kind == DimKind::max ? "maximum" : "minimum", kMaxMembers,
                     short_text(members[0]));
  }
  const int64_t shared = shared_constant(members);
  if (shared != 0) {
    for (Dim& member : members) member = member - shared;
    std::ranges::sort(members, text_comes_before);
  }
  return DimTable::intern(kind, members) + shared;
}

}  // namespace

Dim Dim::greatest(Dim a, Dim b) { return extremum(DimKind::max, a, b); }
Dim Dim::least(Dim a, Dim b) { return extremum(DimKind::min, a, b); }

}  // namespace plait
