// expect: cannot count the fields of this struct
#include "plait/core/trees/reflect.h"

struct Borrows {
  int& number;
};
constexpr size_t count = plait::reflect::kFieldCount<Borrows>;
