// A function derived from another one, such as `grad(f)`. jit inspects it to find the state that f
// holds.
#pragma once

#include <utility>

#include "plait/core/trees/reflect.h"

namespace plait {

template <class F, class Run>
struct Transformed {
  F function;
  Run run;  // called with the function, then the arguments

  static constexpr auto fields() {
    return plait::fields<Transformed>("function", &Transformed::function);
  }
  template <class... Arguments>
  auto operator()(const Arguments&... arguments) const {
    return run(function, arguments...);
  }
};

template <class F, class Run>
Transformed<F, Run> transformed(F f, Run run) {
  return {std::move(f), std::move(run)};
}

}  // namespace plait
