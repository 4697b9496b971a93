#include "plait/transform/shard_map.h"

#include <algorithm>

#include <fmt/ranges.h>

#include "plait/core/error.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/rearrange.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/collectives/collective.h"
#include "plait/ops/indexing/take.h"
#include "plait/ops/inside/along.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/named_axes.h"
#include "plait/transform/derivatives/vjp.h"
#include "plait/transform/inside/forms/staged.h"
#include "plait/transform/inside/leaf_options.h"
#include "plait/transform/vmap.h"

namespace plait {

const MeshAxis* Mesh::find(std::string_view name) const {
  const auto axis = std::ranges::find(axes, name, &MeshAxis::name);
  return axis == axes.end() ? nullptr : &*axis;
}

namespace shard_maps {
namespace {

std::string text_of(const PartitionSpec& spec) {
  std::vector<std::string> dimensions;
  for (const auto& axes : spec) {
    dimensions.push_back(axes.empty() ? "-" : fmt::format("{}", fmt::join(axes, "·")));
  }
  return fmt::format("({})", fmt::join(dimensions, ", "));
}

bool names_axis(const PartitionSpec& spec, const std::string& axis) {
  return std::ranges::any_of(
      spec, [&](const auto& axes) { return std::ranges::find(axes, axis) != axes.end(); });
}

void check_mesh(const Mesh& mesh) {
  for (size_t i = 0; i < mesh.axes.size(); ++i) {
    const MeshAxis& axis = mesh.axes[i];
    if (mesh.find(axis.name) != &axis) {
      throw ValueError("shard_map: the mesh has two axes `{}`", axis.name)
          .at(Location::of_caller());
    }
    const int64_t size = axis.ranks ? axis.ranks->size() : axis.size;
    if (axis.size < 1 || size != axis.size) {
      throw ValueError("shard_map: axis `{}` has a size of {}, expected {}", axis.name, axis.size,
                       axis.ranks ? fmt::format("{}, the number of its ranks", size) : "1 or more")
          .at(Location::of_caller());
    }
  }
}

void check_spec(std::string_view what, size_t number, const PartitionSpec& spec, const Mesh& mesh,
                size_t rank) {
  if (spec.size() > rank) {
    throw ValueError("shard_map: {} {} has {} dimensions, but its spec {} has {}", what, number,
                     rank, text_of(spec), spec.size())
        .at(Location::of_caller());
  }
  std::vector<std::string> seen;
  for (const auto& axes : spec) {
    for (const std::string& axis : axes) {
      if (mesh.find(axis) == nullptr) {
        std::vector<std::string> names;
        for (const MeshAxis& each : mesh.axes) names.push_back(each.name);
        throw KeyError("shard_map: the spec {} of {} {} names axis `{}`, but the mesh has {}",
                       text_of(spec), what, number, axis, fmt::join(names, ", "))
            .at(Location::of_caller());
      }
      if (std::ranges::find(seen, axis) != seen.end()) {
        throw ValueError("shard_map: the spec {} of {} {} names axis `{}` twice", text_of(spec),
                         what, number, axis)
            .at(Location::of_caller());
      }
      seen.push_back(axis);
    }
  }
}

// ---- Lanes: one vmap within the other, the first axis outermost.

using Axes = std::vector<MeshAxis>;
using Specs = std::vector<PartitionSpec>;

// Where an axis is in a spec: the dimension, and the number of parts that the axes before it, which
// are among these, make of that dimension.
struct PlaceOfAxis {
  int64_t dimension = -1;  // if it is in none
  int64_t before = 1;
};

PlaceOfAxis place_of(const PartitionSpec& spec, const std::string& axis,
                     std::span<const MeshAxis> among) {
  for (size_t d = 0; d < spec.size(); ++d) {
    int64_t before = 1;
    for (const std::string& each : spec[d]) {
      if (each == axis) return {static_cast<int64_t>(d), before};
      const auto other = std::ranges::find(among, each, &MeshAxis::name);
      if (other != among.end()) before *= other->size;
    }
  }
  return {};
}

Shape with_dims(const Shape& shape, int64_t first, int64_t count, std::initializer_list<Dim> by) {
  std::vector<Dim> dims(shape.dims().begin(), shape.dims().end());
  dims.erase(dims.begin() + first, dims.begin() + first + count);
  dims.insert(dims.begin() + first, by);
  return Shape(dims);
}

// The parts along the axis, as a new first dimension.
Tensor divided(size_t number, const Tensor& x, const PlaceOfAxis& place, const MeshAxis& axis) {
  const Dim whole = x.shape(place.dimension), parts = place.before * axis.size;
  if (!sizes_hold({mod(whole, parts), SizeFact::equal, 0})) {
    throw ShapeError("shard_map: dimension {} of argument {}, {}, must be divisible by {}{}",
                     place.dimension, number, x.type().text(), parts.text(),
                     place.before == 1 ? fmt::format(", the size of axis `{}`", axis.name)
                                       : std::string(", the sizes of its axes"))
        .at(Location::of_caller());
  }
  const Tensor split = reshape(x, with_dims(x.shape(), place.dimension, 1,
                                            {place.before, axis.size, floor_div(whole, parts)}));
  const Tensor first = moveaxis(split, place.dimension + 1, 0);
  return reshape(first, with_dims(first.shape(), place.dimension + 1, 2,
                                  {place.before * floor_div(whole, parts)}));
}

// The inverse of `divided`.
Tensor joined(const Tensor& x, const PlaceOfAxis& place, const MeshAxis& axis) {
  const Dim rest = floor_div(x.shape(place.dimension + 1), place.before);
  const Tensor split =
      reshape(x, with_dims(x.shape(), place.dimension + 1, 1, {place.before, rest}));
  const Tensor back = moveaxis(split, 0, place.dimension + 1);
  return reshape(back,
                 with_dims(back.shape(), place.dimension, 3, {place.before * axis.size * rest}));
}

std::vector<Tensor> run_lanes(const TensorFunction& function, std::span<const Tensor> arguments,
                              std::span<const MeshAxis> axes, std::span<const PartitionSpec> in,
                              const OutSpecs& out, bool check) {
  if (axes.empty()) return function(arguments);
  const MeshAxis& axis = axes.front();
  const auto others = axes.subspan(1);
  std::vector<Tensor> given(arguments.begin(), arguments.end());
  std::vector<BatchAxis> batched(given.size());
  for (size_t i = 0; i < given.size(); ++i) {
    const PlaceOfAxis place = place_of(in[i], axis.name, others);
    if (place.dimension < 0) continue;
    given[i] = divided(i, given[i], place, axis);
    batched[i] = 0;
  }
  const auto within = [&](std::span<const Tensor> parts) {
    return run_lanes(function, parts, others, in, out, check);
  };
  Specs specs;
  const auto out_axes = [&](size_t count) {
    specs = out(count);
    std::vector<BatchAxis> result;
    for (size_t i = 0; i < count; ++i) {
      const bool is_of_each = names_axis(specs[i], axis.name) || !check;
      result.push_back(is_of_each ? BatchAxis(0) : none);
    }
    return result;
  };
  std::vector<Tensor> results =
      vmaps::run(within, given, batched, out_axes, Dim(axis.size), axis.name);
  for (size_t i = 0; i < results.size(); ++i) {
    const PlaceOfAxis place = place_of(specs[i], axis.name, others);
    if (place.dimension >= 0) {
      results[i] = joined(results[i], place, axis);
    } else if (!check) {
      results[i] = take(results[i], scalar_tensor(0, DType::i64), 0);
    }
  }
  return results;
}

// ---- Ranks: the function is recorded for one place, and evaluated by each rank.

// Its first operands are the places of this rank along the axes.
struct Region {
  StagedFunction staged;
  std::vector<MeshAxis> axes;
};
using RegionPtr = std::shared_ptr<const Region>;

// The axes are open as long as the object exists.
class OpenAxes {
 public:
  explicit OpenAxes(std::span<const MeshAxis> axes) {
    for (const MeshAxis& axis : axes) {
      scopes_.push_back(std::make_unique<NamedAxisScope>(axis.name, Dim(axis.size)));
    }
  }
  ~OpenAxes() {
    while (!scopes_.empty()) scopes_.pop_back();
  }
  OpenAxes(const OpenAxes&) = delete;
  OpenAxes& operator=(const OpenAxes&) = delete;

  void set_places(std::span<const Tensor> places) {
    for (size_t i = 0; i < scopes_.size(); ++i) scopes_[i]->set_index(places[i]);
  }

 private:
  std::vector<std::unique_ptr<NamedAxisScope>> scopes_;
};

// Appends to the operands what the function has captured.
RegionPtr record(std::span<const MeshAxis> axes, std::span<const ir::Type> types,
                 std::vector<Tensor>& operands, const TensorFunction& function) {
  register_collective_ops();
  OpenAxes open(axes);
  const auto at_place = [&](std::span<const Tensor> given) {
    open.set_places(given.first(axes.size()));
    return function(given.subspan(axes.size()));
  };
  StagedFunction staged = stage("shard_mapped", types, at_place, {.beside = operands});
  ir::refuse_divergent_collectives(staged.program);
  operands.insert(operands.end(), staged.captures.begin(), staged.captures.end());
  staged.captures.clear();
  return std::make_shared<const Region>(
      Region{std::move(staged), std::vector<MeshAxis>(axes.begin(), axes.end())});
}

std::vector<Tensor> call(const RegionPtr& region, std::span<const Tensor> operands);

// A region with the cotangents of some of its results.
struct BackwardRegion {
  RegionPtr region;
  size_t operands;             // how many the region has, with the places along its axes
  std::vector<bool> is_given;  // which results have a cotangent
  std::vector<size_t> wanted;  // operands that have one

  // `given`: the operands but for the places, then the cotangents.
  std::vector<Tensor> operator()(std::span<const Tensor> given) const {
    std::vector<Tensor> at;
    for (const MeshAxis& axis : region->axes) at.push_back(axis_labelled(axis.name).index);
    const size_t others = operands - at.size();
    at.insert(at.end(), given.begin(), given.begin() + static_cast<std::ptrdiff_t>(others));
    Pullback pullback;
    for (Tensor& each : at) each = pullback.begin(each);
    std::vector<Tensor> results = region->staged(at);
    for (Tensor& each : results) each = pullback.finish(each);
    pullback.close();
    std::vector<Tensor> cotangents(results.size());
    size_t next = others;
    for (size_t i = 0; i < cotangents.size(); ++i) {
      if (is_given[i]) cotangents[i] = given[next++];
    }
    const std::vector<Tensor> found = pullback(cotangents);
    std::vector<Tensor> kept;
    for (const size_t i : wanted) kept.push_back(found[i]);
    return kept;
  }
};

// The cotangents of the operands, empty for those without.
std::vector<Tensor> call_backward(const RegionPtr& region, std::span<const Tensor> operands,
                                  std::span<const Tensor> cotangents) {
  const ir::Function& function = *region->staged.function;
  BackwardRegion backward{
      .region = region, .operands = operands.size(), .is_given = {}, .wanted = {}};
  std::vector<Tensor> given(operands.begin(), operands.end());
  std::vector<ir::Type> types;
  for (size_t i = 0; i < operands.size(); ++i) {
    types.push_back(function.type_of(i));
    if (i >= region->axes.size() && is_inexact(types[i].dtype())) backward.wanted.push_back(i);
  }
  for (size_t i = 0; i < cotangents.size(); ++i) {
    backward.is_given.push_back(static_cast<bool>(cotangents[i]));
    if (!cotangents[i]) continue;
    given.push_back(cotangents[i]);
    types.push_back(function.type_of(function.results()[i]));
  }
  std::vector<Tensor> all(operands.size());
  if (backward.wanted.empty()) return all;
  const RegionPtr of_cotangents = record(region->axes, types, given, backward);
  const std::vector<Tensor> found = call(of_cotangents, given);
  for (size_t i = 0; i < found.size(); ++i) all[backward.wanted[i]] = found[i];
  return all;
}

std::vector<Tensor> call(const RegionPtr& region, std::span<const Tensor> operands) {
  if (customs::is_followed(operands)) {
    const auto compute = [region](std::span<const Tensor> at) { return call(region, at); };
    const auto forward = [compute](std::span<const Tensor> at) {
      return std::pair(compute(at), customs::Tensors(at.begin(), at.end()));
    };
    const auto backward = [region](std::span<const Tensor> at, std::span<const Tensor> cotangents) {
      return call_backward(region, at, cotangents);
    };
    return customs::follow_vjp(operands, compute, forward, backward);
  }
  std::vector<AxisRanks> ranks;
  for (const MeshAxis& axis : region->axes) ranks.push_back({axis.name, axis.ranks});
  const CommunicatorScope scope(std::move(ranks));
  return evaluate(region->staged.program, operands);
}

void expect_outermost() {
  if (Trace::current() != nullptr) {
    throw TypeError("shard_map: its mesh has ranks, and a program is being recorded")
        .at(Location::of_caller())
        .hint("call it outside of jit, vmap, scan and the like; they may be used within");
  }
  if (has_open_axes()) {
    throw TypeError("shard_map: its mesh has ranks, and it is called within named axes")
        .at(Location::of_caller());
  }
}

// Results that their specs declare the same along an axis of ranks do not vary along it.
void check_results(const Region& region, std::span<const PartitionSpec> specs) {
  const ir::Function& function = *region.staged.function;
  for (size_t i = 0; i < specs.size(); ++i) {
    const ir::Type& type = function.type_of(function.results()[i]);
    for (const MeshAxis& axis : region.axes) {
      if (!type.varying().contains(axis.name) || names_axis(specs[i], axis.name)) continue;
      throw ValueError(
          "shard_map: result {}, {}, differs along `{}`, but its spec {} says that it "
          "is the same",
          i, type.text(), axis.name, text_of(specs[i]))
          .at(Location::of_caller())
          .hint(fmt::format("name `{}` in its spec, or combine the values: all_reduce_sum(x, "
                            "\"{}\")",
                            axis.name, axis.name));
    }
  }
}

std::vector<Tensor> run_ranks(const TensorFunction& function, std::span<const Tensor> arguments,
                              std::span<const MeshAxis> axes, std::span<const PartitionSpec> in,
                              const OutSpecs& out, bool check) {
  expect_outermost();
  std::vector<Tensor> operands;
  std::vector<ir::Type> types;
  for (const MeshAxis& axis : axes) {
    operands.push_back(scalar_tensor(axis.ranks->place(), DType::i64));
    types.push_back(ir::Type::scalar(DType::i64).with_varying({axis.name}));
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    ir::AxisSet varying;
    for (const MeshAxis& axis : axes) {
      if (names_axis(in[i], axis.name)) varying.insert(axis.name);
    }
    operands.push_back(arguments[i]);
    types.push_back(arguments[i].type().with_varying(varying));
  }
  const RegionPtr region = record(axes, types, operands, function);
  if (check) check_results(*region, out(region->staged.function->results().size()));
  return call(region, operands);
}

}  // namespace

std::vector<PartitionSpec> specs_of_leaves(std::string_view what,
                                           const std::vector<PartitionSpec>& given,
                                           const std::vector<size_t>& leaves) {
  return options_of_leaves("shard_map", "specs", what, given, leaves);
}

std::vector<Tensor> run(const TensorFunction& function, std::span<const Tensor> arguments,
                        const Mesh& mesh, std::span<const PartitionSpec> in, const OutSpecs& out,
                        bool check) {
  check_mesh(mesh);
  Axes lanes, ranks;
  for (const MeshAxis& axis : mesh.axes) (axis.ranks ? ranks : lanes).push_back(axis);
  for (size_t i = 0; i < arguments.size(); ++i) {
    check_spec("argument", i, in[i], mesh, arguments[i].rank());
  }
  Specs specs;
  const auto checked_out = [&](size_t count) {
    if (specs.size() != count) specs = out(count);
    return specs;
  };
  const auto within = [&](std::span<const Tensor> given) {
    const auto inner = [&](std::span<const Tensor> parts) {
      std::vector<Tensor> results = function(parts);
      const Specs all = checked_out(results.size());
      for (size_t i = 0; i < results.size(); ++i) {
        check_spec("result", i, all[i], mesh, results[i].rank());
      }
      return results;
    };
    return run_lanes(inner, given, lanes, in, checked_out, check);
  };
  return ranks.empty() ? within(arguments)
                       : run_ranks(within, arguments, ranks, in, checked_out, check);
}

}  // namespace shard_maps
}  // namespace plait
