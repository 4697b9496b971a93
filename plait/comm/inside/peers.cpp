#include "plait/comm/inside/peers.h"

#include <algorithm>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <unistd.h>

#include "plait/comm/inside/hosts.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/cpu_count.h"
#include "plait/core/settings.h"
#include "plait/core/system/thread_team.h"

namespace plait::dist {
namespace {

std::string key_of(int rank) { return fmt::format("peer/{}", rank); }

std::vector<std::string> texts_of_all(const GroupOptions& options, Store& store) {
  std::vector<std::string> keys;
  for (int rank = 0; rank < options.size; ++rank) keys.push_back(key_of(rank));
  try {
    return store.multi_get(keys);
  } catch (const DistError&) {
    for (size_t rank = 0; rank < keys.size(); ++rank) {
      if (store.check({keys[rank]})) continue;
      throw DistError("rank {} did not join the group within {} s", rank,
                      static_cast<double>(options.timeout.count()) / 1000);
    }
    throw;
  }
}

}  // namespace

std::vector<Peer> meet_peers(const GroupOptions& options, Store& store) {
  store.set(key_of(options.rank), fmt::format("{} {}", ::getpid(), host_identity()));
  std::vector<Peer> peers;
  for (const std::string& text : texts_of_all(options, store)) {
    std::istringstream stream(text);
    Peer& peer = peers.emplace_back();
    stream >> peer.process >> std::ws;
    std::getline(stream, peer.host);
  }
  return peers;
}

bool are_on_one_host(const std::vector<Peer>& peers) {
  return std::ranges::all_of(peers, [&](const Peer& peer) { return peer.host == peers[0].host; });
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
