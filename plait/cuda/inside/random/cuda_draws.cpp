#include "plait/cuda/inside/random/cuda_draws.h"

#include "plait/core/inside/system/immortal.h"
#include "plait/core/location.h"
#include "plait/cuda/inside/device/index_notes.h"
#include "plait/cuda/inside/kernels/kernel_variants.h"
#include "plait/cuda/inside/random/device_draw.h"
#include "plait/cuda/inside/random/draws_text.h"
#include "plait/ops/inside/random/random_primitives.h"
#include "plait/tensor/inside/device_calls.h"

namespace plait::cuda {
namespace {

std::string refusal(int64_t which, int64_t bits) {
  return text_of(static_cast<BadParameter>(which), bits);
}

// The place of this call among those whose parameters are checked.
uint64_t checked_place(const KernelCall& call) {
  return index_notes(device_of(call))
      .add(
          {.function = call.primitive.name, .location = Location::of_caller(), .refusal = refusal});
}

Array parameter_of(const KernelCall& call, size_t operand) {
  return call.operands[operand].on(call.device).contiguous();
}

void run_gamma(KernelCall& call, const void*) {
  const Array shapes = parameter_of(call, 1);
  const Draw draw(call);
  if (draw.is_empty()) return;
  const DType dtype = shapes.dtype();
  const int64_t total = shapes.element_count();
  static Immortal<KernelVariants> variants("random_gamma");
  launch(draw.device(),
         variants->of(draw.device(), "random_gamma", {dtype_number(dtype)},
                      [&] { return random_gamma_text(dtype); }),
         blocks_for(total), kBlockThreads, 0, draw.keys(), draw.result(), address_of(shapes),
         draw.each(), total, int32_t{call.attributes.as<RandomGammaAttributes>().log});
}

void run_poisson(KernelCall& call, const void*) {
  const Array rates = parameter_of(call, 1);
  const Draw draw(call);
  if (draw.is_empty()) return;
  const DType dtype = rates.dtype();
  const int64_t total = rates.element_count();
  static Immortal<KernelVariants> variants("random_poisson");
  const KernelFunction& function =
      variants->of(draw.device(), "random_poisson", {dtype_number(dtype)},
                   [&] { return random_poisson_text(dtype); });
  launch(draw.device(), function, blocks_for(total), kBlockThreads, 0, draw.keys(), draw.result(),
         address_of(rates), index_notes(draw.device()).address(), checked_place(call), draw.each(),
         total);
}

void run_binomial(KernelCall& call, const void*) {
  const Array trials = parameter_of(call, 1), probabilities = parameter_of(call, 2);
  const Draw draw(call);
  if (draw.is_empty()) return;
  const DType dtype = probabilities.dtype();
  const int64_t total = trials.element_count();
  static Immortal<KernelVariants> variants("random_binomial");
  const KernelFunction& function =
      variants->of(draw.device(), "random_binomial", {dtype_number(dtype)},
                   [&] { return random_binomial_text(dtype); });
  launch(draw.device(), function, blocks_for(total), kBlockThreads, 0, draw.keys(), draw.result(),
         address_of(trials), address_of(probabilities), index_notes(draw.device()).address(),
         checked_place(call), draw.each(), total);
}

// Categories are drawn one after another: few rows of many categories are faster on the host.
constexpr int64_t kFewRows = 256, kManyCategories = 1024;

void run_multinomial(KernelCall& call, const void*) {
  const int64_t rows = call.operands[1].element_count(), categories = call.types[0].sizes.back();
  if (rows < kFewRows && categories > kManyCategories) return run_on_host(call);
  const Array trials = parameter_of(call, 1), weights = parameter_of(call, 2);
  const Draw draw(call);
  if (draw.is_empty()) return;
  const DType dtype = weights.dtype();
  const Array own = Array::empty_on(call.device, DType::f64, {rows, categories});
  const Array rest = Array::empty_on(call.device, DType::f64, {rows, categories});
  static Immortal<KernelVariants> variants("random_multinomial");
  const KernelFunction& function =
      variants->of(draw.device(), "random_multinomial", {dtype_number(dtype)},
                   [&] { return random_multinomial_text(dtype); });
  launch(draw.device(), function, blocks_for(rows), kBlockThreads, 0, draw.keys(), draw.result(),
         address_of(trials), address_of(weights), address_of(own), address_of(rest),
         index_notes(draw.device()).address(), checked_place(call), categories,
         draw.each() / categories, rows);
}

}  // namespace

void register_draw_kernels() {
  constexpr auto cuda = Device::Kind::cuda;
  const ParametricPrimitives& primitives = parametric_primitives();
  register_kernel(primitives.gamma, {run_gamma}, cuda);
  register_kernel(primitives.poisson, {run_poisson}, cuda);
  register_kernel(primitives.binomial, {run_binomial}, cuda);
  register_kernel(primitives.multinomial, {run_multinomial}, cuda);
}

}  // namespace plait::cuda
