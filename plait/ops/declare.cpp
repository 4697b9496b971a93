#include "plait/ops/declare.h"

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reinterpret.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/collective.h"
#include "plait/ops/effects/callback.h"
#include "plait/ops/effects/check.h"
#include "plait/ops/effects/checkpoint_name.h"
#include "plait/ops/effects/print.h"
#include "plait/ops/elementwise/complex.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/elementwise/special.h"
#include "plait/ops/fft/fft.h"
#include "plait/ops/indexing/gather.h"
#include "plait/ops/indexing/scatter.h"
#include "plait/ops/indexing/segment.h"
#include "plait/ops/indexing/update_slice.h"
#include "plait/ops/inside/lattice.h"
#include "plait/ops/linalg/linalg.h"
namespace plait {

const ir::Primitive& declare(Declaration declaration) {
  const ir::Primitive& primitive = ir::register_primitive(std::move(declaration.primitive));
  register_rules(primitive, std::move(declaration.rules));
  if (declaration.evaluator != nullptr) {
    register_kernel(primitive,
                    {.run = declaration.evaluator, .finds_types = declaration.finds_types});
  }
  return primitive;
}

}  // namespace plait
