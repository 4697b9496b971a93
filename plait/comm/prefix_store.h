// A store within another one: each key has a prefix there.
#pragma once

#include <memory>

#include "plait/comm/store.h"

namespace plait::dist {

class PrefixStore : public Store {
 public:
  // ValueError without a store. The timeout is that of the store at first.
  PrefixStore(std::string prefix, std::shared_ptr<Store> store);

  const std::shared_ptr<Store>& underlying_store() const { return store_; }

  void set(const std::string& key, const std::string& value) override;
  std::string get(const std::string& key) override;
  int64_t add(const std::string& key, int64_t amount) override;
  std::string compare_set(const std::string& key, const std::string& expected,
                          const std::string& desired) override;
  void append(const std::string& key, const std::string& value) override;
  bool delete_key(const std::string& key) override;
  bool check(const std::vector<std::string>& keys) override;
  int64_t num_keys() override;  // that of the store
  void wait_for(const std::vector<std::string>& keys, Duration timeout) override;
  std::shared_ptr<Store> clone(Duration timeout) const override;
  std::vector<std::string> multi_get(const std::vector<std::string>& keys) override;
  void multi_set(const std::vector<std::string>& keys,
                 const std::vector<std::string>& values) override;

 private:
  std::string prefixed(const std::string& key) const { return prefix_ + "/" + key; }
  std::vector<std::string> prefixed(std::vector<std::string> keys) const;

  std::string prefix_;
  std::shared_ptr<Store> store_;
};

}  // namespace plait::dist
