#include "plait/tensor/trace_function.h"

namespace plait::tracing {

std::string label_of(std::string_view path) { return fmt::format("arg{}", path); }

}  // namespace plait::tracing
