// shard_map on ranks, each with its own part, compared bit by bit with the same program on lanes.
#include "plait/transform/shard_map.h"

#include <cstring>

#include "plait/comm/mesh_of_group.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/collectives/collective.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/products/linear.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/transform/control/control.h"
#include "plait/transform/derivatives/grad.h"
#include "plait/transform/vmap.h"

#include "tests/comm/ranks.h"
#include "tests/support/errors.h"

namespace plait::dist {
namespace {

using Axes = std::vector<std::pair<std::string, int64_t>>;

struct Case {
  std::string name;
  TensorFunction function;
  std::vector<PartitionSpec> in, out;
  std::vector<Tensor> arguments;  // the whole
};

Mesh lanes_of(const Axes& axes) {
  Mesh mesh;
  for (const auto& [name, size] : axes) mesh.axes.push_back({name, size});
  return mesh;
}

// The part at a place of the mesh.
Tensor part_of(Tensor x, const PartitionSpec& spec, const Mesh& mesh) {
  for (size_t d = 0; d < spec.size(); ++d) {
    for (const std::string& name : spec[d]) {
      const MeshAxis& axis = *mesh.find(name);
      const int64_t size = x.shape(static_cast<int64_t>(d)).number() / axis.size;
      x = slice_axis(x, static_cast<int64_t>(d), axis.ranks->place() * size, size);
    }
  }
  return x;
}

std::vector<Tensor> run(const Case& of, std::span<const Tensor> arguments, const Mesh& mesh) {
  return shard_maps::run(of.function, arguments, mesh, of.in, [&](size_t) { return of.out; });
}

void expect_same_bits(const Tensor& found, const Tensor& expected, const std::string& what) {
  const Array a = found.array().contiguous(), b = expected.array().contiguous();
  ASSERT_EQ(found.type().text(), expected.type().text()) << what;
  EXPECT_EQ(
      std::memcmp(a.data(), b.data(), static_cast<size_t>(a.element_count() * a.element_size())), 0)
      << what << ": " << found.text() << " instead of " << expected.text();
}

Tensor numbers(const Shape& shape, DType dtype = DType::f32) {
  const Tensor flat = iota(shape.element_count());
  return reshape(astype(sin(astype(flat, DType::f64) * 0.7) * 3, dtype), shape);
}

// Each runs on `size` places of an axis "data".
std::vector<Case> cases_of(int64_t size) {
  const PartitionSpec rows{{"data"}}, whole{}, columns{{}, {"data"}};
  const Tensor x = numbers({2 * size, 3 * size}), w = numbers({3 * size, 4});
  std::vector<Case> cases{
      {"sum",
       [](auto given) { return std::vector{all_reduce_sum(given[0], "data")}; },
       {rows},
       {whole},
       {x}},
      {"mean",
       [](auto given) { return std::vector{all_reduce_mean(given[0], "data")}; },
       {rows},
       {whole},
       {x}},
      {"greatest",
       [](auto given) { return std::vector{all_reduce_max(given[0], "data")}; },
       {columns},
       {whole},
       {x}},
      {"least",
       [](auto given) { return std::vector{all_reduce_min(given[0], "data")}; },
       {rows},
       {whole},
       {x}},
      {"product",
       [](auto given) { return std::vector{all_reduce_prod(given[0], "data")}; },
       {rows},
       {whole},
       {x}},
      {"and",
       [](auto given) { return std::vector{all_reduce_and(given[0] > 0, "data")}; },
       {rows},
       {whole},
       {x}},
      {"or",
       [](auto given) { return std::vector{all_reduce_or(given[0] > 2, "data")}; },
       {rows},
       {whole},
       {x}},
      {"gather",
       [](auto given) { return std::vector{all_gather(given[0], "data", 1)}; },
       {rows},
       {whole},
       {x}},
      {"tiled gather",
       [](auto given) { return std::vector{all_gather(given[0], "data", 0, true)}; },
       {rows},
       {whole},
       {x}},
      {"reduce_scatter",
       [](auto given) { return std::vector{reduce_scatter(given[0], "data", 1, true)}; },
       {rows},
       {columns},
       {x}},
      {"all_to_all",
       [](auto given) { return std::vector{all_to_all(given[0], "data", 1, 0, true)}; },
       {rows},
       {columns},
       {x}},
      {"shift",
       [](auto given) {
         return std::vector{axis_shift(given[0], "data", 1), axis_shift(given[0], "data", -2)};
       },
       {rows},
       {rows, rows},
       {x}},
      {"permute",
       [size](auto given) { return std::vector{axis_permute(given[0], "data", {{0, size - 1}})}; },
       {rows},
       {rows},
       {x}},
      {"broadcast",
       [size](auto given) { return std::vector{axis_broadcast(given[0], "data", size - 1)}; },
       {rows},
       {whole},
       {x}},
      {"index",
       [](auto given) {
         return std::vector{given[0] * axis_index("data"),
                            Tensor(all_reduce_sum(axis_index("data"), "data"))};
       },
       {rows},
       {rows, whole},
       {x}},
      {"without communication",
       [](auto given) { return std::vector{exp(given[0])}; },
       {columns},
       {columns},
       {x}},
      {"nothing divided",
       [](auto given) { return std::vector{given[0] * 2}; },
       {whole},
       {whole},
       {x}},
      {"product of matrices",
       [](auto given) { return std::vector{all_reduce_sum(matmul(given[0], given[1]), "data")}; },
       {columns, rows},
       {whole},
       {x, w}},
      {"gradients within",
       [](auto given) {
         const auto loss = [](const Tensor& w, const Tensor& x) {
           return all_reduce_mean(sum(tanh(matmul(x, w))), "data");
         };
         const Tensor gradient = grad(loss)(given[1], given[0]);
         return std::vector{gradient, given[1] - 0.1 * gradient};
       },
       {rows, whole},
       {whole, whole},
       {x, w}},
      {"second derivatives within",
       [](auto given) {
         const auto loss = [](const Tensor& x) { return sum(all_reduce_sum(x * x * x, "data")); };
         const auto slope = [&](const Tensor& x) { return sum(grad(loss)(x) * x); };
         return std::vector{grad(slope)(given[0])};
       },
       {rows},
       {rows},
       {x}},
      {"scan",
       [](auto given) {
         const auto step = [](const Tensor& carry, const Tensor& row) {
           const Tensor next = carry + all_reduce_sum(row, "data");
           return std::pair{next, next * axis_index("data")};
         };
         auto [last, all] = scan(step, zeros({given[0].shape(1)}), given[0]);
         return std::vector{last, all};
       },
       {rows},
       {whole, rows},
       {x}},
      {"samples within",
       [](auto given) {
         return std::vector{
             vmap([](const Tensor& row) { return all_reduce_sum(row, "data"); })(given[0])};
       },
       {rows},
       {whole},
       {x}},
  };
  for (const DType dtype : {DType::f64, DType::bf16, DType::f16}) {
    cases.push_back(
        {"sum of another dtype", cases[0].function, {rows}, {whole}, {astype(x, dtype)}});
  }
  return cases;
}

void expect_lanes_and_ranks_agree(int ranks, const Axes& axes, const std::vector<Case>& cases) {
  std::vector<std::vector<Tensor>> expected;
  for (const Case& each : cases) expected.push_back(run(each, each.arguments, lanes_of(axes)));
  run_on_threads(ranks, [&](Group& group) {
    const Mesh mesh = mesh_of({std::shared_ptr<void>(), &group}, axes);
    for (size_t c = 0; c < cases.size(); ++c) {
      std::vector<Tensor> given;
      for (size_t i = 0; i < cases[c].arguments.size(); ++i) {
        given.push_back(part_of(cases[c].arguments[i], cases[c].in[i], mesh));
      }
      const std::vector<Tensor> found = run(cases[c], given, mesh);
      ASSERT_EQ(found.size(), expected[c].size());
      for (size_t i = 0; i < found.size(); ++i) {
        expect_same_bits(found[i], part_of(expected[c][i], cases[c].out[i], mesh),
                         cases[c].name + " on " + std::to_string(ranks) + " ranks");
      }
    }
  });
}

TEST(ShardMap, LanesAndRanksGiveTheSameBits) {
  for (const int size : {1, 2, 3, 4}) {
    expect_lanes_and_ranks_agree(size, {{"data", size}}, cases_of(size));
  }
}

TEST(ShardMap, OfTwoAxes) {
  const PartitionSpec both{{"data"}, {"model"}}, one{{"data", "model"}}, other{{"model", "data"}};
  const Tensor x = numbers({8, 12});
  const std::vector<Case> cases{
      {"sums along one",
       [](auto given) {
         return std::vector{all_reduce_sum(given[0], "model"), all_reduce_sum(given[0], "data")};
       },
       {both},
       {{{"data"}}, {{}, {"model"}}},
       {x}},
      {"sum along both",
       [](auto given) { return std::vector{all_reduce_sum(given[0], {"data", "model"})}; },
       {both},
       {{}},
       {x}},
      {"gathers of one dimension",
       [](auto given) { return std::vector{all_gather(given[0], {"data", "model"}, 0, true)}; },
       {one},
       {{}},
       {x}},
      {"the other order",
       [](auto given) {
         return std::vector{all_gather(given[0], {"model", "data"}, 0, true), given[0] + 1};
       },
       {other},
       {{}, other},
       {x}},
      {"gradient",
       [](auto given) {
         const auto loss = [](const Tensor& x) {
           return all_reduce_sum(sum(exp(all_reduce_sum(x, "model") * 0.1)), "data");
         };
         return std::vector{grad(loss)(given[0])};
       },
       {both},
       {both},
       {x}},
  };
  expect_lanes_and_ranks_agree(4, {{"data", 2}, {"model", 2}}, cases);
}

// Dividing and joining gives the whole, for each spec.
TEST(ShardMap, SpecsDivideAndJoin) {
  const Tensor x = numbers({12, 6});
  const auto same_as_given = [](auto given) {
    return std::vector<Tensor>(given.begin(), given.end());
  };
  for (const PartitionSpec& spec : std::vector<PartitionSpec>{{},
                                                              {{"a"}},
                                                              {{"a", "b"}},
                                                              {{"b", "a"}},
                                                              {{"a"}, {"b"}},
                                                              {{"b"}, {"a"}},
                                                              {{}, {"a", "b"}}}) {
    const Case of{"identity", same_as_given, {spec}, {spec}, {x}};
    expect_same_bits(run(of, of.arguments, lanes_of({{"a", 2}, {"b", 3}}))[0], x, "identity");
  }
}

TEST(ShardMap, DerivativesAround) {
  const Tensor x = numbers({8, 3}, DType::f64), w = numbers({3}, DType::f64);
  const auto loss_on = [](const Mesh& mesh) {
    return [mesh](const Tensor& w, const Tensor& x) {
      const auto loss = [](const Tensor& w, const Tensor& x) {
        return all_reduce_sum(sum(tanh(matmul(x, w))), "data");
      };
      return shard_map(loss, {.mesh = mesh, .in = {{}, {{"data"}}}, .out = {{}}})(w, x);
    };
  };
  const auto derivatives = [&](const Mesh& mesh, const Tensor& x) {
    const auto loss = loss_on(mesh);
    const auto slope = [&](const Tensor& w, const Tensor& x) { return sum(grad(loss)(w, x) * w); };
    const auto [value, tangent] = jvp(loss, std::tuple(w, x), std::tuple(w, x * 2));
    return std::vector{grad(loss)(w, x), grad(slope)(w, x), value, tangent, grad<1>(loss)(w, x)};
  };
  const std::vector<Tensor> expected = derivatives(lanes_of({{"data", 4}}), x);
  run_on_threads(4, [&](Group& group) {
    const Mesh mesh = mesh_of({std::shared_ptr<void>(), &group}, {{"data", 4}});
    const std::vector<Tensor> found = derivatives(mesh, part_of(x, {{"data"}}, mesh));
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_LT(max(absolute(found[i] - expected[i])).item<double>(), 1e-12) << i;
    }
    EXPECT_LT(max(absolute(found[4] - part_of(expected[4], {{"data"}}, mesh))).item<double>(),
              1e-12);
  });
}

TEST(ShardMap, Refuses) {
  const Tensor x = numbers({6, 4});
  const auto same_as_given = [](auto given) {
    return std::vector<Tensor>(given.begin(), given.end());
  };
  const auto with = [&](PartitionSpec in, PartitionSpec out, const Mesh& mesh) {
    return run({"", same_as_given, {std::move(in)}, {std::move(out)}, {}}, std::span(&x, 1), mesh);
  };
  const Mesh mesh = lanes_of({{"data", 4}});
  expect_contains(
      message_of<ShapeError>([&] { with({{"data"}}, {{"data"}}, mesh); }),
      {"dimension 0 of argument 0, f32[6, 4], must be divisible by 4, the size of axis `data`"});
  expect_contains(message_of<KeyError>([&] { with({{"model"}}, {}, mesh); }),
                  {"names axis `model`, but the mesh has data"});
  expect_contains(message_of<ValueError>([&] { with({{"data"}, {"data"}}, {}, mesh); }),
                  {"names axis `data` twice"});
  expect_contains(message_of<ValueError>([&] { with({{}, {}, {"data"}}, {}, mesh); }),
                  {"argument 0 has 2 dimensions, but its spec"});
  expect_contains(message_of<ValueError>([&] { with({{}, {"data"}}, {}, mesh); }),
                  {"differs from sample to sample"});
  run_on_threads(2, [&](Group& group) {
    const Mesh of_ranks = mesh_of({std::shared_ptr<void>(), &group}, {{"data", 2}});
    expect_contains(message_of<ValueError>([&] { with({{"data"}}, {}, of_ranks); }),
                    {"result 0, f32[6, 4]^{data}, differs along `data`, but its spec () says that "
                     "it is the same"});
    expect_contains(message_of<TypeError>(
                        [&] { vmap([&](const Tensor&) { return with({}, {}, of_ranks)[0]; })(x); }),
                    {"a program is being recorded"});
    expect_contains(
        message_of<ValueError>([&] { mesh_of({std::shared_ptr<void>(), &group}, {{"data", 3}}); }),
        {"3 places for a group of 2 ranks"});
  });
  expect_contains(message_of<KeyError>([] { all_reduce_sum(ones({2}), "data"); }),
                  {"unknown axis `data`"});
}

// A rank that runs another program is an error on all.
TEST(ShardMap, RanksThatDiffer) {
  run_on_threads(2, [&](Group& group) {
    const Mesh mesh = mesh_of({std::shared_ptr<void>(), &group}, {{"data", 2}});
    const auto differs = [&](auto given) {
      return std::vector{group.rank() == 0 ? all_reduce_sum(given[0], "data")
                                           : all_reduce_max(given[0], "data")};
    };
    const Tensor x = ones({2});
    EXPECT_THROW(run({"", differs, {{{"data"}}}, {{}}, {}}, std::span(&x, 1), mesh), DistError);
  });
}

}  // namespace
}  // namespace plait::dist
