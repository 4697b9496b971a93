#include "plait/tensor/tracing/level.h"

#include <algorithm>
#include <utility>

#include "plait/core/ambient.h"
#include "plait/tensor/tracing/derivation.h"

namespace plait {
namespace {

std::atomic<uint64_t> newest_number{0};

bool holds(const std::vector<uint64_t>& numbers, uint64_t number) {
  return !numbers.empty() && std::ranges::find(numbers, number) != numbers.end();
}

}  // namespace

Level::Level(uint64_t number, bool transposes, bool is_of_tape)
    : number_(number),
      transposes_(transposes),
      is_of_tape_(is_of_tape),
      opened_after_(Node::newest_number()) {}

LevelPtr Level::open() { return std::make_shared<const Level>(++newest_number); }

LevelPtr Level::open_transposing() { return std::make_shared<const Level>(++newest_number, true); }

LevelPtr Level::open_of_tape() {
  return std::make_shared<const Level>(++newest_number, false, true);
}

const LevelPtr& Level::ground() {
  static const LevelPtr level = open_of_tape();
  return level;
}

uint64_t Level::newest() { return newest_number.load(); }

bool Level::is_resumed() const {
  const PausedLevels* const paused = ambient.paused_levels;
  return paused != nullptr && holds(paused->resumed, number_);
}

bool Level::is_open() const {
  const PausedLevels* const paused = ambient.paused_levels;
  if (paused == nullptr) return !is_closed();
  if (holds(paused->resumed, number_)) return true;
  return !is_closed() && number_ > paused->up_to && !holds(paused->single, number_);
}

bool Level::may_be_differentiated() const {
  const PausedLevels* const paused = ambient.paused_levels;
  return is_open() || (!is_closed() && !holds(paused->single, number_));
}

void Level::close() const {
  closed_.store(true, std::memory_order_release);
  for (const auto& work : std::exchange(at_close_, {})) work();
}

void Level::at_close(std::function<void()> work) const { at_close_.push_back(std::move(work)); }

PausedLevels::PausedLevels(const PausedLevels* like) : outer(ambient.paused_levels) {
  if (like != nullptr) {
    up_to = like->up_to;
    single = like->single;
    resumed = like->resumed;
  }
  ambient.paused_levels = this;
}

PausedLevels::~PausedLevels() {
  if (ambient.paused_levels == this) {
    ambient.paused_levels = outer;
    return;
  }
  // Scopes of Python's generators may end before those inside of them.
  for (const PausedLevels* inner = ambient.paused_levels; inner != nullptr; inner = inner->outer) {
    if (inner->outer == this) inner->outer = outer;
  }
}

void PausedLevels::pause(const Level& level) {
  single.push_back(level.number());
  std::erase(resumed, level.number());
}

LevelPause::LevelPause() {
  Level::ground();  // creates the ground level, which must be older than the pause
  paused_.up_to = Level::newest();
  paused_.resumed.clear();
}

LevelPause::LevelPause(const Level& level) { paused_.pause(level); }

LevelPause::LevelPause(const LevelSet& levels) {
  levels.for_each([&](const LevelPtr& level) { paused_.pause(*level); });
}

LevelResume::LevelResume(const Level& level) {
  paused_.resumed.push_back(level.number());
  ++ambient.level_resumes;
}

LevelResume::~LevelResume() { --ambient.level_resumes; }

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

LevelSet LevelSet::without(const LevelSet& others) const {
  return filtered([&](const LevelPtr& level) { return !others.contains(*level); });
}

template <class Keep>
LevelSet LevelSet::filtered(Keep keep) const {
  if (!levels_ || std::ranges::all_of(*levels_, keep)) return *this;
  Levels kept;
  std::ranges::copy_if(*levels_, std::back_inserter(kept), keep);
  return LevelSet(std::move(kept));
}

bool LevelSet::are_open() const {
  return !levels_ ||
         std::ranges::all_of(*levels_, [](const LevelPtr& level) { return level->is_open(); });
}

bool LevelSet::any_is_resumed() const {
  return levels_ &&
         std::ranges::any_of(*levels_, [](const LevelPtr& level) { return level->is_resumed(); });
}

LevelSet LevelSet::still_open() const {
  return filtered([](const LevelPtr& level) { return level->is_open(); });
}

LevelSet LevelSet::differentiable_levels() const {
  return filtered([](const LevelPtr& level) { return level->may_be_differentiated(); });
}

LevelSet LevelSet::below(uint64_t number) const {
  return filtered([=](const LevelPtr& level) { return level->number() < number; });
}

}  // namespace plait
