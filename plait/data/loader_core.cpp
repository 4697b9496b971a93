#include "plait/data/loader_core.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "plait/core/error.h"
#include "plait/core/inside/system/interruption.h"
#include "plait/data/inside/prefetcher.h"
#include "plait/data/inside/worker_threads.h"

namespace plait::data {
namespace {

using std::chrono::duration;
using std::chrono::nanoseconds;
using std::chrono::steady_clock;

constexpr int kMostWorkers = 1024;
constexpr int64_t kMostAhead = 1'000'000;
constexpr auto kBetweenInterruptions = std::chrono::milliseconds(50);

Division division_of(const LoaderOptions& options) {
  return {options.batch_size, options.ranks, options.rank, options.drop_last};
}

void expect_valid_options(const LoaderOptions& options, bool is_stream) {
  expect_valid(division_of(options));
  if (options.workers < 0 || options.workers > kMostWorkers) {
    throw ValueError("the number of workers is {}, expected 0 to {}", options.workers,
                     kMostWorkers);
  }
  if (options.prefetch < 1 || options.prefetch > kMostAhead) {
    throw ValueError("the number of batches ahead is {}, expected 1 to {}", options.prefetch,
                     kMostAhead);
  }
  if (!(options.timeout >= 0) || !std::isfinite(options.timeout)) {
    throw ValueError("the timeout is {} s, expected 0 or more", options.timeout);
  }
  if (options.sampler && options.shuffle)
    throw ValueError("a sampler has an order: leave out shuffle");
  if (is_stream && (options.sampler || options.shuffle)) {
    throw ValueError("a stream has its own order, which shuffle and samplers do not change");
  }
}

}  // namespace

// The pieces of a run, and the threads that make them, which end with it.
class LoaderCore::Threads {
 public:
  Threads(const LoaderOptions& options, std::shared_ptr<LoaderRun> run, bool is_stream)
      : prefetcher_(Prefetcher::make(
            {.count = run->first_piece(run->count()),
             .ahead = run->first_piece(std::min(run->count(), options.prefetch * options.workers)),
             .in_order = options.in_order || is_stream || run->is_by_samples()})),
        threads_(options.workers, "plait-data",
                 [run = std::move(run), prefetcher = prefetcher_] { work(*run, *prefetcher); }) {}
  ~Threads() { prefetcher_->cancel(); }  // before the threads are waited for
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  Prefetcher& prefetcher() { return *prefetcher_; }

 private:
  static void work(LoaderRun& run, Prefetcher& prefetcher) {
    while (const std::optional<int64_t> number = prefetcher.take()) {
      Prefetcher::Outcome outcome{.number = *number};
      try {
        outcome.value = run.make(*number);
        if (!outcome.value) prefetcher.shorten(*number);
      } catch (...) {
        outcome.failure = std::current_exception();
      }
      prefetcher.deliver(std::move(outcome));
    }
  }

  std::shared_ptr<Prefetcher> prefetcher_;
  WorkerThreads threads_;
};

LoaderCore::LoaderCore(const LoaderOptions& options, bool is_stream)
    : options_(options), is_stream_(is_stream), state_{.seed = options.seed} {
  expect_valid_options(options, is_stream);
}
LoaderCore::~LoaderCore() = default;

Sampler LoaderCore::sampler(int64_t size, uint64_t seed) const {
  if (options_.sampler) return *options_.sampler;
  if (options_.shuffle) return RandomSampler(size, {.seed = seed});
  return SequentialSampler(size);
}

int64_t LoaderCore::batch_count(int64_t size) const {
  return EpochPlan(size, division_of(options_)).count();
}

LoaderState LoaderCore::following() const {
  if (goes_on_ || (state_.place == 0 && state_.done.empty())) return state_;
  return {.seed = state_.seed, .epoch = state_.epoch + 1};
}

void LoaderCore::begin(std::shared_ptr<LoaderRun> run) {
  stop();
  state_ = following();
  goes_on_ = false;
  state_.size = run->epoch_size();
  progress_ = Progress(state_.place);
  if (!state_.done.empty()) {
    const EpochPlan plan(state_.size, division_of(options_), state_.place);
    for (const int64_t begin : state_.done) progress_.note(plan.step_at(begin));
  }
  run_ = std::move(run);
  next_batch_ = 0;
  if (options_.workers > 0) threads_ = std::make_unique<Threads>(options_, run_, is_stream_);
}

std::shared_ptr<void> LoaderCore::next() {
  if (!run_) return nullptr;
  const std::optional<int64_t> batch = threads_ ? collect() : make_here();
  if (!batch) {
    stop();
    state_ = {.seed = state_.seed, .epoch = state_.epoch + 1};
    return nullptr;
  }
  next_batch_ = *batch + 1;
  MadeBatch made = run_->join(*batch, std::exchange(pieces_, {}));
  if (made.step.count() > 0) note(made);
  if (made.failure) std::rethrow_exception(made.failure);
  return std::move(made.value);
}

void LoaderCore::note(MadeBatch& made) {
  progress_.note(made.step);
  state_.place = progress_.place();
  state_.done = progress_.done();
  state_.source = std::move(made.source);
  const bool lacks_order = !options_.in_order || !state_.division.empty();  // or it began so
  if (is_stream_ || (state_.done.empty() && !(options_.ranks > 1 && lacks_order))) {
    state_.division.clear();
  } else {
    state_.division = {options_.batch_size, options_.ranks, options_.rank};
  }
}

// Both return the number of a batch whose pieces are there, or nothing at the end.
std::optional<int64_t> LoaderCore::make_here() {
  if (next_batch_ >= run_->count()) return std::nullopt;
  const int64_t end = run_->first_piece(next_batch_ + 1);
  for (int64_t piece = run_->first_piece(next_batch_); piece < end; ++piece) {
    MadePiece made;
    try {
      made.value = run_->make(piece);
      if (!made.value) return std::nullopt;
    } catch (...) {
      made.failure = std::current_exception();
    }
    pieces_.push_back(std::move(made));
  }
  return next_batch_;
}

std::optional<int64_t> LoaderCore::collect() {
  while (wait_for_piece()) {
    Prefetcher::Outcome outcome = threads_->prefetcher().pop();
    pieces_.push_back({std::move(outcome.value), std::move(outcome.failure)});
    if (!run_->is_by_samples()) return outcome.number;
    if (outcome.number + 1 == run_->first_piece(next_batch_ + 1)) return next_batch_;
  }
  return std::nullopt;
}

// False if all are consumed.
bool LoaderCore::wait_for_piece() {
  const auto begin = steady_clock::now();
  const duration<double> timeout(options_.timeout);
  while (true) {
    duration<double> most = kBetweenInterruptions;
    const duration<double> waited = steady_clock::now() - begin;
    if (options_.timeout > 0) most = std::clamp(timeout - waited, duration<double>(0), most);
    const auto state = threads_->prefetcher().wait(std::chrono::duration_cast<nanoseconds>(most));
    if (state != Prefetcher::State::late) return state == Prefetcher::State::ready;
    check_interruption();
    if (options_.timeout > 0 && waited >= timeout) {
      throw IoError("Loader: the next batch is not ready after {} s", options_.timeout)
          .hint("a longer timeout, or 0 for none; the next call waits for the same batch");
    }
  }
}

void LoaderCore::expect_division(const LoaderState& state) const {
  const std::vector<int64_t>& of = state.division;
  if (of.empty()) return;
  if (of.size() != 3)
    throw ValueError("the division of the state has {} numbers, not 3", of.size());
  if (of[0] == options_.batch_size && of[1] == options_.ranks && of[2] == options_.rank) return;
  throw ValueError(
      "the state is of rank {} of {}, batch size {}, whose batches were in no order; this is rank "
      "{} "
      "of {}, batch size {}",
      of[2], of[1], of[0], options_.rank, options_.ranks, options_.batch_size)
      .hint(
          "with in_order all ranks have one state, for any number of ranks; without it, save at "
          "the "
          "end of an epoch, or restore on each rank its own state");
}

void LoaderCore::seek(const LoaderState& state) {
  stop();
  state_ = state;
  goes_on_ = true;
}

void LoaderCore::stop() {
  threads_ = nullptr;
  run_ = nullptr;
  pieces_.clear();
}

}  // namespace plait::data
