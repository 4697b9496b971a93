#include "plait/comm/prefix_store.h"

#include <utility>

#include "plait/core/error.h"

namespace plait::dist {
namespace {

std::shared_ptr<Store> checked(std::shared_ptr<Store> store) {
  if (store == nullptr) throw ValueError("PrefixStore: a store is missing");
  return store;
}

}  // namespace

PrefixStore::PrefixStore(std::string prefix, std::shared_ptr<Store> store)
    : prefix_(std::move(prefix)), store_(checked(std::move(store))) {
  set_timeout(store_->timeout());
}

void PrefixStore::set(const std::string& key, const std::string& value) {
  store_->set(prefixed(key), value);
}

std::string PrefixStore::get(const std::string& key) {
  wait({key});
  return store_->get(prefixed(key));
}

int64_t PrefixStore::add(const std::string& key, int64_t amount) {
  return store_->add(prefixed(key), amount);
}

std::string PrefixStore::compare_set(const std::string& key, const std::string& expected,
                                     const std::string& desired) {
  return store_->compare_set(prefixed(key), expected, desired);
}

void PrefixStore::append(const std::string& key, const std::string& value) {
  store_->append(prefixed(key), value);
}

bool PrefixStore::delete_key(const std::string& key) { return store_->delete_key(prefixed(key)); }

bool PrefixStore::check(const std::vector<std::string>& keys) {
  return store_->check(prefixed(keys));
}

int64_t PrefixStore::num_keys() { return store_->num_keys(); }

void PrefixStore::wait_for(const std::vector<std::string>& keys, Duration timeout) {
  store_->wait_for(prefixed(keys), timeout);
}

std::shared_ptr<Store> PrefixStore::clone(Duration timeout) const {
  return std::make_shared<PrefixStore>(prefix_, store_->clone(timeout));
}

std::vector<std::string> PrefixStore::multi_get(const std::vector<std::string>& keys) {
  wait(keys);
  return store_->multi_get(prefixed(keys));
}

void PrefixStore::multi_set(const std::vector<std::string>& keys,
                            const std::vector<std::string>& values) {
  store_->multi_set(prefixed(keys), values);
}

std::vector<std::string> PrefixStore::prefixed(std::vector<std::string> keys) const {
  for (std::string& key : keys) key = prefixed(std::as_const(key));
  return keys;
}

}  // namespace plait::dist
