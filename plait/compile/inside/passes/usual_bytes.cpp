#include "plait/compile/inside/passes/usual_bytes.h"

#include "plait/core/error.h"

namespace plait::compile {

int64_t usual_bytes(const ir::Type& type) {
  if (!type.is_array()) return 0;
  SymbolMap<int64_t> sizes;
  type.for_each_dim(
      [&](Dim dim) { dim.for_each_symbol([&](Dim symbol) { sizes.set(symbol, kUsualSize); }); });
  try {
    return type.shape().element_count().evaluate(sizes) * size_of(type.dtype());
  } catch (const Error&) {
    return 0;
  }
}

}  // namespace plait::compile
