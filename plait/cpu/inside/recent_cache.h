// What was made lately, found again by its key: at most `capacity` things, of which the one that
// was longest not asked for goes first. Any threads may ask; what one of them still holds stays
// alive.
#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>

namespace plait {

template <class Key, class Value, class Hash>
class RecentCache {
 public:
  explicit RecentCache(size_t capacity) : capacity_(capacity) {}

  // make(key) gives a std::shared_ptr<Value>, which may be null and is then kept as such. It runs
  // outside of the lock, so two threads that miss at once both make one, and the first stays.
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
    std::shared_ptr<Value> gone;  // destroyed after the lock is let go
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
  Entries entries_;  // the latest first
  std::unordered_map<Key, typename Entries::iterator, Hash> places_;
};

}  // namespace plait
