#include "plait/comm/inside/peers.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "plait/comm/inside/deadline.h"
#include "plait/comm/inside/engines.h"
#include "plait/comm/inside/hosts.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/cpu_count.h"
#include "plait/core/settings.h"
#include "plait/core/system/thread_team.h"

namespace plait::dist {
namespace {

// While ranks are awaited, between two looks whether those that have not come still can.
constexpr std::chrono::milliseconds kBetweenLooks{1000};

std::string key_of(int rank) { return fmt::format("peer/{}", rank); }

std::vector<int> missing_in(const GroupOptions& options, Store& store) {
  std::vector<int> missing;
  for (int rank = 0; rank < options.size; ++rank) {
    if (!store.check({key_of(rank)})) missing.push_back(rank);
  }
  return missing;
}

std::vector<std::string> texts_of_all(const GroupOptions& options, Store& store,
                                      const std::function<void(int rank)>& expect_present) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < options.size; ++rank) keys.push_back(key_of(rank));
  for (const Deadline deadline(options.timeout);;) {
    store.set_timeout(std::max(deadline.left(kBetweenLooks), Duration(1)));
    try {
      auto texts = store.multi_get(keys);
      store.set_timeout(options.timeout);
      return texts;
    } catch (const DistError&) {
      const std::vector<int> missing = missing_in(options, store);
      for (const int rank : missing) expect_present(rank);
      if (!deadline.has_passed()) continue;
      if (missing.empty()) throw;
      throw DistError("rank {} did not join the group within {} s", fmt::join(missing, ", "),
                      static_cast<double>(options.timeout.count()) / 1000);
    }
  }
}

}  // namespace

std::vector<Peer> meet_peers(const GroupOptions& options, Store& store,
                             const std::function<void(int rank)>& expect_present) {
  store.set(key_of(options.rank),
            fmt::format("{} {}\n{}", ::getpid(), host_identity(), options.engine));
  std::vector<Peer> peers;
  for (const std::string& text : texts_of_all(options, store, expect_present)) {
    std::istringstream stream(text);
    Peer& peer = peers.emplace_back();
    stream >> peer.process >> std::ws;
    std::getline(stream, peer.host);
    std::getline(stream, peer.engine);
  }
  return peers;
}

bool are_on_one_host(const std::vector<Peer>& peers) {
  return std::ranges::all_of(peers, [&](const Peer& peer) { return peer.host == peers[0].host; });
}

void expect_one_engine(const std::vector<Peer>& peers, int rank) {
  const bool is_one_host = are_on_one_host(peers);
  const std::string_view own = engine_for(peers[static_cast<size_t>(rank)].engine, is_one_host);
  for (size_t other = 0; other < peers.size(); ++other) {
    const std::string_view theirs = engine_for(peers[other].engine, is_one_host);
    if (theirs == own) continue;
    throw DistError("rank {} joins the group with the engine {}, rank {} with {}", rank, own, other,
                    theirs);
  }
}

int place_on_host(const std::vector<Peer>& peers, int rank) {
  const auto own = peers.begin() + rank;
  return static_cast<int>(
      std::count_if(peers.begin(), own, [&](const Peer& peer) { return peer.host == own->host; }));
}

void divide_threads(const std::vector<Peer>& peers) {
  std::set<pid_t> here;
  for (const Peer& peer : peers) {
    if (peer.host == host_identity()) here.insert(peer.process);
  }
  if (here.size() < 2) return;
  for (const SettingState& setting : settings()) {
    if (setting.name != "threads" || setting.origin != SettingOrigin::standard) continue;
    set_thread_count(std::max(1, available_cpu_count() / static_cast<int>(here.size())));
  }
}

}  // namespace plait::dist
