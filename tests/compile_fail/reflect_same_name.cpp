// expect: two fields, of the class or of its bases, have the same name
#include "plait/core/trees/reflect.h"

struct Layer {
  int a;
  static constexpr auto fields() { return plait::fields<Layer>("a", &Layer::a); }
};
struct Wider : Layer {
  int b;
  static constexpr auto fields() {
    return plait::fields<Wider>(plait::fields_of_base<Layer>(), "a", &Wider::b);
  }
};
void visit(Wider& wider) {
  plait::reflect::for_each_field(wider, [](std::string_view, int&) {});
}
