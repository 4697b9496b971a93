// Ranks that act together: threads or processes of one host.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "plait/comm/store.h"

namespace plait::dist {

class Lane;

struct GroupOptions {
  std::shared_ptr<Store> store = {};  // the same table for all ranks
  int rank = 0;                       // from 0 to size - 1, each once
  int size = 1;
  std::string engine = "auto";  // "local"
  // Groups that share a store have different names.
  std::string name = "world";
  Duration timeout = Store::kDefaultTimeout;  // for joining, and for each call that has no other
};

// All calls of a group are made by all its ranks, in the same order. Where ranks call different
// things, where one ends, or is late, the call is a DistError on every rank, and so are all later
// calls of the group.
class Group {
 public:
  // Returns when all ranks have joined.
  static std::shared_ptr<Group> join(const GroupOptions& options);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  // A group of some ranks of this one, in this order: all ranks call it, in the same order as other
  // calls of it. Null on those that are not in it.
  std::shared_ptr<Group> subgroup(const std::vector<int>& ranks,
                                  std::optional<Duration> timeout = {});

  int rank() const { return rank_; }
  int size() const { return size_; }
  const std::string& name() const { return name_; }
  // Ranks of its members in the group that it is a part of; 0, 1, … if it is of none.
  const std::vector<int>& ranks() const { return ranks_; }
  const std::shared_ptr<Store>& store() const { return store_; }
  std::string_view engine() const;
  Duration timeout() const { return timeout_; }

  // DistError in a process that was forked from that of the group.
  const std::shared_ptr<Lane>& lane() const;

 private:
  Group(const GroupOptions& options, std::shared_ptr<Lane> lane);

  int rank_, size_;
  std::string name_;
  Duration timeout_;
  pid_t process_;
  std::shared_ptr<Store> store_;
  std::string engine_option_;
  std::vector<int> ranks_;
  int64_t subgroups_ = 0;
  std::shared_ptr<Lane> lane_;
};

}  // namespace plait::dist
