#include "plait/data/loader_run.h"

#include <algorithm>
#include <exception>
#include <new>
#include <string>

#include "plait/core/error.h"
#include "plait/data/sample_key.h"

namespace plait::data {

void rethrow_with_sample(int64_t sample) {
  const std::string name = fmt::format("sample {}: ", sample);
  try {
    throw;
  } catch (Error& error) {
    error.prepend(name);
    throw;
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    std::throw_with_nested(ValueError("{}{}", name, error.what()));
  }
}

Tensor mask_of(int64_t samples, int64_t rows) {
  Array mask = Array::empty(DType::boolean, {rows});
  const auto elements = mask.writable_elements<bool>();
  for (size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<int64_t>(i) < samples;
  return Tensor(std::move(mask));
}

PlannedRun::PlannedRun(const LoaderOptions& options, const Sampler& sampler,
                       const LoaderState& state, bool pads)
    : sampler_(sampler),
      key_(epoch_key(state.seed, state.epoch)),
      epoch_(state.epoch),
      size_(sampler.size(state.epoch)),
      batch_size_(options.batch_size),
      plan_(size_, {options.batch_size, options.ranks, options.rank, options.drop_last},
            state.place, state.done),
      pads_(pads) {
  if (state.epoch < 0) throw ValueError("the epoch is {}, expected 0 or more", state.epoch);
  if (state.place > 0 && state.size >= 0 && state.size != size_) {
    throw ValueError(
        "the state is of an epoch of {} samples, at place {}, but this one has {} samples",
        state.size, state.place, size_)
        .hint("begin the next epoch: a state with the epoch and place 0");
  }
  if (plan_.count() >= options.workers) return;
  first_pieces_.push_back(0);
  for (int64_t batch = 0; batch < plan_.count(); ++batch) {
    const int64_t samples = plan_.share(plan_.step(batch)).count();
    first_pieces_.push_back(first_pieces_.back() + std::max<int64_t>(samples, 1));
  }
}

int64_t PlannedRun::first_piece(int64_t batch) const {
  return is_by_samples() ? first_pieces_[static_cast<size_t>(batch)] : batch;
}

BatchShape PlannedRun::shape_of(int64_t batch) const {
  const Places step = plan_.step(batch), share = plan_.share(step);
  return {share, pads_ ? batch_size_ : share.count(), step.begin};
}

KeyBits PlannedRun::key_at(int64_t place, int64_t index) const {
  const KeyBits key = fold_in(key_, index);
  return sampler_.repeats() ? fold_in(key, place) : key;
}

KeyBits PlannedRun::stream_key_of(const BatchShape& shape) const {
  const int64_t first = shape.places.count() == 0 ? shape.like : shape.places.begin;
  return stream_key(key_at(first, index_at(first)), StreamOf::batch);
}

std::shared_ptr<void> PlannedRun::make(int64_t piece) {
  if (!is_by_samples()) return made(shape_of(piece));
  const auto after = std::ranges::upper_bound(first_pieces_, piece);
  const int64_t batch = after - first_pieces_.begin() - 1;
  const BatchShape shape = shape_of(batch);
  const int64_t row = piece - first_piece(batch);
  return sample(shape.places.count() == 0 ? shape.like : shape.places.begin + row);
}

MadeBatch PlannedRun::join(int64_t batch, std::vector<MadePiece> pieces) {
  MadeBatch result{.step = plan_.step(batch)};
  const auto failed = std::ranges::find_if(pieces, [](const auto& each) { return !!each.failure; });
  if (failed != pieces.end()) {
    result.failure = failed->failure;
  } else if (!is_by_samples()) {
    result.value = std::move(pieces[0].value);
  } else {
    try {
      result.value = joined(shape_of(batch), std::move(pieces));
    } catch (...) {
      result.failure = std::current_exception();
    }
  }
  return result;
}

}  // namespace plait::data
