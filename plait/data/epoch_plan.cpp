#include "plait/data/epoch_plan.h"

#include <algorithm>
#include <limits>

#include "plait/core/error.h"

namespace plait::data {
namespace {

int64_t product(int64_t a, int64_t b) {
  int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<int64_t>::max() : result;
}

}  // namespace

void expect_valid(const Division& division) {
  if (division.batch_size < 1) {
    throw ValueError("the batch size is {}, expected 1 or more", division.batch_size);
  }
  if (division.ranks < 1) {
    throw ValueError("the number of ranks is {}, expected 1 or more", division.ranks);
  }
  if (division.rank < 0 || division.rank >= division.ranks) {
    throw ValueError("the rank is {}, expected 0 to {}", division.rank, division.ranks - 1);
  }
}

EpochPlan::EpochPlan(int64_t size, const Division& division, int64_t place,
                     std::vector<int64_t> done)
    : size_(size), place_(place), division_(division), done_(std::move(done)) {
  expect_valid(division);
  if (size < 0) throw ValueError("the epoch has {} samples, expected 0 or more", size);
  if (place < 0 || place > size) {
    throw ValueError("the place is {}, but the epoch has {} samples", place, size);
  }
  places_in_step_ = product(division.batch_size, division.ranks);
  const int64_t left = size - place, full = left / places_in_step_;
  count_ = full + (left % places_in_step_ != 0 && !division.drop_last ? 1 : 0);
  std::ranges::sort(done_);
  done_.erase(std::unique(done_.begin(), done_.end()), done_.end());
  for (int64_t& begin : done_) {
    if (begin < place || begin >= size || (begin - place) % places_in_step_ != 0) {
      throw ValueError(
          "samples from place {} on were consumed already, but no batch begins there: batch "
          "size and ranks are not those of the saved state",
          begin);
    }
    begin = (begin - place) / places_in_step_;
  }
  std::erase_if(done_, [&](int64_t number) { return number >= count_; });
  count_ -= static_cast<int64_t>(done_.size());
}

Places EpochPlan::step(int64_t number) const {
  for (const int64_t done : done_) {
    if (done <= number) ++number;
  }
  return step_at(place_ + number * places_in_step_);
}

Places EpochPlan::step_at(int64_t begin) const {
  return {begin, begin + std::min(places_in_step_, size_ - begin)};
}

Places EpochPlan::share(const Places& step) const {
  const int64_t rank = division_.rank;
  int64_t all = 0;  // places of a full step: they do not overflow if there are so many
  const bool is_full =
      !__builtin_mul_overflow(division_.batch_size, division_.ranks, &all) && step.count() == all;
  if (is_full) {
    const int64_t begin = step.begin + rank * division_.batch_size;
    return {begin, begin + division_.batch_size};
  }
  const int64_t each = step.count() / division_.ranks, more = step.count() % division_.ranks;
  const int64_t begin = step.begin + rank * each + std::min(rank, more);
  return {begin, begin + each + (rank < more ? 1 : 0)};
}

void Progress::note(const Places& step) {
  done_.emplace(step.begin, step.end);
  while (!done_.empty() && done_.begin()->first == place_) {
    place_ = done_.begin()->second;
    done_.erase(done_.begin());
  }
}

std::vector<int64_t> Progress::done() const {
  std::vector<int64_t> begins;
  for (const auto& [begin, end] : done_) begins.push_back(begin);
  return begins;
}

}  // namespace plait::data
