// Groups and calls among ranks. The package around them is python/plait/inside/distributed.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/vector.h>

#include "plait/comm/collectives.h"
#include "plait/comm/group.h"
#include "plait/comm/launched.h"
#include "plait/comm/mesh_of_group.h"
#include "plait/comm/messages.h"

#include "python/bindings/comm/durations.h"

namespace plait::python {
namespace comm {
namespace {

using namespace dist;
using nb::arg;

// ---- Groups and works.

// "" is none: the engine chooses.
std::optional<Device> given_device(const std::string& name) {
  return name.empty() ? std::nullopt : std::optional(Device(name));
}

std::shared_ptr<Group> join(std::shared_ptr<Store> store, int rank, int size, std::string engine,
                            std::string name, double seconds, const std::string& device) {
  return computed([&] {
    return Group::join({.store = std::move(store),
                        .rank = rank,
                        .size = size,
                        .engine = std::move(engine),
                        .name = std::move(name),
                        .timeout = duration_of(seconds),
                        .device = given_device(device)});
  });
}

void bind_groups(nb::module_& m) {
  nb::class_<Group>(m, "Group")
      .def("rank", &Group::rank)
      .def("size", &Group::size)
      .def("name", &Group::name)
      .def("engine", [](const Group& group) { return std::string(group.engine()); })
      .def("device", [](const Group& group) { return text_of(group.device()); })
      .def("timeout", [](const Group& group) { return seconds_of(group.timeout()); })
      .def("store", &Group::store)
      .def("leave", [](Group& group) { computed([&] { group.leave(); }); })
      .def("give_up", [](Group& group, const std::string& reason) { group.give_up(reason); })
      .def("subgroup", [](Group& group, const std::vector<int>& ranks, double seconds,
                          std::string engine, bool by_members, const std::string& device) {
        return computed([&] {
          return group.subgroup(ranks, {.engine = std::move(engine),
                                        .timeout = given_duration(seconds),
                                        .by_members = by_members,
                                        .device = given_device(device)});
        });
      });
  m.def("join", join);
  // (name, size, communicator) of each axis.
  m.def("mesh_of",
        [](std::shared_ptr<Group> group, const std::vector<std::pair<std::string, int64_t>>& axes) {
          const Mesh mesh = computed([&] { return mesh_of(std::move(group), axes); });
          nb::list made;
          for (const MeshAxis& axis : mesh.axes) {
            made.append(nb::make_tuple(axis.name, axis.size, nb::cast(axis.ranks)));
          }
          return made;
        });
  m.def("launch_variable", [](const std::string& name) { return launch_variable(name); });
  m.def("place_of_job", [] {
    const std::optional<Place> place = place_of_job();
    return place ? std::optional(std::pair(place->host, place->port)) : std::nullopt;
  });
  m.def("engines", engine_names);
  m.def("recent_calls", recent_calls);
  nb::class_<Work>(m, "Work")
      .def("wait",
           [](Work& work, double seconds) {
             const auto timeout = given_duration(seconds);
             computed([&] { timeout ? work.wait_for(*timeout) : work.wait(); });
           })
      .def("is_completed", &Work::is_completed)
      .def("is_success", &Work::is_success)
      .def("result", [](Work& work) { return computed([&] { return work.result(); }); })
      .def("source_rank", [](Work& work) { return computed([&] { return work.source_rank(); }); });
}

// ---- Calls: a tensor, or with is_async a Work.

// The name of a reduction, and what the operand is multiplied by before.
using Reduction = std::pair<std::string, double>;

ReduceOp op_of(const Reduction& reduction) {
  const std::string& name = reduction.first;
  for (int i = 0; i < kReduceOpCount; ++i) {
    if (name_of(static_cast<ReduceOp>(i)) == name) return static_cast<ReduceOp>(i);
  }
  throw ValueError("\"{}\" is not a reduction", name);
}

using Counts = std::vector<int64_t>;

template <class Run, class Start>
nb::object called(bool is_async, const Run& run, const Start& start) {
  if (is_async) return nb::cast(computed(start));
  return nb::cast(computed(run));
}

CallOptions options_of(double seconds, const Reduction& reduction = {{}, 1}) {
  return {.timeout = given_duration(seconds), .scale = reduction.second};
}

void bind_calls(nb::module_& m) {
  m.def("barrier", [](Group& group, double seconds, bool is_async) -> nb::object {
    const CallOptions options = options_of(seconds);
    if (is_async) return nb::cast(computed([&] { return async::barrier(group, options); }));
    computed([&] { barrier(group, options); });
    return nb::none();
  });
  m.def("broadcast", [](const Tensor& x, int root, Group& group, double seconds, bool is_async) {
    const CallOptions options = options_of(seconds);
    return called(
        is_async, [&] { return broadcast(x, root, group, options); },
        [&] { return async::broadcast(x, root, group, options); });
  });
  m.def("all_gather", [](const Tensor& x, Group& group, double seconds, bool is_async) {
    const CallOptions options = options_of(seconds);
    return called(
        is_async, [&] { return all_gather(x, group, options); },
        [&] { return async::all_gather(x, group, options); });
  });
}

void bind_calls_of_a_root(nb::module_& m) {
  m.def("gather", [](const Tensor& x, int root, Group& group, double seconds, bool is_async) {
    const CallOptions options = options_of(seconds);
    return called(
        is_async, [&] { return gather(x, root, group, options); },
        [&] { return async::gather(x, root, group, options); });
  });
  m.def(
      "scatter",
      [](std::optional<Tensor> rows, const Tensor& like, int root, Group& group, double seconds,
         bool is_async) {
        const CallOptions options = options_of(seconds);
        const Tensor given = rows.value_or(Tensor());
        return called(
            is_async, [&] { return scatter(given, like, root, group, options); },
            [&] { return async::scatter(given, like, root, group, options); });
      },
      arg("rows").none(), arg("like"), arg("root"), arg("group"), arg("seconds"), arg("is_async"));
}

void bind_exchanges(nb::module_& m) {
  m.def("all_to_all", [](const Tensor& x, Group& group, double seconds, bool is_async) {
    const CallOptions options = options_of(seconds);
    return called(
        is_async, [&] { return all_to_all(x, group, options); },
        [&] { return async::all_to_all(x, group, options); });
  });
  m.def("all_gather_parts",
        [](const Tensor& x, const Counts& counts, Group& group, double seconds, bool is_async) {
          const CallOptions options = options_of(seconds);
          return called(
              is_async, [&] { return all_gather_parts(x, counts, group, options); },
              [&] { return async::all_gather_parts(x, counts, group, options); });
        });
  m.def("all_to_all_parts", [](const Tensor& x, const Counts& sent, const Counts& received,
                               Group& group, double seconds, bool is_async) {
    const CallOptions options = options_of(seconds);
    return called(
        is_async, [&] { return all_to_all_parts(x, sent, received, group, options); },
        [&] { return async::all_to_all_parts(x, sent, received, group, options); });
  });
}

void bind_reductions(nb::module_& m) {
  m.def("all_reduce",
        [](const Tensor& x, const Reduction& op, Group& group, double seconds, bool is_async) {
          const CallOptions options = options_of(seconds, op);
          return called(
              is_async, [&] { return all_reduce(x, op_of(op), group, options); },
              [&] { return async::all_reduce(x, op_of(op), group, options); });
        });
  m.def("reduce", [](const Tensor& x, int root, const Reduction& op, Group& group, double seconds,
                     bool is_async) {
    const CallOptions options = options_of(seconds, op);
    return called(
        is_async, [&] { return reduce(x, root, op_of(op), group, options); },
        [&] { return async::reduce(x, root, op_of(op), group, options); });
  });
  m.def("reduce_scatter",
        [](const Tensor& x, const Reduction& op, Group& group, double seconds, bool is_async) {
          const CallOptions options = options_of(seconds, op);
          return called(
              is_async, [&] { return reduce_scatter(x, op_of(op), group, options); },
              [&] { return async::reduce_scatter(x, op_of(op), group, options); });
        });
  m.def("reduce_scatter_parts", [](const Tensor& x, const Counts& counts, const Reduction& op,
                                   Group& group, double seconds, bool is_async) {
    const CallOptions options = options_of(seconds, op);
    return called(
        is_async, [&] { return reduce_scatter_parts(x, counts, op_of(op), group, options); },
        [&] { return async::reduce_scatter_parts(x, counts, op_of(op), group, options); });
  });
}

// ---- Messages.

void bind_messages(nb::module_& m) {
  m.def("send",
        [](const Tensor& x, int rank, Group& group, int tag, double seconds,
           bool is_async) -> nb::object {
          const MessageOptions options{.tag = tag, .timeout = given_duration(seconds)};
          if (is_async)
            return nb::cast(computed([&] { return async::send(x, rank, group, options); }));
          computed([&] { send(x, rank, group, options); });
          return nb::none();
        });
  m.def("recv",
        [](const Tensor& x, int rank, Group& group, int tag, double seconds,
           bool is_async) -> nb::object {
          const MessageOptions options{.tag = tag, .timeout = given_duration(seconds)};
          const std::optional<int> from = rank < 0 ? std::nullopt : std::optional(rank);  // -1: any
          if (is_async)
            return nb::cast(computed([&] { return async::recv(x, from, group, options); }));
          const Received received = computed([&] { return recv(x, from, group, options); });
          return nb::make_tuple(received.tensor, received.source);
        });
}

}  // namespace
}  // namespace comm

void bind_comm(nb::module_& core) {
  nb::module_ m = core.def_submodule("_comm", "Stores, groups and calls among ranks.");
  comm::bind_stores(m);
  comm::bind_groups(m);
  comm::bind_calls(m);
  comm::bind_calls_of_a_root(m);
  comm::bind_exchanges(m);
  comm::bind_reductions(m);
  comm::bind_messages(m);
}

}  // namespace plait::python
