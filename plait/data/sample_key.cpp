#include "plait/data/sample_key.h"

#include "plait/core/error.h"
#include "plait/ops/inside/random/philox.h"

namespace plait::data {

KeyBits bits_of(const Tensor& key) {
  const Array& array = key.array();
  if (!is_key(array.dtype()) || array.element_count() != 1) {
    throw TypeError("expected one key, not {}", key.type().text())
        .hint("random::key(seed) creates one");
  }
  return array.on_host().contiguous().elements<KeyBits>()[0];
}

Tensor tensor_of(const KeyBits& key) { return Tensor(Array::of(key)); }

KeyBits sample_key(uint64_t seed, int64_t epoch, int64_t index) {
  return fold_in(epoch_key(seed, epoch), index);
}

KeyBits epoch_key(uint64_t seed, int64_t epoch) { return fold_in(key_of_seed(seed), epoch); }

KeyBits fold_in(const KeyBits& key, int64_t number) {
  return folded_key(key, static_cast<uint64_t>(number));
}

KeyBits stream_key(const KeyBits& sample, StreamOf work) {
  return fold_in(sample, static_cast<int64_t>(work));
}

KeyBits order_key(uint64_t seed, int64_t epoch) {
  return child_key(folded_key(key_of_seed(seed), static_cast<uint64_t>(epoch)), 0);
}

}  // namespace plait::data
