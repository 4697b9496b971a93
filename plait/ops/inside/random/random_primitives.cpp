#include "plait/ops/inside/random/random_primitives.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "plait/core/ambient.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/system/thread_team.h"
#include "plait/ir/inference.h"
#include "plait/ops/declare.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/inside/random/philox.h"
#include "plait/ops/random/stream_scope.h"
#include "plait/tensor/apply.h"
#include "plait/tensor/inside/effect_log.h"

namespace plait {
namespace {

// ---- Keys

void infer_key_of_seed(ir::Inference& in) {
  in.expect_array(0, kIntegers);
  in.give(in.operands[0].without_sharding().with_dtype(DType::key));
}

std::span<const uint64_t> numbers_of(Array& array) {
  array = array.converted(DType::u64).contiguous();
  return array.elements<uint64_t>();
}
std::span<const KeyBits> keys_of(Array& array) {
  array = array.contiguous();
  return array.elements<KeyBits>();
}

std::span<KeyBits> make_keys(KernelCall& call) {
  call.results[0] = Array::empty(DType::key, call.types[0].sizes);
  return call.results[0].writable_elements<KeyBits>();
}

void key_of_seed_now(KernelCall& call, const void*) {
  const auto seeds = numbers_of(call.operands[0]);
  std::ranges::transform(seeds, make_keys(call).begin(), key_of_seed);
}

void infer_split(ir::Inference& in) {
  in.expect_array(0, DTypeSet(DType::key));
  const Dim count = in.attributes_as<SplitKeyAttributes>().count;
  if (count.is_number() && count.number() < 0) in.fail("cannot split into {} keys", count);
  Shape shape = in.operands[0].shape();
  shape.append(count);
  in.give(in.operands[0].without_sharding().with_shape(shape));
}

void split_now(KernelCall& call, const void*) {
  const auto keys = keys_of(call.operands[0]);
  const int64_t count = call.types[0].sizes.back();
  const auto children = make_keys(call);
  for (size_t i = 0; i < children.size(); ++i) {
    const auto each = static_cast<size_t>(count);
    children[i] = child_key(keys[i / each], i % each);
  }
}

void infer_fold(ir::Inference& in) {
  in.expect_array(0, DTypeSet(DType::key));
  in.expect_array(1, kIntegers);
  in.expect_alike(in.operands[0], in.operands[1].with_dtype(DType::key));
  in.give(in.operands[0].without_sharding());
}

void fold_now(KernelCall& call, const void*) {
  const auto keys = keys_of(call.operands[0]);
  const auto numbers = numbers_of(call.operands[1]);
  std::ranges::transform(keys, numbers, make_keys(call).begin(), folded_key);
}

// ---- Random numbers from keys

Shape with_sizes(const ir::Inference& in, std::span<const Dim> sizes) {
  in.expect_array(0, DTypeSet(DType::key));
  Shape shape = in.operands[0].shape();
  for (const Dim size : sizes) {
    if (size.is_number() && size.number() < 0) {
      throw ShapeError("{}: a negative size in {}", in.primitive.name, Shape(sizes).text())
          .at(in.location);
    }
    shape.append(size);
  }
  return shape;
}

void give(ir::Inference& in, std::span<const Dim> sizes, DType dtype) {
  const Shape shape = with_sizes(in, sizes);
  in.give(in.operands[0].without_sharding().with_dtype(dtype).with_shape(shape));
}

void infer_bits(ir::Inference& in) {
  const auto& a = in.attributes_as<RandomBitsAttributes>();
  if (!is_integer(a.dtype) || is_signed(a.dtype))
    in.fail("{} is not a dtype of bits", name_of(a.dtype));
  give(in, a.sizes, a.dtype);
}

void infer_values(ir::Inference& in) {
  const auto& a = in.attributes_as<RandomValuesAttributes>();
  if (!is_floating(a.dtype)) in.fail("draws floating-point numbers, not {}", name_of(a.dtype));
  give(in, a.sizes, a.dtype);
}

void infer_integers(ir::Inference& in) {
  const Dim count = in.attributes_as<RandomIntegersAttributes>().count;
  if (count.is_number() && count.number() < 1)
    in.fail("the count is {}, expected 1 or more", count);
  give(in, in.attributes_as<RandomIntegersAttributes>().sizes, DType::i64);
}

void infer_permutation(ir::Inference& in) {
  const Dim count = in.attributes_as<RandomPermutationAttributes>().count;
  give(in, {&count, 1}, DType::i64);
}

void infer_truncated(ir::Inference& in) {
  const auto& a = in.attributes_as<TruncatedNormalAttributes>();
  if (!is_floating(a.dtype)) in.fail("draws floating-point numbers, not {}", name_of(a.dtype));
  const double most = float_limits(a.dtype).max;
  if (!(a.low < a.high) || a.low > most || a.high < -most) {
    throw ValueError("{}: the range from {} to {} contains no {}", in.primitive.name, a.low, a.high,
                     name_of(a.dtype))
        .at(in.location);
  }
  give(in, a.sizes, a.dtype);
}

void bits_now(KernelCall& call, const void*) {
  const int64_t size = size_of(call.types[0].dtype);
  fill_random_pieces(call, [&](const KeyBits& key, int64_t first, int64_t count, std::byte* out) {
    stream_bytes(key, first * size, count * size, out);
  });
}

void values_now(KernelCall& call, const void*) {
  const auto& a = call.attributes.as<RandomValuesAttributes>();
  const int64_t size = random_bytes(a.distribution, a.dtype);
  fill_random_pieces(call, [&](const KeyBits& key, int64_t first, int64_t count, std::byte* out) {
    std::array<uint32_t, 2 * kRandomPiece> words;
    stream_bytes(key, first * size, (count + count % 2) * size,
                 reinterpret_cast<std::byte*>(words.data()));
    random_values(a.distribution, a.dtype, words.data(), count, out);
  });
}

struct StreamOfProcess {
  std::mutex mutex;
  random::DefaultStream stream{key_of_seed(0)};
};

StreamOfProcess& stream_of_process() {
  static Immortal<StreamOfProcess> process;
  return *process;
}

// use(the default stream of this thread).
template <class Use>
void with_default_stream(const Use& use) {
  if (ambient.default_stream != nullptr) return use(*ambient.default_stream);
  StreamOfProcess& process = stream_of_process();
  const std::lock_guard lock(process.mutex);
  use(process.stream);
}

void draw_now(KernelCall& call, const void*) {
  EffectLog::once(call, [&] {
    with_default_stream([&](random::DefaultStream& stream) {
      make_keys(call)[0] = child_key(stream.key, stream.drawn++);
    });
  });
}

// Each sample of a batch has its own key, and gets the same numbers as without batching.
using BatchingRule = decltype(Batching::of);

struct Random {
  const char* name;
  const char* summary;
  const char* oracle;
  const ir::AttributeSchema* attributes;
  void (*infer)(ir::Inference&);
  void (*evaluator)(KernelCall&, const void*);
  BatchingRule batching;
  DTypeSet takes = DType::key;
};

const ir::Primitive& random_primitive(const Random& declared) {
  return declare({.primitive = {.name = declared.name,
                                .summary = declared.summary,
                                .oracle = declared.oracle,
                                .attributes = declared.attributes,
                                .operands = ir::exactly(1),
                                .takes = declared.takes,
                                .infer = declared.infer},
                  .rules = {.not_differentiable = "is a function of keys, which are not numbers",
                            .batching = {declared.batching}},
                  .evaluator = declared.evaluator});
}

using Operands = std::span<const Tensor>;

const ir::Primitive& declare_fold_in() {
  return declare({.primitive = {.name = "fold_in",
                                .summary = "A new key for each key and integer.",
                                .oracle = "Philox, written in NumPy",
                                .operands = ir::exactly(2),
                                .takes = kIntegers | DTypeSet(DType::key),
                                .infer = infer_fold},
                  .rules = {.not_differentiable = "returns keys",
                            .batching = {[](const ir::Attributes&, Operands operands,
                                            const std::vector<bool>& batched) {
                              return apply_all(random_primitives().fold_in,
                                               all_batched(operands, batched));
                            }}},
                  .evaluator = fold_now});
}

const ir::Primitive& declare_draw_key() {
  return declare(
      {.primitive = {
           .name = "draw_key",
           .summary = "The next key of the default stream.",
           .oracle = "Philox, written in NumPy",
           .operands = ir::exactly(0),
           .infer = [](ir::Inference& in) { in.give(ir::Type::scalar(DType::key)); },
           .effects = [](const ir::Instruction&) -> ir::Effects { return {.observable = true}; }},
       .rules = {.not_differentiable = "returns keys"},
       .evaluator = draw_now});
}

}  // namespace

const RandomPrimitives& random_primitives() {
  static const RandomPrimitives table{
      .key_of_seed = random_primitive(
          {"key_of_seed", "A key for each integer, different from those of all other integers.",
           "Philox, written in NumPy", nullptr, infer_key_of_seed, key_of_seed_now,
           [](const ir::Attributes&, Operands operands, const auto&) {
             return apply_all(random_primitives().key_of_seed, operands);
           },
           kIntegers}),
      .split_key = random_primitive({"split_key", "`count` new keys for each key.",
                                     "Philox, written in NumPy",
                                     &ir::schema_of<SplitKeyAttributes>(), infer_split, split_now,
                                     [](const ir::Attributes& a, Operands operands, const auto&) {
                                       return apply_all(random_primitives().split_key, operands, a);
                                     }}),
      .fold_in = declare_fold_in(),
      .draw_key = declare_draw_key(),
      .bits = random_primitive({"random_bits", "The first bits of the stream of each key.",
                                "Philox, written in NumPy", &ir::schema_of<RandomBitsAttributes>(),
                                infer_bits, bits_now,
                                [](const ir::Attributes& a, Operands operands, const auto&) {
                                  return apply_all(random_primitives().bits, operands, a);
                                }}),
      .values =
          random_primitive({"random_values",
                            "Numbers of a standard distribution, each from its own bits of the "
                            "key's stream.",
                            "Philox and the distributions, written in NumPy",
                            &ir::schema_of<RandomValuesAttributes>(), infer_values, values_now,
                            [](const ir::Attributes& a, Operands operands, const auto&) {
                              return apply_all(random_primitives().values, operands, a);
                            }}),
      .integers = random_primitive(
          {"random_integers", "Uniformly distributed integers in [0, count).",
           "Philox and Lemire's method, written in NumPy",
           &ir::schema_of<RandomIntegersAttributes>(), infer_integers, random_integers_now,
           [](const ir::Attributes& a, Operands operands, const auto&) {
             return apply_all(random_primitives().integers, operands, a);
           }}),
      .permutation = random_primitive(
          {"random_permutation", "0, 1, …, count − 1 in random order.",
           "every number once, and scipy.stats.chisquare of their positions",
           &ir::schema_of<RandomPermutationAttributes>(), infer_permutation, random_permutation_now,
           [](const ir::Attributes& a, Operands operands, const auto&) {
             return apply_all(random_primitives().permutation, operands, a);
           }}),
      .truncated_normal = random_primitive(
          {"truncated_normal",
           "Numbers of the standard normal distribution, truncated to two bounds.",
           "scipy.stats.kstest against scipy.stats.truncnorm",
           &ir::schema_of<TruncatedNormalAttributes>(), infer_truncated, truncated_normal_now,
           [](const ir::Attributes& a, Operands operands, const auto&) {
             return apply_all(random_primitives().truncated_normal, operands, a);
           }})};
  return table;
}

void fill_random_pieces(KernelCall& call, RandomFill fill) {
  const auto keys = keys_of(call.operands[0]);
  const ArrayType& type = call.types[0];
  call.results[0] = Array::empty(type.dtype, type.sizes);
  std::byte* const out = call.results[0].writable_data();
  const auto key_count = static_cast<int64_t>(keys.size());
  if (call.results[0].element_count() == 0) return;
  const int64_t each = call.results[0].element_count() / key_count, size = size_of(type.dtype);
  const int64_t pieces = (each + kRandomPiece - 1) / kRandomPiece;
  const int64_t grain = std::max<int64_t>(1, 8192 / std::min(each, kRandomPiece));
  parallel_for(key_count * pieces, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t key = i / pieces, first = i % pieces * kRandomPiece;
      fill(keys[static_cast<size_t>(key)], first, std::min(kRandomPiece, each - first),
           out + (key * each + first) * size);
    }
  });
}

void set_default_seed(uint64_t seed) {
  with_default_stream([&](random::DefaultStream& stream) { stream = {key_of_seed(seed)}; });
}

void take_back_default_key(const Tensor& key) {
  if (key.is_traced()) return;
  with_default_stream([&](random::DefaultStream& stream) {
    const bool is_last = stream.drawn > 0 && child_key(stream.key, stream.drawn - 1) ==
                                                 key.array().elements<KeyBits>()[0];
    if (is_last) --stream.drawn;
  });
}

namespace random {

StreamScope::StreamScope(const KeyBits& key) : stream_{key}, before_(ambient.default_stream) {
  ambient.default_stream = &stream_;
}

StreamScope::~StreamScope() { ambient.default_stream = before_; }

}  // namespace random

}  // namespace plait
