#include "plait/comm/file_store.h"

#include <algorithm>
#include <utility>

#include <poll.h>
#include <unistd.h>

#include "plait/comm/inside/deadline.h"
#include "plait/comm/inside/stores/store_file.h"
#include "plait/comm/inside/stores/store_table.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/interruption.h"
#include "plait/core/log.h"

namespace plait::dist {
namespace {

constexpr int kPollMilliseconds = 5;

// How many stores with a world_size there are, and how many have ended.
const std::string kOpen = std::string(1, kOwnKey) + "open";
const std::string kEnded = std::string(1, kOwnKey) + "ended";

}  // namespace

FileStore::FileStore(std::string path, int64_t world_size, Duration timeout)
    : Store(timeout),
      path_(std::move(path)),
      world_size_(world_size),
      process_(::getpid()),
      table_(std::make_unique<StoreTable>()),
      file_(std::make_unique<StoreFile>(path_)) {
  if (world_size < 0) {
    throw ValueError("FileStore: world_size is {}, expected 0 or more", world_size);
  }
  if (world_size_ == 0) {
    check({});  // that it is a file of a store
  } else {
    add(kOpen, 1);
  }
}

FileStore::~FileStore() {
  if (world_size_ == 0 || process_ != ::getpid()) return;
  try {
    const int64_t ended = add(kEnded, 1);
    if (add(kOpen, -1) == 0 && ended >= world_size_) file_->remove();
  } catch (const Error& error) {
    log(LogArea::dist, LogLevel::warning, "FileStore: {} stays: {}", path_, error.message());
  }
}

void FileStore::set(const std::string& key, const std::string& value) { multi_set({key}, {value}); }

std::string FileStore::get(const std::string& key) {
  wait({key});
  std::string value;
  under_lock([&](StoreTable& table, StoreFile&) {
    const std::string* const found = table.find(key);
    if (found == nullptr) refuse_late({key}, timeout().count());  // it was deleted meanwhile
    value = *found;
  });
  return value;
}

int64_t FileStore::add(const std::string& key, int64_t amount) {
  int64_t sum = 0;
  under_lock([&](StoreTable& table, StoreFile& file) {
    sum = table.add(key, amount);
    file.append({{key, std::to_string(sum)}});
  });
  return sum;
}

std::string FileStore::compare_set(const std::string& key, const std::string& expected,
                                   const std::string& desired) {
  std::string value;
  under_lock([&](StoreTable& table, StoreFile& file) {
    value = table.compare_set(key, expected, desired);
    if (const std::string* const now = table.find(key)) file.append({{key, *now}});
  });
  return value;
}

void FileStore::append(const std::string& key, const std::string& value) {
  under_lock([&](StoreTable& table, StoreFile& file) {
    table.append(key, value);
    file.append({{key, *table.find(key)}});
  });
}

bool FileStore::delete_key(const std::string& key) {
  bool was_set = false;
  under_lock([&](StoreTable& table, StoreFile& file) {
    was_set = table.erase(key);
    if (was_set) file.append({{key, std::nullopt}});
  });
  return was_set;
}

bool FileStore::check(const std::vector<std::string>& keys) {
  bool are_set = false;
  under_lock([&](StoreTable& table, StoreFile&) { are_set = table.missing_of(keys).empty(); });
  return are_set;
}

int64_t FileStore::num_keys() {
  int64_t count = 0;
  under_lock([&](StoreTable& table, StoreFile&) { count = table.count(); });
  return count;
}

void FileStore::wait_for(const std::vector<std::string>& keys, Duration timeout) {
  const Deadline deadline(timeout);
  while (!check(keys)) {
    if (deadline.has_passed()) {
      std::vector<std::string> missing;
      under_lock([&](StoreTable& table, StoreFile&) { missing = table.missing_of(keys); });
      refuse_late(missing.empty() ? keys : missing, timeout.count());
    }
    // Another thread may have read what the file has grown by.
    const auto may_be_set = [&] {
      const std::lock_guard lock(mutex_);
      return file_->has_grown() || table_->missing_of(keys).empty();
    };
    while (!deadline.has_passed() && !may_be_set()) {
      ::poll(nullptr, 0, kPollMilliseconds);
      check_interruption();
    }
  }
}

std::shared_ptr<Store> FileStore::clone(Duration timeout) const {
  return std::make_shared<FileStore>(path_, 0, timeout);
}

void FileStore::multi_set(const std::vector<std::string>& keys,
                          const std::vector<std::string>& values) {
  check_counts(keys.size(), values.size());
  under_lock([&](StoreTable& table, StoreFile& file) {
    std::vector<StoreChange> changes;
    for (size_t i = 0; i < keys.size(); ++i) {
      changes.push_back({keys[i], values[i]});
      table.set(keys[i], values[i]);
    }
    file.append(changes);
  });
}

void FileStore::under_lock(const std::function<void(StoreTable& table, StoreFile& file)>& use) {
  if (process_ != ::getpid()) {
    throw DistError("FileStore: it is used in a process that was forked from its own")
        .hint("make a store in each process");
  }
  const std::lock_guard lock(mutex_);
  file_->lock(std::max<Duration>(timeout(), std::chrono::milliseconds(500)));
  try {
    file_->read_into(*table_);
    use(*table_, *file_);
  } catch (...) {
    *table_ = {};  // the change may not be in the file
    file_->restart();
    file_->unlock();
    throw;
  }
  file_->unlock();
}

}  // namespace plait::dist
