#include "plait/ops/register_all.h"

#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reinterpret.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/arrays/to_device.h"
#include "plait/ops/collectives/collective.h"
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
#include "plait/ops/neural/activation.h"
#include "plait/ops/neural/convolution.h"
#include "plait/ops/neural/softmax.h"
#include "plait/ops/neural/window.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/random/random.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/ops/reductions/scan.h"
#include "plait/ops/reductions/sort.h"

namespace plait {

void register_all() {
  register_unary_ops();
  register_complex_ops();
  register_binary_ops();
  register_shape_ops();
  register_slice_ops();
  register_view_dtype();
  register_to_device();
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
