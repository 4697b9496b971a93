// How the samples of an epoch are divided into steps, and a step among ranks.
//
// The samples have an order, in which each has a place. All ranks together take `batch_size ·
// ranks` places in each step, a batch of adjacent places each. So the places that are left say all
// about the rest of an epoch, and any number of ranks can go on with it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace plait::data {

// The places from `begin` up to but excluding `end`.
struct Places {
  int64_t begin = 0, end = 0;

  int64_t count() const { return end - begin; }
  friend bool operator==(const Places&, const Places&) = default;
};

struct Division {
  int64_t batch_size = 1;
  int64_t ranks = 1, rank = 0;
  // Without it, the last step may have fewer samples than the others: they are shared among the
  // ranks, whose numbers of samples then differ by at most one. With it, such a step is left out.
  bool drop_last = false;
};

// The steps of an epoch of `size` places that are left: from `place` on, without those that begin
// at a place in `done`.
class EpochPlan {
 public:
  // ValueError for a division that is not possible, and for places that are not in the epoch.
  EpochPlan(int64_t size, const Division& division, int64_t place = 0,
            std::vector<int64_t> done = {});

  int64_t count() const { return count_; }  // count of steps
  Places step(int64_t number) const;        // step of all ranks together; 0 is the next one
  Places step_at(int64_t begin) const;      // the one that begins at this place
  // The part of this rank. Empty for some ranks if there are fewer samples than ranks.
  Places share(const Places& step) const;

 private:
  int64_t size_, place_;
  Division division_;
  int64_t places_in_step_;  // places of a full step
  int64_t count_;
  std::vector<int64_t> done_;  // numbers of steps, counted from the place; sorted
};

// The part of an epoch that was consumed, if steps end in any order.
class Progress {
 public:
  explicit Progress(int64_t place = 0) : place_(place) {}

  void note(const Places& step);
  int64_t place() const { return place_; }  // all places before it were consumed
  std::vector<int64_t> done() const;        // where steps begin that were consumed after the place

 private:
  int64_t place_;
  std::map<int64_t, int64_t> done_;  // from begin to end
};

// ValueError for sizes that are not possible.
void expect_valid(const Division& division);

}  // namespace plait::data
