// A store for the threads of one process.
#pragma once

#include <memory>
#include <mutex>

#include "plait/comm/store.h"

namespace plait::dist {

class MemoryStore : public Store {
 public:
  explicit MemoryStore(Duration timeout = kDefaultTimeout);
  ~MemoryStore() override;

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t amount) override;
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override;
  void append(const std::string& key, const std::string& value) override;
  bool delete_key(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  int64_t num_keys() override;
  void wait_for(const std::vector<std::string>& keys, Duration timeout) override;
  std::shared_ptr<Store> clone(Duration timeout) const override;
  void multi_set(const std::vector<std::string>& keys,
                 const std::vector<std::string>& values) override;

 private:
  struct Shared;
  MemoryStore(std::shared_ptr<Shared> shared, Duration timeout);

  // Changes the table, and wakes those that wait.
  template <class Change>
  auto change(const Change& change);
  void wait_under(std::unique_lock<std::mutex>& lock, const std::vector<std::string>& keys,
                  Duration timeout);

  const std::shared_ptr<Shared> shared_;  // with the clones
};

}  // namespace plait::dist
