#include "plait/tensor/tracing/trace_function.h"

namespace plait {

namespace tracing {

std::string label_of(std::string_view path) { return fmt::format("arg{}", path); }

}  // namespace tracing

// Belongs to a trace that has ended, so that every use except in trace() is an error.
Tensor abstract_tensor(const ir::Type& type) {
  static const auto scope = std::make_shared<TraceScope>(TraceScope{nullptr, "no function"});
  return Tensor(TracedValue{.scope = scope, .type = type});
}

}  // namespace plait
