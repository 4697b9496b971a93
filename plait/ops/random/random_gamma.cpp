// Gamma random numbers (gamma_draws.inl).
#include "plait/ops/inside/random/random_names.h"
#include "plait/ops/inside/random/random_primitives.h"

#define SHARED_TEXT(...) __VA_ARGS__
namespace plait::draws {
#include "plait/ops/inside/random/gamma_draws.inl"
}  // namespace plait::draws
#undef SHARED_TEXT

namespace plait {

void random_gamma_now(KernelCall& call, const void*) {
  const bool wants_log = call.attributes.as<RandomGammaAttributes>().log;
  const DType dtype = call.types[0].dtype;
  const Array parameters = call.operands[1].converted(DType::f64).contiguous();
  const auto a = parameters.elements<double>();
  fill_random_pieces(call, [&](const KeyBits& key, int64_t first, int64_t n, std::byte* out) {
    const draws::GammaStream stream(key);
    const int64_t place = (out - call.results[0].data()) / size_of(dtype);
    for (int64_t i = 0; i < n; ++i) {
      const double x = stream.draw(static_cast<uint64_t>(first + i),
                                   a[static_cast<size_t>(place + i)], wants_log);
      store_element(dtype, Element::of(x), out + i * size_of(dtype));
    }
  });
}

}  // namespace plait
