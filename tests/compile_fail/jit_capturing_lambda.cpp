// expect: jit\(frozen\(f\)\) if it never changes
#include "plait/transform/jit.h"

void use(const plait::Tensor& weight) {
  plait::jit([weight](const plait::Tensor&) { return weight; });
}
