// One function on all places of a mesh, each with its own part of the arguments:
//
//   const Mesh mesh{{{"data", 4}}};                                  // four lanes of this process
//   const auto step = shard_map([](Tensor w, Tensor x) {
//     return all_reduce_mean(x * w, "data");
//   }, {.mesh = mesh, .in = {{}, {{"data"}}}, .out = {{}}});
//   const Tensor y = step(w, x);                                     // x has 4 · n rows
//
// An axis is of lanes, which one process computes together as vmap does, or of ranks: processes or
// threads, each of which calls the same function (comm/mesh_of_group.h). Arguments and results are
// what this process holds: along lanes the whole, along ranks the own part. The collectives of
// ops/collectives/collective.h combine the values of all places.
//
// Derivatives may be taken inside and around. Along ranks they are of the sum of what all ranks
// differentiate; the gradient by an argument that is the same for all is the same on all ranks.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/core/transformed.h"
#include "plait/core/trees/tree.h"
#include "plait/tensor/communicator.h"
#include "plait/tensor/tensor.h"
#include "plait/transform/derivatives/custom.h"

namespace plait {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  std::shared_ptr<Communicator> ranks = {};  // without them, lanes
};

// In the order of the axes; the places of the last one are neighbours.
struct Mesh {
  std::vector<MeshAxis> axes;

  const MeshAxis* find(std::string_view name) const;
};

// For each dimension the axes that divide it, the first one into the largest parts. A value is the
// same along all other axes. Dimensions at the end may be left out.
using PartitionSpec = std::vector<std::vector<std::string>>;

struct ShardMapOptions {
  Mesh mesh;
  // One for each argument, or one for each tensor in them; or one for all. The same for results.
  std::vector<PartitionSpec> in = {};
  std::vector<PartitionSpec> out = {};
  // ValueError if a result differs along an axis that its spec does not name. Else it is that of
  // the first lane, or of the own rank.
  bool check = true;
};

namespace shard_maps {

// `out` returns the spec of each result; it is called after the function was recorded.
using OutSpecs = std::function<std::vector<PartitionSpec>(size_t results)>;
std::vector<Tensor> run(const TensorFunction& function, std::span<const Tensor> arguments,
                        const Mesh& mesh, std::span<const PartitionSpec> in, const OutSpecs& out,
                        bool check = true);
// One spec for each tensor.
std::vector<PartitionSpec> specs_of_leaves(std::string_view what,
                                           const std::vector<PartitionSpec>& given,
                                           const std::vector<size_t>& leaves_of_arguments);

}  // namespace shard_maps

template <class F>
auto shard_map(F f, ShardMapOptions options) {
  return transformed(std::move(f), [options = std::move(options)]<class... Arguments>(
                                       const F& function, const Arguments&... arguments) {
    const std::tuple all(arguments...);
    using Result = decltype(function(arguments...));
    std::optional<Result> structure;
    const auto on_leaves = customs::on_leaves(function, all, structure);
    const auto out = [&](size_t count) {
      return shard_maps::specs_of_leaves("out", options.out, std::vector<size_t>(count, 1));
    };
    const std::vector<Tensor> results =
        shard_maps::run(on_leaves, tensors_of(all), options.mesh,
                        shard_maps::specs_of_leaves("in", options.in, {leaf_count(arguments)...}),
                        out, options.check);
    return with_tensors(std::move(*structure), results);
  });
}

}  // namespace plait
