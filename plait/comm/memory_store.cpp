#include "plait/comm/memory_store.h"

#include <condition_variable>
#include <utility>

#include "plait/comm/inside/deadline.h"
#include "plait/comm/inside/stores/store_table.h"
#include "plait/core/inside/system/interruption.h"

namespace plait::dist {

struct MemoryStore::Shared {
  std::mutex mutex;  // guards the table
  std::condition_variable changed;
  StoreTable table;
};

MemoryStore::MemoryStore(Duration timeout) : MemoryStore(std::make_shared<Shared>(), timeout) {}

MemoryStore::MemoryStore(std::shared_ptr<Shared> shared, Duration timeout)
    : Store(timeout), shared_(std::move(shared)) {}

MemoryStore::~MemoryStore() = default;

template <class Change>
auto MemoryStore::change(const Change& change) {
  const std::lock_guard lock(shared_->mutex);
  shared_->changed.notify_all();  // they wait for the lock
  return change(shared_->table);
}

void MemoryStore::set(const std::string& key, const std::string& value) {
  change([&](StoreTable& table) { table.set(key, value); });
}

std::string MemoryStore::get(const std::string& key) {
  std::unique_lock lock(shared_->mutex);
  wait_under(lock, {key}, timeout());
  return *shared_->table.find(key);
}

int64_t MemoryStore::add(const std::string& key, int64_t amount) {
  return change([&](StoreTable& table) { return table.add(key, amount); });
}

std::string MemoryStore::compare_set(const std::string& key, const std::string& expected,
                                     const std::string& desired) {
  return change([&](StoreTable& table) { return table.compare_set(key, expected, desired); });
}

void MemoryStore::append(const std::string& key, const std::string& value) {
  change([&](StoreTable& table) { table.append(key, value); });
}

bool MemoryStore::delete_key(const std::string& key) {
  return change([&](StoreTable& table) { return table.erase(key); });
}

bool MemoryStore::check(const std::vector<std::string>& keys) {
  const std::lock_guard lock(shared_->mutex);
  return shared_->table.missing_of(keys).empty();
}

int64_t MemoryStore::num_keys() {
  const std::lock_guard lock(shared_->mutex);
  return shared_->table.count();
}

void MemoryStore::wait_for(const std::vector<std::string>& keys, Duration timeout) {
  std::unique_lock lock(shared_->mutex);
  wait_under(lock, keys, timeout);
}

std::shared_ptr<Store> MemoryStore::clone(Duration timeout) const {
  return std::shared_ptr<Store>(new MemoryStore(shared_, timeout));
}

void MemoryStore::multi_set(const std::vector<std::string>& keys,
                            const std::vector<std::string>& values) {
  check_counts(keys.size(), values.size());
  change([&](StoreTable& table) {
    for (size_t i = 0; i < keys.size(); ++i) table.set(keys[i], values[i]);
  });
}

void MemoryStore::wait_under(std::unique_lock<std::mutex>& lock,
                             const std::vector<std::string>& keys, Duration timeout) {
  const Deadline deadline(timeout);
  for (;;) {
    const std::vector<std::string> missing = shared_->table.missing_of(keys);
    if (missing.empty()) return;
    if (deadline.has_passed()) refuse_late(missing, timeout.count());
    // The clock of wait_until, since that of wait_for is not known to thread sanitizers.
    shared_->changed.wait_until(lock,
                                std::chrono::system_clock::now() + deadline.left(kInterruptible));
    lock.unlock();
    check_interruption();
    lock.lock();
  }
}

}  // namespace plait::dist
