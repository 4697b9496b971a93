#include "plait/comm/inside/call_operand.h"

#include "plait/core/error.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/derivation.h"

namespace plait::dist {

void refuse_recording(std::string_view function) {
  if (Trace::current() == nullptr) return;
  throw TypeError("{}: a program is being recorded, which has no calls to other ranks", function)
      .at(Location::of_caller())
      .hint("call it outside of jit, vmap, scan and the like");
}

Array operand_of(std::string_view function, const Tensor& x) {
  refuse_recording(function);
  if (x.is_traced() || is_followed(x)) {
    throw TypeError(
        "{}: {} is part of a function that is transformed, where calls to other ranks "
        "are not recorded",
        function, x.type().text())
        .at(Location::of_caller())
        .hint("call it outside of jit, grad and vmap");
  }
  if (!x.array().is_on_host()) {
    throw DeviceError("{}: the tensor is on {}, expected one on the CPU", function,
                      text_of(x.array().device()))
        .at(Location::of_caller())
        .hint("move it with to(Device())");
  }
  return x.array().contiguous();
}

}  // namespace plait::dist
