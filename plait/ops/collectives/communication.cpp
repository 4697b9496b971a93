#include "plait/ops/inside/communication.h"

namespace plait {

void expect_varying(const ir::Inference& in, const ir::AxisSet& axes) {
  in.expect_array(0, in.primitive.takes);
  for (const std::string& axis : axes) {
    if (in.axes.find(axis) == nullptr) in.fail("the function has no axis `{}`", axis);
  }
  if (axes.empty()) in.fail("no axis is named");
  if (in.operands[0].varying().contains(axes)) return;
  in.fail("{} does not vary along {}", in.operands[0].text(), axes.text());
}

ir::Type without_axes(const ir::Type& type, const ir::AxisSet& axes) {
  ir::AxisSet rest = type.varying();
  for (const std::string& axis : axes) rest.erase(axis);
  return type.without_sharding().with_varying(rest);
}

}  // namespace plait
