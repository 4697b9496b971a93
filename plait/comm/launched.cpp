#include "plait/comm/launched.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <utility>

#include "plait/comm/tcp_store.h"
#include "plait/core/error.h"
#include "plait/core/hash.h"

namespace plait::dist {
namespace {

// A variable of torchrun's, and those of Open MPI, MPICH and SLURM for the same.
struct Variables {
  std::string_view name;
  std::array<const char*, 3> others;
};
constexpr std::array kVariables = {
    Variables{"RANK", {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"}},
    Variables{"WORLD_SIZE", {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS"}},
    Variables{"LOCAL_RANK", {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}}};

std::optional<std::string> value_of(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

int number_in(const std::string& name) {
  const std::string text = value_of(name.c_str()).value_or("");
  int number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec == std::errc() && end.ptr == text.data() + text.size()) return number;
  throw ValueError("join_launched: the environment variable {} is \"{}\", expected an integer",
                   name, text);
}

int launch_number(std::string_view name) {
  if (const auto variable = launch_variable(name)) return number_in(*variable);
  throw ValueError("join_launched: the environment variable {} is not set", name)
      .hint("start the program by a launcher, or use Group::join");
}

// The first one of the hosts that SLURM writes: "n1" of "n[1-3,5],m2".
std::string first_of(const std::string& hosts) {
  const size_t end = hosts.find_first_of(",[");
  std::string first = hosts.substr(0, end);
  if (end == std::string::npos || hosts[end] == ',') return first;
  const size_t last = hosts.find_first_of(",-]", end);
  first += hosts.substr(end + 1, last - end - 1);
  const size_t close = hosts.find(']', end), next = hosts.find(',', close);
  return close == std::string::npos ? first : first + hosts.substr(close + 1, next - close - 1);
}

Place place() {
  const std::optional<std::string> host = value_of("MASTER_ADDR");
  if (value_of("MASTER_PORT")) return {host.value_or("localhost"), number_in("MASTER_PORT")};
  if (auto found = place_of_job()) return {host.value_or(found->host), found->port};
  throw ValueError("join_launched: the environment variable MASTER_PORT is not set")
      .hint("start the program by a launcher, or use Group::join");
}

}  // namespace

std::optional<std::string> launch_variable(std::string_view name) {
  std::string own(name);
  if (std::getenv(own.c_str()) != nullptr) return own;
  for (const Variables& variables : kVariables) {
    if (variables.name != name) continue;
    for (const char* const other : variables.others) {
      if (std::getenv(other) != nullptr) return other;
    }
  }
  return std::nullopt;
}

std::optional<Place> place_of_job() {
  std::optional<std::string> job;
  for (const char* const name : {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID"}) {
    if (!job) job = value_of(name);
  }
  const auto here = value_of("OMPI_COMM_WORLD_LOCAL_SIZE"), all = value_of("OMPI_COMM_WORLD_SIZE");
  std::optional<std::string> host;
  if (here && here == all) {
    host = "localhost";
  } else if (const auto hosts = value_of("SLURM_STEP_NODELIST")) {
    host = first_of(*hosts);
  }
  if (!job || !host) return std::nullopt;
  const std::string text = *job + "." + value_of("SLURM_STEP_ID").value_or("");
  const uint64_t hash = hash_bytes(std::as_bytes(std::span(text)));
  return Place{*host, static_cast<int>(20'000 + hash % 10'000)};
}

std::shared_ptr<Group> join_launched(const GroupOptions& options) {
  GroupOptions joined = options;
  joined.rank = launch_number("RANK");
  joined.size = launch_number("WORLD_SIZE");
  const Place met = place();
  if (met.port < 1 || met.port > 65'535) {
    throw ValueError("join_launched: the port is {}, expected 1 to 65535", met.port);
  }
  // The store of plait run outlives the ranks.
  const bool is_served = value_of("TORCHELASTIC_USE_AGENT_STORE") == "True";
  joined.store =
      std::make_shared<TcpStore>(TcpStoreOptions{.host = met.host,
                                                 .port = static_cast<uint16_t>(met.port),
                                                 .is_master = joined.rank == 0 && !is_served,
                                                 .timeout = options.timeout});
  return Group::join(joined);
}

}  // namespace plait::dist
