// The place of a loader: all that its batches depend on besides its dataset and options.
#pragma once

#include <cstdint>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait::data {

struct LoaderState {
  uint64_t seed = 0;
  int64_t epoch = 0;
  int64_t place = 0;  // samples of the epoch that all ranks together have consumed
  int64_t size = -1;  // samples in the epoch; -1 if unknown, as of a stream
  // Where batches begin that were consumed, too: without order, they may end before earlier ones.
  std::vector<int64_t> done = {};
  std::vector<int64_t> source = {};  // the position of a stream at the place
  // Batch size, ranks and rank of the loader, if the state is of no other: without order, each rank
  // is at another place, and the batches that are done have this size. Else empty.
  std::vector<int64_t> division = {};

  friend bool operator==(const LoaderState&, const LoaderState&) = default;
};

// The same as a tree of tensors, to be saved with a model.
struct LoaderTensors {
  Tensor seed, epoch, place, size, done, source, division;
};
LoaderTensors tensors_of(const LoaderState& state);
LoaderState state_of(const LoaderTensors& tensors);  // TypeError for tensors of another kind

}  // namespace plait::data
