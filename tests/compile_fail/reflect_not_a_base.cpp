// expect: Base is not a base class
#include "plait/core/trees/reflect.h"

struct Other {};
struct Layer {
  int a;
  static constexpr auto fields() { return plait::fields<Layer>(plait::fields_of_base<Other>()); }
};
constexpr size_t count = plait::reflect::kFieldCount<Layer>;
