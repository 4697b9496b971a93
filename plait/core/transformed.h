// A function made of another one, as `grad(f)` is: what looks into functions (jit) finds what f
// holds.
#pragma once

#include <utility>

#include "plait/core/trees/reflect.h"

namespace plait {

template <class F, class Run>
struct Transformed {
  F function;
  Run run;  // takes the function, then the arguments

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
