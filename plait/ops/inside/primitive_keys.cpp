#include "plait/ops/inside/primitive_keys.h"

#include "plait/core/error.h"
#include "plait/ir/primitive.h"
#include "plait/ops/register_all.h"

namespace plait {

void expect_primitive(std::string_view name, std::string_view table) {
  register_all();
  if (ir::find_primitive(name) != nullptr) return;
  throw CompileError("{}: unknown primitive `{}`", table, name)
      .hint("this is a mistake in Plait: the rows of this table are named by primitives");
}

}  // namespace plait
