// A small table from keys to bytes that the processes of a job share: through it they find each
// other, and agree on what they begin.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace plait::dist {

using Duration = std::chrono::milliseconds;

class Store {
 public:
  static constexpr Duration kDefaultTimeout = std::chrono::minutes(5);

  explicit Store(Duration timeout = kDefaultTimeout) { set_timeout(timeout); }
  virtual ~Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  virtual void set(const std::string& key, const std::string& value) = 0;
  // Waits until the key is set; DistError if it is not within the timeout.
  virtual std::string get(const std::string& key) = 0;
  // Adds to an integer, which is kept as decimal text and is 0 at first; returns the sum.
  virtual int64_t add(const std::string& key, int64_t amount) = 0;
  // Sets the key if its value is `expected`; one that is not set is only if `expected` is empty.
  // Returns the value of the key then, and `expected` if it is still not set.
  virtual std::string compare_set(const std::string& key, const std::string& expected,
                                  const std::string& desired) = 0;
  virtual void append(const std::string& key, const std::string& value) = 0;
  virtual bool delete_key(const std::string& key) = 0;  // true if it was set
  // True if all keys are set now.
  virtual bool check(const std::vector<std::string>& keys) = 0;
  virtual int64_t num_keys() = 0;
  // Waits until all keys are set; DistError that names those that are not within the timeout.
  virtual void wait_for(const std::vector<std::string>& keys, Duration timeout) = 0;
  void wait(const std::vector<std::string>& keys) { wait_for(keys, timeout()); }

  // The same table, with another timeout.
  virtual std::shared_ptr<Store> clone(Duration timeout) const = 0;

  virtual std::vector<std::string> multi_get(const std::vector<std::string>& keys);
  // All keys together: another process sees either none of the values or all of them. ValueError if
  // the counts differ.
  virtual void multi_set(const std::vector<std::string>& keys,
                         const std::vector<std::string>& values) = 0;

  // How long get and wait do, and for how long a call stands a server, or a writer of the file,
  // that does not answer: at least half a second.
  Duration timeout() const { return Duration(timeout_.load(std::memory_order_relaxed)); }
  // ValueError unless it is longer than 0.
  void set_timeout(Duration timeout);

 private:
  std::atomic<int64_t> timeout_ = 0;  // milliseconds
};

}  // namespace plait::dist
