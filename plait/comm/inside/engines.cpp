#include "plait/comm/inside/engines.h"

#include <string>
#include <string_view>
#include <utility>

#include "plait/comm/inside/hosts.h"
#include "plait/comm/inside/local/local_engine.h"
#include "plait/comm/inside/wires/gloo_wire.h"
#include "plait/comm/inside/wires/mpi_wire.h"
#include "plait/comm/inside/wires/wire_engine.h"
#include "plait/core/error.h"
#include "plait/tensor/memory/device_memory.h"

namespace plait::dist {
namespace {

std::unique_ptr<Engine> make_gloo(const GroupOptions& options, Store& store, bool is_one_host) {
  auto notices = WireEngine::open_notices(store, options.rank, options.size);
  const std::string address = is_one_host ? "127.0.0.1" : address_towards(*options.store);
  auto wire = make_gloo_wire(store, options.rank, options.size, address, options.timeout);
  return std::make_unique<WireEngine>(std::move(wire), std::move(notices), options.rank,
                                      options.size, options.timeout);
}

std::unique_ptr<Engine> make_mpi(const GroupOptions& options, Store& store) {
  auto notices = WireEngine::open_notices(store, options.rank, options.size);
  auto wire = make_mpi_wire(store, options.rank, options.size);
  return std::make_unique<WireEngine>(std::move(wire), std::move(notices), options.rank,
                                      options.size, options.timeout);
}

std::unique_ptr<Engine> make_nccl() {
  if (device_count(Device::Kind::cuda) == 0) {
    throw DeviceError("the engine nccl: this machine has no GPU")
        .hint("auto chooses an engine for the CPU");
  }
  throw DistError("the engine nccl is not in this build");
}

}  // namespace

std::unique_ptr<Engine> make_engine(const GroupOptions& options, Store& store, bool is_one_host) {
  std::string_view name = options.engine;
  if (name == "auto") name = is_one_host ? "local" : is_started_by_mpi() ? "mpi" : "gloo";
  if (name == "local") {
    return std::make_unique<LocalEngine>(store, options.rank, options.size, options.timeout);
  }
  if (name == "gloo") return make_gloo(options, store, is_one_host);
  if (name == "mpi") return make_mpi(options, store);
  if (name == "nccl") return make_nccl();
  throw ValueError("Group::join: the engine is \"{}\", expected auto, local, gloo, mpi or nccl",
                   name);
}

}  // namespace plait::dist
