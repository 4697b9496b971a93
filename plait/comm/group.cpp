#include "plait/comm/group.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "plait/comm/inside/call_log.h"
#include "plait/comm/inside/call_operand.h"
#include "plait/comm/inside/engines.h"
#include "plait/comm/inside/forks.h"
#include "plait/comm/inside/lane.h"
#include "plait/comm/inside/peers.h"
#include "plait/comm/inside/wires/gloo_wire.h"
#include "plait/comm/inside/wires/mpi_wire.h"
#include "plait/comm/prefix_store.h"
#include "plait/core/error.h"

namespace plait::dist {

std::shared_ptr<Group> Group::join(const GroupOptions& options) {
  return make(options, nullptr, {});
}

std::shared_ptr<Group> Group::make(const GroupOptions& options, const Group* parent,
                                   const std::vector<int>& members) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size) {
    throw ValueError("Group::join: rank {} of {} ranks, expected 0 to {}", options.rank,
                     options.size, options.size - 1);
  }
  PrefixStore store(options.name, options.store);
  store.set_timeout(options.timeout);
  const std::vector<Peer> peers = meet_peers(options, store, [&](int rank) {
    if (parent == nullptr) return;
    const std::string absence =
        parent->lane()->engine().absence_of(members[static_cast<size_t>(rank)]);
    if (!absence.empty()) throw DistError("{}", absence);
  });
  expect_one_engine(peers, options.rank);
  std::string numbering;
  if (parent != nullptr) {
    numbering =
        fmt::format("in the group of ranks {}, which are 0 to {} there: ", fmt::join(members, ", "),
                    members.size() - 1);
  }
  const int place = parent != nullptr ? parent->place_on_host_ : place_on_host(peers, options.rank);
  auto lane = std::make_shared<Lane>(make_engine(options, store, are_on_one_host(peers), place),
                                     fmt::format("{}, rank {}", options.name, options.rank),
                                     std::move(numbering));
  // Ranks connect one after another: one that leaves would end others that still do.
  if (lane->engine().name() != "local") lane->run({.kind = CallKind::barrier}, options.timeout);
  if (parent == nullptr) divide_threads(peers);
  return std::shared_ptr<Group>(new Group(options, std::move(lane), place));
}

Group::Group(const GroupOptions& options, std::shared_ptr<Lane> lane, int place_on_host)
    : rank_(options.rank),
      size_(options.size),
      place_on_host_(place_on_host),
      name_(options.name),
      timeout_(options.timeout),
      forks_(fork_count()),
      store_(options.store),
      engine_option_(options.engine),
      device_option_(options.device),
      ranks_(static_cast<size_t>(options.size)),
      lane_(std::move(lane)) {
  std::iota(ranks_.begin(), ranks_.end(), 0);
}

Group::~Group() = default;

void Group::check_ranks(const std::vector<int>& ranks) const {
  for (size_t i = 0; i < ranks.size(); ++i) {
    const bool is_rank = ranks[i] >= 0 && ranks[i] < size_;
    const auto own = ranks.begin() + static_cast<int64_t>(i);
    if (is_rank && std::find(ranks.begin(), own, ranks[i]) == own) continue;
    throw ValueError(
        "Group::subgroup: ranks[{}] is {}{}", i, ranks[i],
        is_rank ? ", which is named before" : fmt::format(", expected 0 to {}", size_ - 1));
  }
}

std::shared_ptr<Group> Group::subgroup(const std::vector<int>& ranks,
                                       const SubgroupOptions& options) {
  check_ranks(ranks);
  const auto own = std::ranges::find(ranks, rank_);
  std::string name;
  if (options.by_members) {
    if (own == ranks.end()) return nullptr;
    name = fmt::format("{}.{} by members", name_, member_groups_[ranks]++);
  } else {
    refuse_recording("Group::subgroup");
    lane()->run({.kind = CallKind::new_group, .ranks = ranks, .where = Location::of_caller()},
                timeout_);
    name = fmt::format("{}.{}", name_, subgroups_++);
    if (own == ranks.end()) return nullptr;
  }
  auto made = make({.store = store_,
                    .rank = static_cast<int>(own - ranks.begin()),
                    .size = static_cast<int>(ranks.size()),
                    .engine = options.engine.empty() ? engine_option_ : options.engine,
                    .name = fmt::format("{} of {}", name, fmt::join(ranks, ",")),
                    .timeout = options.timeout.value_or(timeout_),
                    .device = options.device ? options.device : device_option_},
                   this, ranks);
  made->ranks_ = ranks;
  return made;
}

std::string_view Group::engine() const { return lane_->engine().name(); }

Device Group::device() const { return lane_->engine().device(); }

void Group::leave() {
  if (forks_ == fork_count()) lane_->engine().leave();
}

void Group::give_up(const std::string& reason) { lane()->engine().give_up(reason); }

const std::shared_ptr<Lane>& Group::lane() const {
  if (forks_ == fork_count()) return lane_;
  throw DistError("the group {} is used in a process that was forked from its own", name_)
      .hint("join a group in each process");
}

std::vector<std::string> engine_names() {
  std::vector<std::string> names = {"local"};
  if (has_gloo()) names.emplace_back("gloo");
  if (has_mpi()) names.emplace_back("mpi");
  names.emplace_back("nccl");
  return names;
}

std::string recent_calls() { return CallLog::of_process().text(); }

}  // namespace plait::dist
