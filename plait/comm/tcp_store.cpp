#include "plait/comm/tcp_store.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include "plait/comm/inside/deadline.h"
#include "plait/comm/inside/sockets/socket.h"
#include "plait/comm/inside/stores/store_messages.h"
#include "plait/comm/inside/stores/store_server.h"
#include "plait/core/error.h"

namespace plait::dist {
namespace {

using Kind = StoreMessageKind;

// A server that is alive answers within this time after it has waited.
Duration answer_time(Duration timeout) {
  return std::clamp<Duration>(timeout, std::chrono::milliseconds(500), std::chrono::seconds(30));
}

const std::string kWorkers = std::string(1, kOwnKey) + "workers";
const std::string kAllAreHere = std::string(1, kOwnKey) + "all";

StoreMessage receive_message(const Descriptor& connection, const Deadline& deadline) {
  std::string bytes(kStoreMessageHead, '\0');
  receive_all(connection, bytes, deadline);
  bytes.resize(size_of_message(bytes));
  receive_all(connection, bytes, deadline);
  return read_message(bytes);
}

}  // namespace

// Connections to the server that are not in use. Each thread takes one for a request, so that one
// that waits does not hold up the others.
class TcpStore::Connections {
 public:
  explicit Connections(HostPort place) : place_(std::move(place)) {}

  Descriptor take(const Deadline& deadline) {
    {
      const std::lock_guard lock(mutex_);
      if (!unused_.empty()) {
        Descriptor taken = std::move(unused_.back());
        unused_.pop_back();
        return taken;
      }
    }
    Descriptor made = connect_to(place_, deadline);
    send_all(made, kStoreGreeting, deadline);
    return made;
  }
  void put(Descriptor connection) {
    const std::lock_guard lock(mutex_);
    unused_.push_back(std::move(connection));
  }

 private:
  HostPort place_;
  std::mutex mutex_;
  std::vector<Descriptor> unused_;
};

TcpStore::TcpStore(const TcpStoreOptions& options)
    : Store(options.timeout), host_(options.host), port_(options.port), process_(::getpid()) {
  if (options.is_master) {
    server_ = std::make_unique<StoreServer>(HostPort{host_, port_});
    port_ = server_->port();
  } else if (port_ == 0) {
    throw ValueError("TcpStore: the port is 0, expected that of the server");
  }
  if (options.world_size && *options.world_size < 1) {
    throw ValueError("TcpStore: world_size is {}, expected 1 or more", *options.world_size);
  }
  connections_ = std::make_unique<Connections>(HostPort{host_, port_});
  connections_->put(connections_->take(Deadline(timeout())));
  if (!options.world_size) return;
  if (add(kWorkers, 1) == *options.world_size) set(kAllAreHere, "");
  if (options.is_master && options.wait_for_workers) wait_for_workers(*options.world_size);
}

TcpStore::~TcpStore() {
  if (process_ == ::getpid()) return;
  // Its thread is not in a forked process, where nothing could wait for it.
  [[maybe_unused]] const StoreServer* const left_behind = server_.release();
}

void TcpStore::wait_for_workers(int64_t world_size) {
  try {
    wait({kAllAreHere});
  } catch (const DistError&) {
    const int64_t connected = add(kWorkers, 0);
    if (connected >= world_size) {
      throw DistError(
          "TcpStore: {} processes connected to {}, but they do not say the same world_size",
          connected, HostPort{host_, port_}.text());
    }
    throw DistError("TcpStore: {} of {} processes connected to {} within {} s", connected,
                    world_size, HostPort{host_, port_}.text(),
                    static_cast<double>(timeout().count()) / 1000)
        .hint("see whether all have started, or raise timeout");
  }
}

void TcpStore::set(const std::string& key, const std::string& value) {
  ask({Kind::set, {key, value}});
}

std::string TcpStore::get(const std::string& key) { return multi_get({key}).front(); }

int64_t TcpStore::add(const std::string& key, int64_t amount) {
  return integer_of(ask({Kind::add, {key, std::to_string(amount)}}).at(0));
}

std::string TcpStore::compare_set(const std::string& key, const std::string& expected,
                                  const std::string& desired) {
  return ask({Kind::compare_set, {key, expected, desired}}).at(0);
}

void TcpStore::append(const std::string& key, const std::string& value) {
  ask({Kind::append, {key, value}});
}

bool TcpStore::delete_key(const std::string& key) {
  return ask({Kind::delete_key, {key}}).at(0) == "1";
}

bool TcpStore::check(const std::vector<std::string>& keys) {
  return ask({Kind::check, keys}).at(0) == "1";
}

int64_t TcpStore::num_keys() { return integer_of(ask({Kind::num_keys, {}}).at(0)); }

void TcpStore::wait_for(const std::vector<std::string>& keys, Duration timeout) {
  ask_within(timeout, {Kind::wait, keys});
}

std::shared_ptr<Store> TcpStore::clone(Duration timeout) const {
  return std::make_shared<TcpStore>(
      TcpStoreOptions{.host = host_, .port = port_, .timeout = timeout});
}

std::vector<std::string> TcpStore::multi_get(const std::vector<std::string>& keys) {
  return ask_within(timeout(), {Kind::get, keys});
}

void TcpStore::multi_set(const std::vector<std::string>& keys,
                         const std::vector<std::string>& values) {
  check_counts(keys.size(), values.size());
  StoreMessage request{Kind::set, {}};
  for (size_t i = 0; i < keys.size(); ++i) {
    request.fields.push_back(keys[i]);
    request.fields.push_back(values[i]);
  }
  ask(request);
}

std::vector<std::string> TcpStore::ask_within(Duration timeout, StoreMessage request) {
  request.fields.insert(request.fields.begin(), std::to_string(timeout.count()));
  return ask(request);
}

std::vector<std::string> TcpStore::ask(const StoreMessage& request) {
  if (process_ != ::getpid()) {
    throw DistError("TcpStore: it is used in a process that was forked from its own")
        .hint("make a store in each process");
  }
  const bool waits = request.kind == Kind::get || request.kind == Kind::wait;
  const Duration time = waits ? Duration(integer_of(request.fields[0])) : Duration::zero();
  StoreMessage answer;
  try {
    const Deadline deadline(time + answer_time(timeout()));
    const std::string bytes = bytes_of(request);
    Descriptor connection = connections_->take(deadline);
    send_all(connection, bytes, deadline);
    answer = receive_message(connection, deadline);
    connections_->put(std::move(connection));
  } catch (DistError& error) {
    error.prepend(fmt::format("TcpStore at {}: ", HostPort{host_, port_}.text()));
    throw;
  } catch (const ParseError& error) {
    throw DistError("TcpStore at {}: something else than a store of Plait answers there: {}",
                    HostPort{host_, port_}.text(), error.message());
  }
  if (answer.kind == Kind::refused) throw ValueError("{}", answer.fields.at(0));
  if (answer.kind == Kind::late) refuse_late(answer.fields, time.count());
  return std::move(answer.fields);
}

}  // namespace plait::dist
