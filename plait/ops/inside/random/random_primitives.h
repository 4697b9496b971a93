// The primitives of random numbers. Internal to ops and the backends.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/core/numbers/dtype.h"
#include "plait/core/numbers/element.h"
#include "plait/core/sizes/dim.h"
#include "plait/ir/primitive.h"
#include "plait/tensor/kernels.h"
#include "plait/tensor/tensor.h"

namespace plait {

// Distributions whose elements are functions of their own bits of the stream.
enum class Distribution : uint8_t { uniform, normal, exponential, laplace, gumbel };
std::span<const std::string_view> enumerator_names(Distribution);

struct SplitKeyAttributes {
  Dim count = 2;
};
// `sizes` are those of the result per key.
struct RandomBitsAttributes {
  std::vector<Dim> sizes = {};
  DType dtype = DType::u32;
  static constexpr std::string_view kRequired[] = {"sizes", "dtype"};
};
struct RandomValuesAttributes {
  Distribution distribution = Distribution::uniform;
  std::vector<Dim> sizes = {};
  DType dtype = DType::f32;
  static constexpr std::string_view kRequired[] = {"distribution", "sizes", "dtype"};
};
struct RandomIntegersAttributes {
  std::vector<Dim> sizes = {};
  Dim count = 0;  // number of integers in the range
  static constexpr std::string_view kRequired[] = {"sizes", "count"};
};
struct RandomPermutationAttributes {
  Dim count = 0;
  static constexpr std::string_view kRequired[] = {"count"};
};
struct TruncatedNormalAttributes {
  std::vector<Dim> sizes = {};
  double low = 0;
  double high = 0;
  DType dtype = DType::f32;
  static constexpr std::string_view kRequired[] = {"sizes", "low", "high", "dtype"};
};

struct RandomGammaAttributes {
  bool log = false;  // returns logarithms
};

struct RandomPrimitives {
  const ir::Primitive& key_of_seed;
  const ir::Primitive& split_key;
  const ir::Primitive& fold_in;
  const ir::Primitive& draw_key;
  const ir::Primitive& bits;
  const ir::Primitive& values;
  const ir::Primitive& integers;
  const ir::Primitive& permutation;
  const ir::Primitive& truncated_normal;
};
const RandomPrimitives& random_primitives();

// Primitives with parameters after the keys. The parameters have the shape of the result, which
// begins with that of the keys.
struct ParametricPrimitives {
  const ir::Primitive& gamma;
  const ir::Primitive& gamma_slope;
  const ir::Primitive& poisson;
  const ir::Primitive& binomial;
  const ir::Primitive& multinomial;
};
const ParametricPrimitives& parametric_primitives();

// The number of bytes of the stream per element: element e uses the bytes from e times that number
// on. Numbers are stored there in little-endian order.
int64_t random_bytes(Distribution distribution, DType dtype);
// Computes `count` elements from their bytes of the stream. If the count is odd, one more element
// is read and written.
void random_values(Distribution distribution, DType dtype, const uint32_t* words, int64_t count,
                   std::byte* out);

// Allocates the result and fills it for all keys of the operand, a piece of a key's elements at a
// time, in the thread team. Pieces begin at multiples of kRandomPiece, and therefore at whole
// blocks.
inline constexpr int64_t kRandomPiece = 1024;
using RandomFill =
    FunctionRef<void(const KeyBits& key, int64_t first, int64_t count, std::byte* out)>;
void fill_random_pieces(KernelCall& call, RandomFill fill);

// Evaluators that use rejection sampling (random_rejection.cpp).
void random_integers_now(KernelCall& call, const void*);
int64_t integers_to_choose_from(const KernelCall& call);  // ValueError if there are none
void random_permutation_now(KernelCall& call, const void*);
void truncated_normal_now(KernelCall& call, const void*);
void random_gamma_now(KernelCall& call, const void*);  // random_gamma.cpp
// random_counts.cpp
void random_poisson_now(KernelCall& call, const void*);
void random_binomial_now(KernelCall& call, const void*);
void random_multinomial_now(KernelCall& call, const void*);

// Parameters that their evaluators refuse: the text of the ValueError. `bits` are those of the
// number: an integer for trials, else a double.
enum class BadParameter : uint8_t { rate, trials, probability, weight, no_weight };
std::string text_of(BadParameter parameter, int64_t bits);

// Resets the default stream to a seed.
void set_default_seed(uint64_t seed);
// If the key is the last one that the default stream returned, the stream will return it again.
void take_back_default_key(const Tensor& key);

}  // namespace plait
