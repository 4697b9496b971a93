// Ranks that act together: threads or processes, on one host or several.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plait/comm/store.h"
#include "plait/core/device.h"

namespace plait::dist {

class Lane;

struct GroupOptions {
  std::shared_ptr<Store> store = {};  // the same table for all ranks
  int rank = 0;                       // from 0 to size - 1, each once
  int size = 1;
  // "local": processes or threads of one host, through shared memory. "gloo": by TCP. "mpi": for
  // processes that mpirun has started. "auto": local on one host, else mpi under mpirun, else gloo.
  // "nccl": each rank has a GPU, where all tensors of its calls are.
  std::string engine = "auto";
  // Groups that share a store have different names.
  std::string name = "world";
  Duration timeout = Store::kDefaultTimeout;  // for joining, and for each call that has no other
  // For nccl: the GPU of this rank. By default each rank of a host has the next one.
  std::optional<Device> device = {};
};

struct SubgroupOptions {
  std::string engine = {};               // that of the group by default
  std::optional<Duration> timeout = {};  // so is this
  // The ranks of the new group alone call it, while others go on. They make groups of the same
  // ranks in the same order.
  bool by_members = false;
  std::optional<Device> device = {};  // that of the group by default
};

// All calls of a group are made by all its ranks, in the same order. Where ranks call different
// things, where one ends, or is late, the call is a DistError on every rank, and so are all later
// calls of the group.
class Group {
 public:
  // Returns when all ranks have joined. If the setting `threads` has no value, the CPUs of a host
  // are divided among the processes that have joined there.
  static std::shared_ptr<Group> join(const GroupOptions& options);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // A group of some ranks of this one, in this order: a call of all ranks, like others. Null on
  // those that are not in it.
  std::shared_ptr<Group> subgroup(const std::vector<int>& ranks,
                                  const SubgroupOptions& options = {});

  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::string& name() const { return name_; }
  // Ranks of its members in the group that it is a part of; 0, 1, … if it is of none.
  const std::vector<int>& ranks() const { return ranks_; }
  const std::shared_ptr<Store>& store() const { return store_; }
  std::string_view engine() const;
  // Where the tensors of its calls are on this rank.
  Device device() const;
  Duration timeout() const { return timeout_; }

  // Before the group is destroyed, which does the same, but cannot be interrupted: waits until
  // messages that were sent are received.
  void leave();
  // This rank does not go on, "was ended by the user": calls of the others fail, and say so.
  void give_up(const std::string& reason);

  // DistError in a process that was forked from that of the group.
  const std::shared_ptr<Lane>& lane() const;

 private:
  Group(const GroupOptions& options, std::shared_ptr<Lane> lane, int place_on_host);
  // `parent`: the group that it is a part of, if it is one, and its ranks there.
  static std::shared_ptr<Group> make(const GroupOptions& options, const Group* parent,
                                     const std::vector<int>& members);
  void check_ranks(const std::vector<int>& ranks) const;

  int rank_, size_;
  int place_on_host_;  // ranks of its host before it, in the group that all are parts of
  std::string name_;
  Duration timeout_;
  uint64_t forks_;  // when it was made
  std::shared_ptr<Store> store_;
  std::string engine_option_;
  std::optional<Device> device_option_;
  std::vector<int> ranks_;
  int64_t subgroups_ = 0;
  std::map<std::vector<int>, int64_t> member_groups_;  // those that their members made alone
  std::shared_ptr<Lane> lane_;
};

// The engines of this build: "local", "gloo", "mpi", "nccl". The machine may lack what they need.
std::vector<std::string> engine_names();

// The last 1,000 calls and messages of this process in all its groups, a line for each. When a call
// fails, they are written to the folder that the setting `call_log` names.
std::string recent_calls();

}  // namespace plait::dist
