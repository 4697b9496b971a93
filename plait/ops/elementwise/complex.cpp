#include "plait/ops/elementwise/complex.h"

#include <complex>

#include "plait/ir/inference.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/call.h"
#include "plait/ops/declare.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/along.h"
#include "plait/tensor/apply.h"

namespace plait {
namespace {

using Number = std::complex<double>;
using Complexes = std::span<const Number>;

ir::Primitive of_complex(const char* name, const char* summary, const char* oracle,
                         ir::Elementwise result, Number (*body)(Complexes)) {
  return {.name = name,
          .summary = summary,
          .oracle = oracle,
          .operands = ir::exactly(1),
          .takes = kComplexes,
          .elementwise = result,
          .numerics = {.accuracy = ir::Accuracy::exact},
          .body = {.complex = body}};
}

DType complex_dtype(DType part) { return part == DType::f64 ? DType::c128 : DType::c64; }

ir::IndexSignature make_complex_signature(const ir::Inference& in) {
  const int64_t ranks[] = {in.operands[0].rank(), in.operands[1].rank()};
  return ir::IndexSignature::parse("..., ... -> ...", ranks);
}

void infer_make_complex(ir::Inference& in) {
  for (size_t i = 0; i < 2; ++i) in.expect_array(i, DTypeSet(DType::f32) | DType::f64);
  in.expect_alike(in.operands[0], in.operands[1]);
  const DType dtype = complex_dtype(in.operands[0].dtype());
  in.give(in.operands[0].without_sharding().with_dtype(dtype));
}

// A complex number in memory is its real part followed by its imaginary part.
void make_complex_now(KernelCall& call, const void*) {
  const DType part = call.operands[0].dtype();
  Sizes sizes = call.types[0].sizes;
  call.results[0] = Array::empty(complex_dtype(part), sizes);
  sizes.push_back(2);
  Array parts(part, Layout::contiguous(sizes), call.results[0].buffer());
  for (int64_t i = 0; i < 2; ++i) {
    Array place = parts.view(parts.layout().picked(-1, i));
    copy_elements(call.operands[static_cast<size_t>(i)], place);
  }
}

struct ComplexTable {
  const ir::Primitive& real = declare(
      {.primitive = of_complex("real", "The real part.", "numpy.real", ir::Elementwise::real,
                               [](Complexes x) { return Number(x[0].real()); }),
       .rules = {.transposes = {{{}, [](const RuleContext& c, const Tensor& cotangent, size_t) {
                                   return astype(cotangent, c.operand_types[0].dtype());
                                 }}}}});
  // Im z = Re(−i·z).
  const ir::Primitive& imag = declare(
      {.primitive = of_complex("imag", "The imaginary part.", "numpy.imag", ir::Elementwise::real,
                               [](Complexes x) { return Number(x[0].imag()); }),
       .rules = {.transposes = {{{}, [](const RuleContext&, const Tensor& cotangent, size_t) {
                                   return plait::make_complex(zeros_like(cotangent), -cotangent);
                                 }}}}});
  // Re(c·conj(z)) = Re(conj(c)·z).
  const ir::Primitive& conjugate = declare(
      {.primitive = of_complex("conjugate", "The conjugate.", "numpy.conjugate",
                               ir::Elementwise::same, [](Complexes x) { return std::conj(x[0]); }),
       .rules = {.transposes = {{{}, [](const RuleContext&, const Tensor& cotangent, size_t) {
                                   return conj(cotangent);
                                 }}}}});
  const ir::Primitive& make_complex =
      declare({.primitive = {.name = "make_complex",
                             .summary = "The complex number with these real and imaginary parts.",
                             .oracle = "a + 1j * b of NumPy's arrays",
                             .operands = ir::exactly(2),
                             .takes = DTypeSet(DType::f32) | DType::f64,
                             .infer = infer_make_complex,
                             .signature = make_complex_signature},
               .rules = {.transposes = {{{},
                                         [](const RuleContext&, const Tensor& cotangent, size_t) {
                                           return plait::real(cotangent);
                                         }},
                                        {{},
                                         [](const RuleContext&, const Tensor& cotangent, size_t) {
                                           return -plait::imag(cotangent);
                                         }}},
                         .batching = {[](const auto&, auto operands, const auto& batched) {
                           const std::vector<Tensor> all = all_batched(operands, batched);
                           return std::vector{plait::make_complex(all[0], all[1])};
                         }}},
               .evaluator = make_complex_now});
};
const ComplexTable& complex_ops() {
  static const ComplexTable table;
  return table;
}

// True if x is complex; TypeError for keys.
bool is_decomposable(const Tensor& x) {
  if (is_key(x.dtype())) {
    throw TypeError("{} is not a number", x.type().text()).at(Location::of_caller());
  }
  return is_complex(x.dtype());
}

}  // namespace

Tensor real(const Tensor& x) {
  const Call call("real", x);
  return is_decomposable(x) ? apply(complex_ops().real, {x}) : x;
}

Tensor imag(const Tensor& x) {
  const Call call("imag", x);
  return is_decomposable(x) ? apply(complex_ops().imag, {x}) : zeros_like(x);
}

Tensor conj(const Tensor& x) {
  const Call call("conj", x);
  return is_decomposable(x) ? apply(complex_ops().conjugate, {x}) : x;
}

Tensor angle(const Tensor& x) {
  const Call call("angle", x);
  return atan2(imag(x), real(x));
}

Tensor make_complex(const Operand& real, const Operand& imag) {
  const Call call("make_complex", real, imag);
  const DType both = inexact(common_dtype(real, imag));
  if (is_complex(both)) {
    throw TypeError("make_complex: the parts must be real numbers")
        .at(Location::of_caller())
        .hint("real() and imag() return the parts of complex numbers");
  }
  const DType part = both == DType::f64 ? both : DType::f32;
  const std::vector<Tensor> parts =
      broadcast_together("make_complex", {real.as(part), imag.as(part)});
  return plait::apply(complex_ops().make_complex, parts);
}

void register_complex_ops() { complex_ops(); }

}  // namespace plait
