// expect: fields\(\) is inherited and would lose
#include "plait/core/trees/reflect.h"

struct Base {
  int a;
  static constexpr auto fields() { return plait::fields<Base>("a", &Base::a); }
};
struct Derived : Base {
  int b;
};
constexpr size_t count = plait::reflect::kFieldCount<Derived>;
