#include "plait/comm/inside/sockets/socket.h"

#include <array>
#include <cerrno>
#include <memory>
#include <system_error>
#include <vector>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plait/core/error.h"
#include "plait/core/inside/system/interruption.h"

namespace plait::dist {
namespace {

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

std::string reason(int error) { return std::generic_category().message(error); }

struct Resolved {
  Addresses addresses = {nullptr, &::freeaddrinfo};
  std::string failure;
};

Resolved resolve(const char* host, uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int status = ::getaddrinfo(host, std::to_string(port).c_str(), &hints, &found);
  if (status != 0) return {.failure = ::gai_strerror(status)};
  return {.addresses = {found, &::freeaddrinfo}};
}

bool is_loopback(const addrinfo& address) {
  if (address.ai_family == AF_INET) {
    const auto* const v4 = reinterpret_cast<const sockaddr_in*>(address.ai_addr);
    return (ntohl(v4->sin_addr.s_addr) >> 24) == 127;
  }
  const auto* const v6 = reinterpret_cast<const sockaddr_in6*>(address.ai_addr);
  return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

Descriptor new_socket(const addrinfo& address) {
  Descriptor made(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  ::setsockopt(made.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return made;
}

Descriptor bind_and_listen(const addrinfo& address, int& error) {
  Descriptor made = new_socket(address);
  const int on = 1, off = 0;
  ::setsockopt(made.number(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.ai_family == AF_INET6) {
    ::setsockopt(made.number(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  }
  if (::bind(made.number(), address.ai_addr, address.ai_addrlen) == 0 &&
      ::listen(made.number(), SOMAXCONN) == 0) {
    return made;
  }
  error = errno;
  return Descriptor();
}

// Listens at the first of the addresses that can be had, of one family after the other.
Descriptor listen_at_first(const addrinfo* addresses, std::initializer_list<int> families,
                           int& error) {
  for (const int family : families) {
    for (const addrinfo* each = addresses; each != nullptr; each = each->ai_next) {
      if (each->ai_family != family) continue;
      Descriptor made = bind_and_listen(*each, error);
      if (made.number() >= 0 || error == EADDRINUSE) return made;
    }
  }
  return Descriptor();
}

// Waits until the connection can be read or written. False at the deadline.
bool wait_for(const Descriptor& connection, int16_t events, const Deadline& deadline) {
  for (;;) {
    pollfd polled{.fd = connection.number(), .events = events, .revents = 0};
    const auto left = deadline.left(kInterruptible);
    if (::poll(&polled, 1, static_cast<int>(left.count())) > 0) return true;
    if (left.count() == 0) return false;
    check_interruption();
  }
}

int connect_error(const Descriptor& connection, const addrinfo& address, const Deadline& deadline) {
  if (::connect(connection.number(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_for(connection, POLLOUT, deadline)) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  ::getsockopt(connection.number(), SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

void pause_for(std::chrono::milliseconds time, const Deadline& deadline) {
  ::poll(nullptr, 0, static_cast<int>(deadline.left(time).count()));
  check_interruption();
}

[[noreturn]] void refuse_closed(int error) {
  throw DistError("the connection was closed{}", error == 0 ? "" : ": " + reason(error));
}

bool is_temporary(int error) { return error == EAGAIN || error == EWOULDBLOCK || error == EINTR; }

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

std::string HostPort::text() const {
  const std::string_view form = host.find(':') == std::string::npos ? "{}:{}" : "[{}]:{}";
  return fmt::format(fmt::runtime(form), host, port);
}

Descriptor listen_at(const HostPort& place) {
  const Resolved named = resolve(place.host.c_str(), place.port, 0);
  if (named.addresses == nullptr) {
    throw DistError("cannot listen at {}: {}", place.text(), named.failure);
  }
  int error = 0;
  Descriptor made;
  if (is_loopback(*named.addresses)) {
    made = listen_at_first(named.addresses.get(), {AF_INET, AF_INET6}, error);
  } else {
    const Resolved any = resolve(nullptr, place.port, AI_PASSIVE);
    made = listen_at_first(any.addresses.get(), {AF_INET6, AF_INET}, error);
  }
  if (made.number() >= 0) return made;
  throw DistError("cannot listen at {}: {}", place.text(), reason(error))
      .hint(error == EADDRINUSE
                ? "another program, or another rank 0, listens there: choose another port"
                : "");
}

uint16_t port_of(const Descriptor& listening) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  ::getsockname(listening.number(), reinterpret_cast<sockaddr*>(&address), &size);
  return ntohs(address.ss_family == AF_INET
                   ? reinterpret_cast<const sockaddr_in&>(address).sin_port
                   : reinterpret_cast<const sockaddr_in6&>(address).sin6_port);
}

Descriptor accept_from(const Descriptor& listening) {
  Descriptor made(::accept4(listening.number(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const int on = 1;
  if (made.number() >= 0) ::setsockopt(made.number(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return made;
}

Descriptor connect_to(const HostPort& place, const Deadline& deadline) {
  std::chrono::milliseconds pause(10);
  for (;;) {
    Resolved found = resolve(place.host.c_str(), place.port, 0);
    for (const addrinfo* each = found.addresses.get(); each != nullptr; each = each->ai_next) {
      Descriptor made = new_socket(*each);
      const int error = connect_error(made, *each, deadline);
      if (error == 0) return made;
      found.failure = reason(error);
    }
    if (deadline.has_passed()) {
      throw DistError("cannot connect to {}: {}", place.text(), found.failure)
          .hint(
              "see whether the process that listens there has started, and that host and port "
              "are right");
    }
    pause_for(pause, deadline);
    pause = std::min(pause * 2, std::chrono::milliseconds(500));
  }
}

std::string own_address_towards(const HostPort& place) {
  const Resolved found = resolve(place.host.c_str(), place.port, 0);
  for (const addrinfo* each = found.addresses.get(); each != nullptr; each = each->ai_next) {
    const Descriptor made(::socket(each->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    std::array<char, NI_MAXHOST> text{};
    // Nothing is sent.
    if (::connect(made.number(), each->ai_addr, each->ai_addrlen) == 0 &&
        ::getsockname(made.number(), reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text.data(), text.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      return text.data();
    }
  }
  return {};
}

void send_all(const Descriptor& connection, std::string_view bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(connection.number(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (!is_temporary(errno)) {
      refuse_closed(errno);
    } else if (!wait_for(connection, POLLOUT, deadline)) {
      throw DistError("the other side does not receive");
    }
  }
}

void receive_all(const Descriptor& connection, std::span<char> bytes, const Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t received = ::recv(connection.number(), bytes.data(), bytes.size(), 0);
    if (received > 0) {
      bytes = bytes.subspan(static_cast<size_t>(received));
    } else if (received == 0 || !is_temporary(errno)) {
      refuse_closed(received == 0 ? 0 : errno);
    } else if (!wait_for(connection, POLLIN, deadline)) {
      throw DistError("the other side does not answer");
    }
  }
}

}  // namespace plait::dist
