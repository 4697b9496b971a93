#include "plait/comm/inside/stores/store_server.h"

#include <array>
#include <cerrno>
#include <utility>

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plait/core/error.h"
#include "plait/core/log.h"

namespace plait::dist {
namespace {

using Kind = StoreMessageKind;

constexpr size_t kMostEvents = 64;
constexpr size_t kReadAtATime = size_t{64} << 10;
constexpr int kPauseMilliseconds = 20;
constexpr int kMostWarnings = 20;

void watch(const Descriptor& polling, const Descriptor& watched, uint32_t events, int operation) {
  epoll_event event{};
  event.events = events;
  event.data.fd = watched.number();
  ::epoll_ctl(polling.number(), operation, watched.number(), &event);
}

std::string flag(bool is_true) { return is_true ? "1" : "0"; }

// The fields that `count` says, at least.
void need_fields(const StoreMessage& request, size_t count) {
  if (request.fields.size() < count) throw ParseError("a request without all its fields");
}

// Others may read a log.
std::string printable(std::string text) {
  for (char& each : text) {
    if (static_cast<unsigned char>(each) < ' ' || each == 0x7f) each = '?';
  }
  return text;
}

std::vector<std::string> keys_of(const StoreMessage& waiting) {
  return {waiting.fields.begin() + 1, waiting.fields.end()};
}

}  // namespace

StoreServer::StoreServer(const HostPort& place)
    : listening_(listen_at(place)),
      wakeup_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      polling_(::epoll_create1(EPOLL_CLOEXEC)),
      port_(port_of(listening_)) {
  watch(polling_, listening_, EPOLLIN, EPOLL_CTL_ADD);
  watch(polling_, wakeup_, EPOLLIN, EPOLL_CTL_ADD);
  thread_ = std::thread([this] {
    ::pthread_setname_np(::pthread_self(), "plait-store");
    serve();
  });
}

StoreServer::~StoreServer() {
  const uint64_t one = 1;
  (void)!::write(wakeup_.number(), &one, sizeof one);
  thread_.join();
}

void StoreServer::serve() {
  std::array<epoll_event, kMostEvents> events;
  for (;;) {
    const auto time = until_next_deadline();
    const int count =
        ::epoll_wait(polling_.number(), events.data(), kMostEvents, static_cast<int>(time.count()));
    for (int i = 0; i < count; ++i) {
      const int descriptor = events[static_cast<size_t>(i)].data.fd;
      if (descriptor == wakeup_.number()) return;
      if (descriptor == listening_.number()) {
        accept_all();
        continue;
      }
      const auto found = connections_.find(descriptor);
      if (found == connections_.end()) continue;
      if (!receive(found->second) || !flush(found->second)) connections_.erase(found);
    }
    end_waits();
  }
}

void StoreServer::accept_all() {
  for (;;) {
    Descriptor made = accept_from(listening_);
    if (made.number() < 0) {
      // It stays ready while there are no more descriptors.
      if (errno == EMFILE || errno == ENFILE) ::poll(nullptr, 0, kPauseMilliseconds);
      return;
    }
    watch(polling_, made, EPOLLIN, EPOLL_CTL_ADD);
    const int number = made.number();
    connections_.insert_or_assign(number, Connection{.socket = std::move(made)});
  }
}

bool StoreServer::receive(Connection& connection) {
  std::array<char, kReadAtATime> bytes;
  for (;;) {
    const ssize_t count = ::recv(connection.socket.number(), bytes.data(), bytes.size(), 0);
    if (count == 0) return false;
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno != EAGAIN && errno != EWOULDBLOCK) return false;
      break;
    }
    connection.in.append(bytes.data(), static_cast<size_t>(count));
    if (static_cast<size_t>(count) < bytes.size()) break;
  }
  try {
    if (!connection.has_greeted && !take_greeting(connection)) return true;
    take_requests(connection);
    return true;
  } catch (const Error& error) {
    if (warnings_++ < kMostWarnings) {
      log(LogArea::dist, LogLevel::warning, "TcpStore: closed a connection that sent {}{}",
          printable(error.message()),
          warnings_ == kMostWarnings ? "; of others nothing is said" : "");
    }
    return false;
  }
}

bool StoreServer::take_greeting(Connection& connection) {
  const size_t size = std::min(connection.in.size(), kStoreGreeting.size());
  if (connection.in.compare(0, size, kStoreGreeting, 0, size) != 0) {
    throw ParseError("no greeting of a store");
  }
  if (size < kStoreGreeting.size()) return false;
  connection.in.erase(0, size);
  connection.has_greeted = true;
  return true;
}

void StoreServer::take_requests(Connection& connection) {
  std::string_view in = connection.in;
  while (in.size() >= kStoreMessageHead) {
    const uint64_t size = size_of_message(in);
    if (in.size() - kStoreMessageHead < size) break;
    in.remove_prefix(kStoreMessageHead);
    // Else one that does not read would fill the memory.
    if (!connection.out.empty()) throw ParseError("a request before it has read the last answer");
    answer(connection, read_message(in.substr(0, size)));
    in.remove_prefix(size);
  }
  connection.in.erase(0, connection.in.size() - in.size());
}

bool StoreServer::flush(Connection& connection) {
  std::string& out = connection.out;
  bool is_blocked = false;
  while (connection.sent < out.size() && !is_blocked) {
    const ssize_t sent = ::send(connection.socket.number(), out.data() + connection.sent,
                                out.size() - connection.sent, MSG_NOSIGNAL);
    if (sent >= 0) {
      connection.sent += static_cast<size_t>(sent);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      is_blocked = true;
    } else if (errno != EINTR) {
      return false;
    }
  }
  if (!is_blocked) {
    out.clear();
    connection.sent = 0;
  }
  if (is_blocked != connection.is_blocked) {
    connection.is_blocked = is_blocked;
    const uint32_t events = is_blocked ? EPOLLIN | EPOLLOUT : EPOLLIN;
    watch(polling_, connection.socket, events, EPOLL_CTL_MOD);
  }
  return true;
}

void StoreServer::reply(Connection& connection, const StoreMessage& answer) {
  try {
    connection.out += bytes_of(answer);
  } catch (const ValueError& error) {
    connection.out += bytes_of(StoreMessage{Kind::refused, {error.message()}});
  }
}

void StoreServer::answer(Connection& connection, StoreMessage request) {
  if (request.kind == Kind::get || request.kind == Kind::wait) {
    begin_wait(connection, std::move(request));
    return;
  }
  StoreMessage answer;
  try {
    answer = answer_now(request);
  } catch (const ValueError& error) {
    answer = {Kind::refused, {error.message()}};
  }
  reply(connection, answer);
}

StoreMessage StoreServer::answer_now(const StoreMessage& request) {
  const std::vector<std::string>& fields = request.fields;
  switch (request.kind) {
    case Kind::set:
      if (fields.size() % 2 != 0) throw ParseError("a key without a value");
      for (size_t i = 0; i < fields.size(); i += 2) {
        table_.set(fields[i], fields[i + 1]);
        changed(fields[i]);
      }
      return {};
    case Kind::add: {
      need_fields(request, 2);
      const int64_t sum = table_.add(fields[0], integer_of(fields[1]));
      changed(fields[0]);
      return {Kind::done, {std::to_string(sum)}};
    }
    case Kind::compare_set: {
      need_fields(request, 3);
      std::string value = table_.compare_set(fields[0], fields[1], fields[2]);
      changed(fields[0]);
      return {Kind::done, {std::move(value)}};
    }
    case Kind::append:
      need_fields(request, 2);
      table_.append(fields[0], fields[1]);
      changed(fields[0]);
      return {};
    case Kind::delete_key:
      need_fields(request, 1);
      return {Kind::done, {flag(table_.erase(fields[0]))}};
    case Kind::check: return {Kind::done, {flag(table_.missing_of(fields).empty())}};
    case Kind::num_keys: return {Kind::done, {std::to_string(table_.count())}};
    case Kind::get:
    case Kind::wait:
    case Kind::done:
    case Kind::late:
    case Kind::refused: break;
  }
  throw ParseError("an answer where a request is expected");
}

void StoreServer::begin_wait(Connection& connection, StoreMessage request) {
  need_fields(request, 1);
  if (connection.waits_until) throw ParseError("a request before the last one was answered");
  connection.waits_until.emplace(std::chrono::milliseconds(integer_of(request.fields[0])));
  connection.waiting = std::move(request);
  try_to_end_wait(connection);
}

void StoreServer::try_to_end_wait(Connection& connection) {
  if (!connection.waits_until) return;
  const std::vector<std::string> keys = keys_of(connection.waiting);
  std::vector<std::string> missing = table_.missing_of(keys);
  StoreMessage answer;
  if (missing.empty()) {
    if (connection.waiting.kind == Kind::get) {
      for (const std::string& key : keys) answer.fields.push_back(*table_.find(key));
    }
  } else if (connection.waits_until->has_passed()) {
    answer = {Kind::late, std::move(missing)};
  } else {
    for (const std::string& key : missing) waiters_[key].insert(connection.socket.number());
    return;
  }
  connection.waits_until.reset();
  reply(connection, answer);
}

void StoreServer::end_waits() {
  for (const int descriptor : std::exchange(touched_, {})) {
    const auto found = connections_.find(descriptor);
    if (found != connections_.end()) try_to_end_wait(found->second);
  }
  for (auto at = connections_.begin(); at != connections_.end();) {
    if (at->second.waits_until && at->second.waits_until->has_passed()) {
      try_to_end_wait(at->second);
    }
    at = flush(at->second) ? std::next(at) : connections_.erase(at);
  }
}

std::chrono::milliseconds StoreServer::until_next_deadline() const {
  std::chrono::milliseconds least = std::chrono::hours(1);
  for (const auto& [descriptor, connection] : connections_) {
    if (connection.waits_until) least = connection.waits_until->left(least);
  }
  return least;
}

void StoreServer::changed(const std::string& key) {
  const auto found = waiters_.find(key);
  if (found == waiters_.end()) return;
  touched_.merge(found->second);
  waiters_.erase(found);
}

}  // namespace plait::dist
