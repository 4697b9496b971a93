// LRU caches: they hold at most `capacity` entries and evict the least recently used one.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace plait {

// By key; thread-safe. Values that are still in use elsewhere stay alive.
template <class Key, class Value, class Hash>
class RecentCache {
 public:
  explicit RecentCache(size_t capacity) : capacity_(capacity) {}

  // make(key) returns a std::shared_ptr<Value>; null is cached too. It runs outside of the lock, so
  // two threads that miss at the same time both call it, and the first value is kept.
  template <class Make>
  std::shared_ptr<Value> find_or_make(const Key& key, Make&& make) {
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = places_.find(key); found != places_.end()) {
        entries_.splice(entries_.begin(), entries_, found->second);
        return found->second->second;
      }
    }
    std::shared_ptr<Value> made = make(key);
    std::shared_ptr<Value> gone;  // destroyed after the lock is released
    const std::lock_guard lock(mutex_);
    if (const auto found = places_.find(key); found != places_.end()) {
      return found->second->second;
    }
    entries_.emplace_front(key, made);
    places_.emplace(key, entries_.begin());
    if (entries_.size() > capacity_) {
      gone = std::move(entries_.back().second);
      places_.erase(entries_.back().first);
      entries_.pop_back();
    }
    return made;
  }

  size_t size() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
  }

 private:
  using Entries = std::list<std::pair<Key, std::shared_ptr<Value>>>;

  const size_t capacity_;
  mutable std::mutex mutex_;
  Entries entries_;  // most recently used first
  std::unordered_map<Key, typename Entries::iterator, Hash> places_;
};

// By a test of each entry; not thread-safe.
template <class Entry>
class RecentList {
 public:
  explicit RecentList(size_t capacity) : capacity_(capacity) {}

  // The first for which matches(entry); null if there is none.
  template <class Matches>
  Entry* find(Matches&& matches) {
    for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
      if (!matches(*entry)) continue;
      entries_.splice(entries_.begin(), entries_, entry);
      return &*entry;
    }
    return nullptr;
  }

  // The one found or added last; null if there is none.
  const Entry* latest() const { return entries_.empty() ? nullptr : &entries_.front(); }

  Entry& add(Entry entry) {
    entries_.push_front(std::move(entry));
    if (entries_.size() > capacity_) entries_.pop_back();
    return entries_.front();
  }

 private:
  const size_t capacity_;
  std::list<Entry> entries_;  // most recently used first
};

}  // namespace plait
