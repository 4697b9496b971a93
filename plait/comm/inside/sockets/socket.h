// Connections by TCP, with deadlines. Failures are DistErrors that name the other side.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "plait/comm/inside/deadline.h"

namespace plait::dist {

// An open file descriptor, closed with the object.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& from) noexcept : number_(std::exchange(from.number_, -1)) {}
  Descriptor& operator=(Descriptor&& from) noexcept {
    std::swap(number_, from.number_);
    return *this;
  }
  ~Descriptor();

  int number() const { return number_; }

 private:
  int number_;
};

struct HostPort {
  std::string host;
  uint16_t port = 0;

  std::string text() const;  // "host:29500", "[::1]:29500"
};

// Waits for connections: on loopback alone if the host is, else on all interfaces. Port 0 is any
// that is free.
Descriptor listen_at(const HostPort& place);
uint16_t port_of(const Descriptor& listening);
// The next connection that waits; a closed descriptor if there is none.
Descriptor accept_from(const Descriptor& listening);

// Tries again until the deadline while the host has no such name, or does not listen.
Descriptor connect_to(const HostPort& place, const Deadline& deadline);

// The address of this host from which packets go to a place; empty if none do.
std::string own_address_towards(const HostPort& place);

// Whole sequences of bytes, through connections that do not block.
void send_all(const Descriptor& connection, std::string_view bytes, const Deadline& deadline);
void receive_all(const Descriptor& connection, std::span<char> bytes, const Deadline& deadline);

}  // namespace plait::dist
