#include "plait/tensor/level.h"

#include <algorithm>
#include <utility>

namespace plait {
namespace {

std::atomic<uint64_t> newest_number{0};

struct Paused {
  uint64_t up_to = 0;  // all levels until here
  std::vector<uint64_t> single;
};
thread_local Paused paused;

}  // namespace

LevelPtr Level::open() { return std::make_shared<const Level>(++newest_number); }

const LevelPtr& Level::ground() {
  static const LevelPtr level = open();
  return level;
}

uint64_t Level::newest() { return newest_number.load(); }

bool Level::is_open() const {
  if (is_closed() || number_ <= paused.up_to) return false;
  return paused.single.empty() || std::ranges::find(paused.single, number_) == paused.single.end();
}

void Level::close() const {
  closed_.store(true, std::memory_order_release);
  for (const auto& work : std::exchange(at_close_, {})) work();
}

void Level::at_close(std::function<void()> work) const { at_close_.push_back(std::move(work)); }

LevelPause::LevelPause() : earlier_up_to_(paused.up_to), is_of_one_(false) {
  Level::ground();  // is older than the pause
  paused.up_to = Level::newest();
}

LevelPause::LevelPause(const Level& level) : earlier_up_to_(paused.up_to), is_of_one_(true) {
  paused.single.push_back(level.number());
}

LevelPause::~LevelPause() {
  paused.up_to = earlier_up_to_;
  if (is_of_one_) paused.single.pop_back();
}

LevelSet::LevelSet(LevelPtr level)
    : levels_(std::make_shared<const Levels>(Levels{std::move(level)})) {}

LevelSet::LevelSet(Levels levels) {
  if (!levels.empty()) levels_ = std::make_shared<const Levels>(std::move(levels));
}

bool LevelSet::contains(const Level& level) const {
  return levels_ &&
         std::ranges::any_of(*levels_, [&](const LevelPtr& own) { return own.get() == &level; });
}

bool LevelSet::has_unclosed_besides(const Level& level) const {
  return levels_ && std::ranges::any_of(*levels_, [&](const LevelPtr& own) {
           return own.get() != &level && !own->is_closed();
         });
}

LevelSet LevelSet::with(const LevelSet& others) const {
  if (levels_ == others.levels_ || !others.levels_) return *this;
  if (!levels_) return others;
  Levels all;
  std::ranges::set_union(
      *levels_, *others.levels_, std::back_inserter(all), {},
      [](const LevelPtr& level) { return level->number(); },
      [](const LevelPtr& level) { return level->number(); });
  return LevelSet(std::move(all));
}

template <class Keep>
LevelSet LevelSet::filtered(Keep keep) const {
  if (!levels_ || std::ranges::all_of(*levels_, keep)) return *this;
  Levels kept;
  std::ranges::copy_if(*levels_, std::back_inserter(kept), keep);
  return LevelSet(std::move(kept));
}

LevelSet LevelSet::still_open() const {
  return filtered([](const LevelPtr& level) { return level->is_open(); });
}

LevelSet LevelSet::below(uint64_t number) const {
  return filtered([=](const LevelPtr& level) { return level->number() < number; });
}

}  // namespace plait
