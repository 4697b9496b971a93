// The server of a TcpStore: one thread that keeps the table and answers all connections.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>

#include "plait/comm/inside/deadline.h"
#include "plait/comm/inside/sockets/socket.h"
#include "plait/comm/inside/stores/store_messages.h"
#include "plait/comm/inside/stores/store_table.h"

namespace plait::dist {

class StoreServer {
 public:
  // DistError if it cannot listen there.
  explicit StoreServer(const HostPort& place);
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  uint16_t port() const { return port_; }

 private:
  struct Connection {
    Descriptor socket;
    bool has_greeted = false;
    std::string in = {}, out = {};
    size_t sent = 0;          // bytes of `out`
    bool is_blocked = false;  // the other side must receive before more is sent
    // A request that waits for keys, if `waits_until` is set: for their values if it is `get`.
    StoreMessage waiting = {};
    std::optional<Deadline> waits_until = {};
  };

  void serve();
  void accept_all();
  // False if the connection was closed, or did not keep to the protocol.
  bool receive(Connection& connection);
  bool take_greeting(Connection& connection);
  void take_requests(Connection& connection);
  bool flush(Connection& connection);

  static void reply(Connection& connection, const StoreMessage& answer);
  void answer(Connection& connection, StoreMessage request);
  StoreMessage answer_now(const StoreMessage& request);
  void begin_wait(Connection& connection, StoreMessage request);
  // Answers if the keys are set, or the deadline has passed; else waits on.
  void try_to_end_wait(Connection& connection);
  void end_waits();
  std::chrono::milliseconds until_next_deadline() const;
  void changed(const std::string& key);

  Descriptor listening_, wakeup_, polling_;
  uint16_t port_ = 0;
  StoreTable table_;
  std::map<int, Connection> connections_;  // by descriptor
  // Descriptors of connections that wait for a key; some may have ended their wait since.
  std::unordered_map<std::string, std::set<int>> waiters_;
  int warnings_ = 0;
  std::set<int> touched_;  // they wait for keys that were set just now
  std::thread thread_;     // the last member: it uses the others
};

}  // namespace plait::dist
