// The batches of a stream, which threads read in turns. Used by loader.h.
#pragma once

#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "plait/data/loader_run.h"
#include "plait/data/stream.h"

namespace plait::data {

// Threads take turns in the order of their numbers.
class Turns {
 public:
  Turns();
  void wait_for(int64_t number);
  void end();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

class Turn {
 public:
  Turn(Turns& turns, int64_t number) : turns_(turns) { turns_.wait_for(number); }
  ~Turn() { turns_.end(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Turns& turns_;
};

template <class S, class Collate>
class StreamRun final : public LoaderRun {
 public:
  using Parts = LoaderParts<S, Collate>;

  StreamRun(std::shared_ptr<Parts> parts, const LoaderOptions& options, const LoaderState& state,
            bool pads)
      : parts_(std::move(parts)),
        division_{options.batch_size, options.ranks, options.rank, options.drop_last},
        key_(epoch_key(state.seed, state.epoch)),
        place_(state.place),
        position_(state.source),
        pads_(pads) {}

  int64_t count() const override { return kUnknownCount; }
  int64_t epoch_size() const override { return -1; }

  std::shared_ptr<void> make(int64_t piece) override {
    std::optional<Group> group = read(piece);
    if (!group) return nullptr;
    const auto count = static_cast<int64_t>(group->raws.size());
    auto made = std::make_shared<MadeBatch>();
    made->step = {group->place, group->place + count + (group->failure ? 1 : 0)};
    made->source = std::move(group->position);
    made->failure = group->failure;
    if (made->failure) return made;
    const Places all{0, count}, share = EpochPlan(count, division_).share(all);
    const BatchShape shape{share, pads_ ? division_.batch_size : share.count(), 0};
    const int64_t first = group->place + (share.count() == 0 ? 0 : share.begin);
    const random::StreamScope stream(stream_key(key_at(first), StreamOf::batch));
    try {
      made->value = made_batch<S>(parts_->collate, shape, pads_, [&](int64_t row, const auto& use) {
        with_sample(*group, share.count() == 0 ? 0 : share.begin + row, use);
      });
    } catch (...) {
      made->failure = std::current_exception();
    }
    return made;
  }
  MadeBatch join(int64_t, std::vector<MadePiece> pieces) override {
    if (pieces[0].failure) return {.failure = pieces[0].failure};  // nothing was read
    return std::move(*static_cast<MadeBatch*>(pieces[0].value.get()));
  }

 private:
  // The samples that all ranks together read for a step.
  struct Group {
    int64_t place;  // place of the first
    std::vector<RawOf<S>> raws;
    std::vector<int64_t> position;  // position of the stream after them
    std::exception_ptr failure;
  };

  std::optional<Group> read(int64_t number) {
    const Turn turn(turns_, number);
    if (has_ended_) return std::nullopt;
    if (!is_begun_) {
      has_ended_ = true;  // unless this succeeds
      const random::StreamScope stream(stream_key(key_at(-1), StreamOf::reading));
      parts_->data.seek(position_);
      has_ended_ = false;
      is_begun_ = true;
    }
    Group group{.place = place_};
    fill(group);
    const bool is_empty = group.raws.empty() || (has_ended_ && division_.drop_last);
    if (is_empty && !group.failure) return std::nullopt;
    place_ += static_cast<int64_t>(group.raws.size()) + (group.failure ? 1 : 0);
    group.position = parts_->data.position();
    return group;
  }

  void fill(Group& group) {
    const auto is_full = [&] {
      return static_cast<int64_t>(group.raws.size()) / division_.batch_size >= division_.ranks;
    };
    random::StreamScope stream({});
    try {
      while (!is_full()) {
        const int64_t place = group.place + static_cast<int64_t>(group.raws.size());
        stream.begin(stream_key(key_at(place), StreamOf::reading));
        auto raw = parts_->data.next();
        if (!raw) {
          has_ended_ = true;
          return;
        }
        group.raws.push_back(std::move(*raw));
      }
    } catch (...) {
      group.failure = named_failure(group.place + static_cast<int64_t>(group.raws.size()));
    }
  }

  // The exception that is handled now, with the name of its sample.
  static std::exception_ptr named_failure(int64_t sample) {
    try {
      rethrow_with_sample(sample);
    } catch (...) {
      return std::current_exception();
    }
  }

  KeyBits key_at(int64_t place) const { return fold_in(key_, place); }

  template <class Use>
  void with_sample(Group& group, int64_t row, const Use& use) const {
    const int64_t place = group.place + row;
    const KeyBits key = key_at(place);
    const random::StreamScope stream(stream_key(key, StreamOf::sample));
    try {
      use(finished(std::as_const(parts_->data), std::move(group.raws[static_cast<size_t>(row)]),
                   Finishes<S> ? tensor_of(key) : Tensor()));
    } catch (...) {
      rethrow_with_sample(place);
    }
  }

  const std::shared_ptr<Parts> parts_;
  const Division division_;
  const KeyBits key_;  // key of the epoch
  Turns turns_;
  // Only of the thread whose turn it is.
  int64_t place_;
  std::vector<int64_t> position_;
  bool is_begun_ = false, has_ended_ = false;
  const bool pads_;
};

}  // namespace plait::data
