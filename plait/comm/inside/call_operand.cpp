#include "plait/comm/inside/call_operand.h"

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/derivation.h"

namespace plait::dist {
namespace {

// A tape alone follows it: no function is differentiated.
bool is_of_tapes(const Tensor& x) {
  if (x.is_traced() || !x.derivation() || !x.derivation()->tangents.empty()) return false;
  bool is_all = true;
  x.derivation()->origin.levels.for_each(
      [&](const LevelPtr& level) { is_all = is_all && level->is_of_tape(); });
  return is_all;
}

}  // namespace

void refuse_recording(std::string_view function) {
  if (Trace::current() == nullptr) return;
  throw TypeError("{}: a program is being recorded, which has no calls to other ranks", function)
      .at(Location::of_caller())
      .hint("call it outside of jit, vmap, scan and the like");
}

Array operand_of(std::string_view function, const Tensor& x, const Group& group) {
  refuse_recording(function);
  if (is_followed(x) && is_of_tapes(x)) {
    throw TypeError(
        "{}: {} requires a gradient, or depends on a tensor that does: a tape follows it, and "
        "would "
        "not know of calls to other ranks",
        function, x.type().text())
        .at(Location::of_caller())
        .hint("pass y = x.detach(), and go on with y, or y.requires_grad()");
  }
  if (x.is_traced() || is_followed(x)) {
    throw TypeError(
        "{}: {} is part of a function that is transformed, where calls to other ranks "
        "are not recorded",
        function, x.type().text())
        .at(Location::of_caller())
        .hint("call it outside of jit, grad and vmap");
  }
  const Device device = group.device();
  if (x.array().is_unplaced()) return x.array().on(device).contiguous();
  if (x.array().device() != device) {
    throw DeviceError("{}: the tensor is on {}, expected one on {}, where the engine {} has them",
                      function, text_of(x.array().device()), text_of(device), group.engine())
        .at(Location::of_caller())
        .hint(fmt::format("move it with to(Device(\"{}\"))", text_of(device)));
  }
  return x.array().contiguous();
}

}  // namespace plait::dist
