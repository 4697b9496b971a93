#include "plait/ops/declare.h"

#include "plait/ops/activation.h"
#include "plait/ops/callback.h"
#include "plait/ops/check.h"
#include "plait/ops/checkpoint_name.h"
#include "plait/ops/collective.h"
#include "plait/ops/complex.h"
#include "plait/ops/convolution.h"
#include "plait/ops/create.h"
#include "plait/ops/elementwise.h"
#include "plait/ops/fft.h"
#include "plait/ops/gather.h"
#include "plait/ops/lattice.h"
#include "plait/ops/linalg.h"
#include "plait/ops/linear.h"
#include "plait/ops/print.h"
#include "plait/ops/random.h"
#include "plait/ops/reduce.h"
#include "plait/ops/reinterpret.h"
#include "plait/ops/scan.h"
#include "plait/ops/scatter.h"
#include "plait/ops/segment.h"
#include "plait/ops/shape.h"
#include "plait/ops/softmax.h"
#include "plait/ops/sort.h"
#include "plait/ops/special.h"
#include "plait/ops/update_slice.h"
#include "plait/ops/window.h"

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

void register_all() {
  register_unary_ops();
  register_complex_ops();
  register_binary_ops();
  register_shape_ops();
  register_slice_ops();
  register_view_dtype();
  register_reduce_ops();
  register_arg_extreme_ops();
  register_scan_ops();
  register_lattice_ops();
  register_sort_ops();
  register_linear_ops();
  register_create_ops();
  register_gather_ops();
  register_scatter_ops();
  register_segment_ops();
  register_update_slice();
  register_special_ops();
  register_special_functions();
  register_activation_ops();
  register_convolution_ops();
  register_window_ops();
  register_softmax_ops();
  register_random_ops();
  register_linalg_ops();
  register_fft_ops();
  register_print();
  register_check();
  register_callback();
  register_checkpoint_name();
  register_collective_ops();
}

}  // namespace plait
