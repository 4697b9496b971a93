#include "plait/comm/group.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "plait/comm/inside/lane.h"
#include "plait/comm/inside/local/local_engine.h"
#include "plait/comm/prefix_store.h"
#include "plait/core/error.h"

namespace plait::dist {

std::shared_ptr<Group> Group::join(const GroupOptions& options) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size) {
    throw ValueError("Group::join: rank {} of {} ranks, expected 0 to {}", options.rank,
                     options.size, options.size - 1);
  }
  if (options.engine != "auto" && options.engine != "local") {
    throw ValueError("Group::join: the engine is \"{}\", expected auto or local", options.engine);
  }
  PrefixStore store(options.name, options.store);
  store.set_timeout(options.timeout);
  auto engine = std::make_unique<LocalEngine>(store, options.rank, options.size, options.timeout);
  return std::shared_ptr<Group>(new Group(options, std::make_shared<Lane>(std::move(engine))));
}

Group::Group(const GroupOptions& options, std::shared_ptr<Lane> lane)
    : rank_(options.rank),
      size_(options.size),
      name_(options.name),
      timeout_(options.timeout),
      process_(::getpid()),
      store_(options.store),
      engine_option_(options.engine),
      ranks_(static_cast<size_t>(options.size)),
      lane_(std::move(lane)) {
  std::iota(ranks_.begin(), ranks_.end(), 0);
}

Group::~Group() = default;

std::shared_ptr<Group> Group::subgroup(const std::vector<int>& ranks,
                                       std::optional<Duration> timeout) {
  for (size_t i = 0; i < ranks.size(); ++i) {
    const bool is_rank = ranks[i] >= 0 && ranks[i] < size_;
    if (is_rank && std::find(ranks.begin(), ranks.begin() + static_cast<int64_t>(i), ranks[i]) ==
                       ranks.begin() + static_cast<int64_t>(i)) {
      continue;
    }
    throw ValueError(
        "Group::subgroup: ranks[{}] is {}{}", i, ranks[i],
        is_rank ? ", which is named before" : fmt::format(", expected 0 to {}", size_ - 1));
  }
  const int64_t number = subgroups_++;
  const auto own = std::ranges::find(ranks, rank_);
  if (own == ranks.end()) return nullptr;
  auto made = join({.store = store_,
                    .rank = static_cast<int>(own - ranks.begin()),
                    .size = static_cast<int>(ranks.size()),
                    .engine = engine_option_,
                    .name = fmt::format("{}.{} of {}", name_, number, fmt::join(ranks, ",")),
                    .timeout = timeout.value_or(timeout_)});
  made->ranks_ = ranks;
  return made;
}

std::string_view Group::engine() const { return lane_->engine().name(); }

const std::shared_ptr<Lane>& Group::lane() const {
  if (process_ == ::getpid()) return lane_;
  throw DistError("the group {} is used in a process that was forked from its own", name_)
      .hint("join a group in each process");
}

}  // namespace plait::dist
