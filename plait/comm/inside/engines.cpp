#include "plait/comm/inside/engines.h"

#include <string>
#include <string_view>
#include <utility>

#include "plait/comm/inside/hosts.h"
#include "plait/comm/inside/local/local_engine.h"
#include "plait/comm/inside/nccl/nccl_engine.h"
#include "plait/comm/inside/nccl/nccl_library.h"
#include "plait/comm/inside/wires/gloo_wire.h"
#include "plait/comm/inside/wires/mpi_wire.h"
#include "plait/comm/inside/wires/wire_engine.h"
#include "plait/comm/prefix_store.h"
#include "plait/core/error.h"
#include "plait/tensor/memory/device_memory.h"

namespace plait::dist {

std::string_view engine_for(std::string_view name, bool is_one_host) {
  if (name != "auto") return name;
  return is_one_host ? "local" : is_started_by_mpi() ? "mpi" : "gloo";
}

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

std::unique_ptr<Engine> make_for_host(std::string_view option, const GroupOptions& options,
                                      Store& store, bool is_one_host) {
  const std::string_view name = engine_for(option, is_one_host);
  if (name == "local") {
    return std::make_unique<LocalEngine>(store, options.rank, options.size, options.timeout);
  }
  if (name == "gloo") return make_gloo(options, store, is_one_host);
  if (name == "mpi") return make_mpi(options, store);
  return nullptr;
}

Device gpu_of(const GroupOptions& options, int place_on_host) {
  const int count = device_count(Device::Kind::cuda);
  if (count == 0) {
    throw DeviceError("the engine nccl: this machine has no GPU")
        .hint("auto chooses an engine for the CPU");
  }
  // A process that sees one GPU alone has that one.
  const Device own(Device::Kind::cuda, static_cast<uint8_t>(place_on_host % count));
  const Device device = options.device.value_or(own);
  if (device.is_cpu()) {
    throw ValueError("Group::join: the device is {}, but the engine nccl has tensors on GPUs",
                     text_of(device));
  }
  return device;
}

std::unique_ptr<Engine> make_nccl(const GroupOptions& options, Store& store, bool is_one_host,
                                  int place_on_host) {
  const Device device = gpu_of(options, place_on_host);
  NcclLibrary::get();  // says what is missing before other ranks wait for this one
  PrefixStore own(options.name + "/control", options.store);
  own.set_timeout(options.timeout);
  return std::make_unique<NcclEngine>(make_for_host("auto", options, own, is_one_host), store,
                                      options.rank, options.size, device, options.timeout);
}

}  // namespace

std::unique_ptr<Engine> make_engine(const GroupOptions& options, Store& store, bool is_one_host,
                                    int place_on_host) {
  const std::string_view name = options.engine;
  if (name == "nccl") return make_nccl(options, store, is_one_host, place_on_host);
  if (auto made = make_for_host(name, options, store, is_one_host)) return made;
  throw ValueError("Group::join: the engine is \"{}\", expected auto, local, gloo, mpi or nccl",
                   name);
}

}  // namespace plait::dist
