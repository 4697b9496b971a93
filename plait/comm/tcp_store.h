// A store that one process serves to the others by TCP.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "plait/comm/store.h"

namespace plait::dist {

class StoreServer;
struct StoreMessage;

struct TcpStoreOptions {
  std::string host = "localhost";
  uint16_t port = 0;       // that of the server; 0, for the server alone, is any that is free
  bool is_master = false;  // this process is the server
  // The number of processes, the server among them, if it is known: the server waits until all are
  // connected.
  std::optional<int64_t> world_size = {};
  bool wait_for_workers = true;
  Duration timeout = Store::kDefaultTimeout;
};

// The server listens on loopback alone if the host is, else on all interfaces, and trusts all that
// connect. It ends with its store: the other processes have a DistError then. May be used by many
// threads; not by a forked process, where each call is a DistError.
class TcpStore : public Store {
 public:
  explicit TcpStore(const TcpStoreOptions& options);
  ~TcpStore() override;

  const std::string& host() const { return host_; }
  uint16_t port() const { return port_; }

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
  std::vector<std::string> multi_get(const std::vector<std::string>& keys) override;
  void multi_set(const std::vector<std::string>& keys,
                 const std::vector<std::string>& values) override;

 private:
  // Sends a request, and waits for the answer, by a connection that no other thread uses.
  std::vector<std::string> ask(const StoreMessage& request);
  // The same for requests that begin with the time that the server shall wait.
  std::vector<std::string> ask_within(Duration timeout, StoreMessage request);
  void wait_for_workers(int64_t world_size);

  std::string host_;
  uint16_t port_ = 0;
  pid_t process_;
  std::unique_ptr<StoreServer> server_;
  class Connections;
  std::unique_ptr<Connections> connections_;
};

}  // namespace plait::dist
