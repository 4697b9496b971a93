// Stores. The package around them is python/plait/inside/distributed.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "plait/comm/file_store.h"
#include "plait/comm/memory_store.h"
#include "plait/comm/prefix_store.h"
#include "plait/comm/tcp_store.h"

#include "python/bindings/comm/durations.h"

namespace plait::python {
namespace comm {
namespace {

using namespace dist;

std::string bytes_from(nb::handle given) {
  if (nb::isinstance<nb::bytes>(given)) {
    const auto bytes = nb::borrow<nb::bytes>(given);
    return {bytes.c_str(), bytes.size()};
  }
  return nb::cast<std::string>(given);
}

std::vector<std::string> all_bytes_from(const std::vector<nb::object>& given) {
  std::vector<std::string> all;
  for (const nb::object& each : given) all.push_back(bytes_from(each));
  return all;
}

nb::bytes bytes_of(const std::string& text) { return nb::bytes(text.data(), text.size()); }

using Names = std::vector<std::string>;

void bind_values(nb::class_<Store>& store) {
  store
      .def("set",
           [](Store& store, const std::string& key, nb::handle value) {
             computed([&, bytes = bytes_from(value)] { store.set(key, bytes); });
           })
      .def("get",
           [](Store& store, const std::string& key) {
             return bytes_of(computed([&] { return store.get(key); }));
           })
      .def("add", [](Store& store, const std::string& key,
                     int64_t amount) { return computed([&] { return store.add(key, amount); }); })
      .def("compare_set",
           [](Store& store, const std::string& key, nb::handle expected, nb::handle desired) {
             const std::string old = bytes_from(expected), wanted = bytes_from(desired);
             return bytes_of(computed([&] { return store.compare_set(key, old, wanted); }));
           })
      .def("append", [](Store& store, const std::string& key, nb::handle value) {
        computed([&, bytes = bytes_from(value)] { store.append(key, bytes); });
      });
}

void bind_keys(nb::class_<Store>& store) {
  store
      .def("delete_key",
           [](Store& store, const std::string& key) {
             return computed([&] { return store.delete_key(key); });
           })
      .def("check", [](Store& store,
                       const Names& keys) { return computed([&] { return store.check(keys); }); })
      .def("num_keys", [](Store& store) { return computed([&] { return store.num_keys(); }); })
      .def("wait",
           [](Store& store, const Names& keys, double seconds) {
             const Duration timeout = given_duration(seconds).value_or(store.timeout());
             computed([&] { store.wait_for(keys, timeout); });
           })
      .def("multi_get",
           [](Store& store, const Names& keys) {
             nb::list values;
             for (const auto& each : computed([&] { return store.multi_get(keys); })) {
               values.append(bytes_of(each));
             }
             return values;
           })
      .def("multi_set",
           [](Store& store, const Names& keys, const std::vector<nb::object>& values) {
             computed([&, all = all_bytes_from(values)] { store.multi_set(keys, all); });
           })
      .def("timeout", [](const Store& store) { return seconds_of(store.timeout()); })
      .def("set_timeout",
           [](Store& store, double seconds) { store.set_timeout(duration_of(seconds)); });
}

void bind_kinds_of_stores(nb::module_& m) {
  nb::class_<MemoryStore, Store>(m, "HashStore").def("__init__", [](MemoryStore* store) {
    new (store) MemoryStore();
  });
  nb::class_<FileStore, Store>(m, "FileStore")
      .def("__init__",
           [](FileStore* store, const std::string& path, int64_t world_size) {
             computed([&] { new (store) FileStore(path, world_size); });
           })
      .def_prop_ro("path", &FileStore::path);
  nb::class_<TcpStore, Store>(m, "TCPStore")
      .def("__init__",
           [](TcpStore* store, const std::string& host, int port, int64_t world_size,
              bool is_master, double seconds, bool wait_for_workers) {
             if (port < 0 || port > 65535) {
               throw ValueError("TCPStore: the port is {}, expected 0 to 65535", port);
             }
             const TcpStoreOptions options{
                 .host = host,
                 .port = static_cast<uint16_t>(port),
                 .is_master = is_master,
                 .world_size = world_size < 0 ? std::nullopt : std::optional(world_size),
                 .wait_for_workers = wait_for_workers,
                 .timeout = duration_of(seconds)};
             computed([&] { new (store) TcpStore(options); });
           })
      .def_prop_ro("host", &TcpStore::host)
      .def_prop_ro("port", &TcpStore::port);
  nb::class_<PrefixStore, Store>(m, "PrefixStore")
      .def(nb::init<std::string, std::shared_ptr<Store>>())
      .def_prop_ro("underlying_store", &PrefixStore::underlying_store);
}

}  // namespace

void bind_stores(nb::module_& m) {
  nb::class_<Store> store(m, "Store");
  bind_values(store);
  bind_keys(store);
  bind_kinds_of_stores(m);
}

}  // namespace comm
}  // namespace plait::python
