#include "plait/comm/inside/hosts.h"

#include <array>
#include <fstream>

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plait/comm/inside/sockets/socket.h"
#include "plait/comm/prefix_store.h"
#include "plait/comm/tcp_store.h"
#include "plait/core/inside/system/cpu_count.h"

namespace plait::dist {

std::string host_identity() {
  std::string text;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), text);
  for (const char* const name : {"/proc/self/ns/pid", "/proc/self/ns/net"}) {
    struct stat status{};
    if (::stat(name, &status) == 0) text += fmt::format(" {}", status.st_ino);
  }
  return text;
}

bool has_cores_for(int threads) {
  const int available = available_cpu_count();
  // mpirun binds each rank to a core of its own.
  return threads <= available || (available == 1 && threads <= ::sysconf(_SC_NPROCESSORS_ONLN));
}

std::string address_towards(const Store& store) {
  if (const auto* const prefix = dynamic_cast<const PrefixStore*>(&store)) {
    return address_towards(*prefix->underlying_store());
  }
  if (const auto* const tcp = dynamic_cast<const TcpStore*>(&store)) {
    const std::string address = own_address_towards({tcp->host(), tcp->port()});
    if (!address.empty()) return address;
  }
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

}  // namespace plait::dist
