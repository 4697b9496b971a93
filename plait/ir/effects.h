// The effects of an instruction besides its results.
#pragma once

#include "plait/ir/mesh.h"

namespace plait::ir {

struct Effects {
  bool observable = false;  // print, check, guard, read, draw: ordered, never removed or repeated
  bool may_fail = false;    // removable, but never hoisted out of a branch
  AxisSet collective = {};  // communicates along these axes: in order, the same on all ranks
  AxisSet guarded = {};     // axes along which it varies whether the program continues after it

  bool pure() const { return !observable && !may_fail && collective.empty(); }
  bool removable() const { return !observable && collective.empty(); }
  void include(const Effects& other) {
    observable |= other.observable;
    may_fail |= other.may_fail;
    collective.insert(other.collective);
    guarded.insert(other.guarded);
  }
  friend bool operator==(const Effects&, const Effects&) = default;
};

}  // namespace plait::ir
