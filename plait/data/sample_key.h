// Random keys of epochs and samples, without tensors.
#pragma once

#include <cstdint>

#include "plait/core/numbers/element.h"
#include "plait/tensor/tensor.h"

namespace plait::data {

KeyBits bits_of(const Tensor& key);  // TypeError unless it is one key
Tensor tensor_of(const KeyBits& key);

// random::fold_in(random::fold_in(random::key(seed), epoch), index): the key of a sample, for what
// is drawn for it. It does not depend on the order of the epoch, on threads or on ranks.
KeyBits sample_key(uint64_t seed, int64_t epoch, int64_t index);
// The keys of an epoch's samples are fold_in(epoch_key(seed, epoch), index).
KeyBits epoch_key(uint64_t seed, int64_t epoch);
// random::fold_in(key, number).
KeyBits fold_in(const KeyBits& key, int64_t number);

// The key of the default stream (random::StreamScope) of code that draws without a key, in place of
// the sample's own: while it makes the sample, reads it from a stream, or makes the batch of which
// it is the first.
enum class StreamOf : int64_t { sample = -3, reading = -4, batch = -5 };
KeyBits stream_key(const KeyBits& sample, StreamOf work);

// A key for the order of an epoch, unrelated to those of its samples.
KeyBits order_key(uint64_t seed, int64_t epoch);

}  // namespace plait::data
