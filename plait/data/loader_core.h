// The part of a loader that does not depend on the type of its samples: threads, order, timeouts
// and the state.
#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "plait/data/epoch_plan.h"
#include "plait/data/loader_state.h"
#include "plait/data/sampler.h"

namespace plait::data {

struct LoaderOptions {
  int64_t batch_size = 1;
  bool shuffle = false;    // in another order in each epoch
  uint64_t seed = 0;       // seed of the order, and of the keys of samples
  bool drop_last = false;  // leaves out a last batch with fewer samples
  int workers = 0;         // threads that make batches; 0: the caller makes them
  int64_t prefetch = 2;    // batches that are made ahead, for each worker
  // Loaders of several processes divide an epoch, and have the same number of batches. If the last
  // samples are fewer than ranks, the batches of some have 0 rows.
  int64_t ranks = 1, rank = 0;
  bool in_order = true;  // else a batch that takes long is overtaken; not for streams
  double timeout = 0;    // seconds to wait for a batch, then IoError; 0: no limit
  std::optional<Sampler> sampler = {};  // instead of shuffle; with a seed of its own
};

// A piece of work that a worker did: a batch, or one sample of it.
struct MadePiece {
  std::shared_ptr<void> value = nullptr;
  std::exception_ptr failure = nullptr;
};
struct MadeBatch {
  std::shared_ptr<void> value = nullptr;
  std::exception_ptr failure = nullptr;
  Places step = {};                  // step of all ranks
  std::vector<int64_t> source = {};  // the position of a stream after the step
};

// The batches of the rest of an epoch. They consist of pieces, which several threads make.
class LoaderRun {
 public:
  static constexpr int64_t kUnknownCount = std::numeric_limits<int64_t>::max();

  virtual ~LoaderRun() = default;
  virtual int64_t count() const = 0;       // count of batches
  virtual int64_t epoch_size() const = 0;  // samples in the whole epoch; -1 if unknown
  // True for few batches: each sample is a piece, so that all workers have something to do.
  virtual bool is_by_samples() const { return false; }
  virtual int64_t first_piece(int64_t batch) const { return batch; }
  // Null if the source has ended before.
  virtual std::shared_ptr<void> make(int64_t piece) = 0;
  virtual MadeBatch join(int64_t batch, std::vector<MadePiece> pieces) = 0;
};

class LoaderCore {
 public:
  // ValueError for options that are not possible.
  LoaderCore(const LoaderOptions& options, bool is_stream);
  ~LoaderCore();

  const LoaderOptions& options() const { return options_; }
  const LoaderState& state() const { return state_; }
  Sampler sampler(int64_t size, uint64_t seed) const;
  int64_t batch_count(int64_t size) const;

  // The state in which begin() begins: the next epoch, if a batch of this one was consumed and it
  // was not the target of a seek.
  LoaderState following() const;
  void begin(std::shared_ptr<LoaderRun> run);
  // The next batch; null at the end of the epoch. Rethrows what making it threw, and goes on with
  // the batch after it when it is called again.
  std::shared_ptr<void> next();
  void seek(const LoaderState& state);
  // ValueError if the state is of a loader without order that had another division.
  void expect_division(const LoaderState& state) const;

 private:
  class Threads;

  std::optional<int64_t> make_here();
  std::optional<int64_t> collect();
  bool wait_for_piece();
  void note(MadeBatch& made);
  void stop();

  LoaderOptions options_;
  bool is_stream_;
  LoaderState state_;
  bool goes_on_ = true;  // the next begin() continues at the state
  std::shared_ptr<LoaderRun> run_;
  std::unique_ptr<Threads> threads_;
  Progress progress_;
  int64_t next_batch_ = 0;
  std::vector<MadePiece> pieces_;  // pieces of the next batch, as far as they are there
};

}  // namespace plait::data
