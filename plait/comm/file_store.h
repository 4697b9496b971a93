// A store in a file that all processes reach.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>

#include <sys/types.h>

#include "plait/comm/store.h"

namespace plait::dist {

class StoreFile;
class StoreTable;

// Each change is a record at the end of the file, under a lock of the file: of a process that was
// killed while it wrote one, nothing is left. The file must not be that of a former job. Not for a
// forked process, where each call is a DistError.
class FileStore : public Store {
 public:
  // With the number of processes, the last one that is destroyed removes the file, if as many were.
  explicit FileStore(std::string path, int64_t world_size = 0, Duration timeout = kDefaultTimeout);
  ~FileStore() override;

  const std::string& path() const { return path_; }

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
  // Under the lock of the file, and with all that it holds read into the table.
  void under_lock(const std::function<void(StoreTable& table, StoreFile& file)>& use);

  std::string path_;
  int64_t world_size_;
  pid_t process_;
  std::mutex mutex_;  // guards the table and the file among the threads of the process
  std::unique_ptr<StoreTable> table_;
  std::unique_ptr<StoreFile> file_;
};

}  // namespace plait::dist
