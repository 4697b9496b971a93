// expect: not a plain struct: list its fields
#include "plait/core/trees/reflect.h"

constexpr size_t count = plait::reflect::kFieldCount<int>;
