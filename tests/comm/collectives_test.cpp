// Every call on ranks that are threads or processes, compared with loops over all ranks' operands.
#include "plait/comm/collectives.h"

#include <cmath>
#include <limits>
#include <numeric>

#include "plait/comm/inside/sockets/socket.h"
#include "plait/comm/tcp_store.h"
#include "plait/core/inside/system/cpu_count.h"
#include "plait/core/numbers/element.h"
#include "plait/core/system/thread_team.h"
#include "plait/tensor/inside/tracing/trace.h"

#include "tests/comm/ranks.h"
#include "tests/support/errors.h"

namespace plait::dist {
namespace {

using Values = std::vector<double>;

// The operand of a rank: small integers, which every dtype holds, and whose sums too.
Values values_of(int rank, int64_t count) {
  Values values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>((static_cast<size_t>(rank) * 7 + i * 3) % 5);
  }
  return values;
}

Tensor tensor_of(const Values& values, DType dtype, Sizes sizes) {
  return placed(
      Tensor(Array::of(std::span<const double>(values), std::move(sizes)).converted(dtype)));
}

Tensor operand(int rank, int64_t count, DType dtype) {
  return tensor_of(values_of(rank, count), dtype, {count});
}

Values read(const Tensor& x) {
  const Array array = x.array().on_host().converted(DType::f64);
  const auto elements = array.elements<double>();
  return {elements.begin(), elements.end()};
}

Values concatenated(int size, int64_t count) {
  Values all;
  for (int rank = 0; rank < size; ++rank) {
    const Values part = values_of(rank, count);
    all.insert(all.end(), part.begin(), part.end());
  }
  return all;
}

double reduced(ReduceOp op, double a, double b) {
  switch (op) {
    case ReduceOp::product: return a * b;
    case ReduceOp::min: return std::min(a, b);
    case ReduceOp::max: return std::max(a, b);
    case ReduceOp::band: return static_cast<double>(static_cast<int>(a) & static_cast<int>(b));
    case ReduceOp::bor: return static_cast<double>(static_cast<int>(a) | static_cast<int>(b));
    case ReduceOp::bxor: return static_cast<double>(static_cast<int>(a) ^ static_cast<int>(b));
    case ReduceOp::sum:
    case ReduceOp::average: break;
  }
  return a + b;
}

Values reduced(ReduceOp op, int size, int64_t count) {
  Values result = values_of(0, count);
  for (int rank = 1; rank < size; ++rank) {
    const Values next = values_of(rank, count);
    for (size_t i = 0; i < next.size(); ++i) result[i] = reduced(op, result[i], next[i]);
  }
  return result;
}

Values part_of(const Values& all, int64_t begin, int64_t count) {
  return {all.begin() + begin, all.begin() + begin + count};
}

void check_calls(Group& group, int64_t count, DType dtype) {
  const int rank = group.rank(), size = group.size(), root = size - 1;
  const Tensor own = operand(rank, count, dtype);
  const Tensor rows = tensor_of(values_of(rank, count * size), dtype, {size, count});
  barrier(group);
  EXPECT_EQ(read(broadcast(own, root, group)), values_of(root, count));
  const Tensor all = all_gather(own, group);
  EXPECT_EQ(all.shape(), Shape({size, count}));
  EXPECT_EQ(all.dtype(), dtype);
  EXPECT_EQ(read(all), concatenated(size, count));
  const Tensor gathered = gather(own, root, group);
  EXPECT_EQ(gathered ? read(gathered) : Values(),
            rank == root ? concatenated(size, count) : Values());
  EXPECT_EQ(read(scatter(rank == 0 ? rows : Tensor(), own, 0, group)),
            part_of(values_of(0, count * size), rank * count, count));
  Values transposed;
  for (int from = 0; from < size; ++from) {
    const Values row = part_of(values_of(from, count * size), rank * count, count);
    transposed.insert(transposed.end(), row.begin(), row.end());
  }
  EXPECT_EQ(read(all_to_all(rows, group)), transposed);
}

void check_reductions(Group& group, int64_t count, DType dtype) {
  const int rank = group.rank(), size = group.size();
  const Tensor own = operand(rank, count, dtype);
  const Tensor rows = tensor_of(values_of(rank, count * size), dtype, {size, count});
  for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max}) {
    const Values expected = reduced(op, size, count);
    EXPECT_EQ(read(all_reduce(own, op, group)), expected) << name_of(op) << " " << count;
    const Tensor at_root = reduce(own, 0, op, group);
    EXPECT_EQ(read(at_root), rank == 0 ? expected : values_of(rank, count));
    EXPECT_EQ(read(reduce_scatter(rows, op, group)),
              part_of(reduced(op, size, count * size), rank * count, count));
  }
}

// Around the sizes of a line, of a short reduction, and of a slot.
const std::vector<int64_t> kCounts = {0, 1, 2, 7, 11, 12, 13, 1021, 8193, 131073, 400003};

constexpr int64_t kMostNumbers = 1'300'000;

void check_counts(Group& group) {
  for (const int64_t count : kCounts) {
    if (count * group.size() > kMostNumbers) continue;  // tests of many ranks take long
    check_calls(group, count, DType::f32);
    check_reductions(group, count, DType::f32);
  }
}

class Ranks : public testing::TestWithParam<int> {};

TEST_P(Ranks, AsThreads) { run_on_threads(GetParam(), check_counts); }
TEST_P(Ranks, AsProcesses) { const Processes processes(GetParam(), check_counts); }

INSTANTIATE_TEST_SUITE_P(Collectives, Ranks, testing::Values(1, 2, 3, 4, 8));

TEST(Collectives, MoveEveryDType) {
  run_on_threads(3, [](Group& group) {
    for (const DTypeInfo& info : kDTypes) {
      if (info.kind == DTypeKind::key) continue;
      if (info.kind == DTypeKind::boolean || info.kind == DTypeKind::complex) continue;
      check_calls(group, 100, info.dtype);
      const bool is_narrow = info.kind == DTypeKind::integer ? info.size == 2 : info.size == 1;
      if (is_nccl() && is_narrow) continue;  // NCCL does not reduce them
      check_reductions(group, 100, info.dtype);
    }
  });
}

TEST(Collectives, ReduceIntegersInEveryWay) {
  run_on_threads(3, [](Group& group) {
    for (const int64_t count : {3, 20'000}) {
      for (const ReduceOp op : {ReduceOp::sum, ReduceOp::product, ReduceOp::min, ReduceOp::max,
                                ReduceOp::band, ReduceOp::bor, ReduceOp::bxor}) {
        const Tensor own = operand(group.rank(), count, DType::i32);
        EXPECT_EQ(read(all_reduce(own, op, group)), reduced(op, 3, count)) << name_of(op);
      }
    }
  });
}

// Sums of numbers that round differ by order; here they are those of a loop over the ranks.
TEST(Collectives, SumInTheOrderOfRanks) {
  const auto number = [](int rank, size_t i) {
    return 1.f / static_cast<float>(i + 1 + static_cast<size_t>(rank) * 3);
  };
  run_on_threads(4, [&](Group& group) {
    for (const size_t count : {size_t{5}, size_t{5000}, size_t{300'001}}) {
      std::vector<float> own(count), sums(count);
      for (size_t i = 0; i < count; ++i) own[i] = number(group.rank(), i);
      for (size_t i = 0; i < count; ++i) {
        sums[i] = ((number(0, i) + number(1, i)) + number(2, i)) + number(3, i);
      }
      const Tensor x(Array::of(std::span<const float>(own), {static_cast<int64_t>(count)}));
      const Tensor sum = all_reduce(x, ReduceOp::sum, group);
      EXPECT_TRUE(std::ranges::equal(sum.array().elements<float>(), sums));
    }
  });
}

// The same operand at each place, of few and of many elements.
Tensor repeated(double value, DType dtype, int64_t count) {
  return placed(Tensor(Array::filled(dtype, {count}, Element::of(value))));
}

TEST(Collectives, RoundNarrowSumsOnce) {
  run_on_threads(3, [](Group& group) {
    for (const int64_t count : {5, 40'000}) {
      const Tensor x = repeated(group.rank() == 0 ? 1 : 0x1p-8, DType::bf16, count);
      EXPECT_EQ(read(all_reduce(x, ReduceOp::sum, group)),
                Values(static_cast<size_t>(count), 1 + 0x1p-7));
    }
  });
}

TEST(Collectives, AverageAndKeepNaN) {
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  for (int at = 0; at < 3; ++at) {
    run_on_threads(3, [&](Group& group) {
      for (const int64_t count : {5, 40'000}) {
        const Tensor mean =
            all_reduce(repeated(group.rank() + 1, DType::f64, count), ReduceOp::average, group);
        EXPECT_EQ(read(mean), Values(static_cast<size_t>(count), 2));
        const Tensor x = repeated(group.rank() == at ? kNaN : group.rank(), DType::f32, count);
        for (const ReduceOp op : {ReduceOp::min, ReduceOp::max}) {
          EXPECT_TRUE(std::isnan(read(all_reduce(x, op, group))[0])) << at;
        }
      }
    });
  }
}

TEST(Collectives, TakeStridedTensors) {
  run_on_threads(2, [](Group& group) {
    const Tensor x = tensor_of(values_of(group.rank(), 6), DType::f32, {2, 3});
    Layout layout = x.array().layout();
    std::swap(layout.sizes[0], layout.sizes[1]);
    std::swap(layout.strides[0], layout.strides[1]);
    const Tensor transposed(x.array().view(layout));
    const Values sum = reduced(ReduceOp::sum, 2, 6);
    EXPECT_EQ(read(all_reduce(transposed, ReduceOp::sum, group)),
              (Values{sum[0], sum[3], sum[1], sum[4], sum[2], sum[5]}));
  });
}

// Rank i has i + 1 parts of the whole, the last rank none.
TEST(Collectives, TakePartsOfDifferentSizes) {
  for (const int64_t unit : {1, 1000, 90'000}) {
    run_on_threads(4, [&](Group& group) {
      const int rank = group.rank();
      const std::vector<int64_t> counts = {unit, 2 * unit, 3 * unit, 0};
      const int64_t begin = std::vector<int64_t>{0, 1, 3, 6}[static_cast<size_t>(rank)] * unit;
      const int64_t own = counts[static_cast<size_t>(rank)];
      Values all;
      for (int from = 0; from < 4; ++from) {
        const Values part = values_of(from, counts[static_cast<size_t>(from)]);
        all.insert(all.end(), part.begin(), part.end());
      }
      EXPECT_EQ(read(all_gather_parts(operand(rank, own, DType::f32), counts, group)), all);
      const Tensor whole = operand(rank, 6 * unit, DType::f32);
      EXPECT_EQ(read(reduce_scatter_parts(whole, counts, ReduceOp::sum, group)),
                part_of(reduced(ReduceOp::sum, 4, 6 * unit), begin, own));
      // All ranks send the same parts, so each receives its own part of all of them.
      Values received;
      for (int from = 0; from < 4; ++from) {
        const Values part = part_of(values_of(from, 6 * unit), begin, own);
        received.insert(received.end(), part.begin(), part.end());
      }
      const std::vector<int64_t> receive_counts(4, own);
      EXPECT_EQ(read(all_to_all_parts(whole, counts, receive_counts, group)), received);
    });
  }
}

TEST(Collectives, RunBehindTheCaller) {
  run_on_threads(3, [](Group& group) {
    std::vector<std::shared_ptr<Work>> works;
    for (int64_t count = 0; count < 50; ++count) {
      works.push_back(
          async::all_reduce(operand(group.rank(), count * 100, DType::f32), ReduceOp::sum, group));
    }
    const Tensor last = all_reduce(operand(group.rank(), 3, DType::f32), ReduceOp::sum, group);
    EXPECT_EQ(read(last), reduced(ReduceOp::sum, 3, 3));
    for (int64_t count = 0; count < 50; ++count) {
      EXPECT_TRUE(works[static_cast<size_t>(count)]->is_completed());
      EXPECT_EQ(read(works[static_cast<size_t>(count)]->result()[0]),
                reduced(ReduceOp::sum, 3, count * 100));
    }
  });
}

TEST(Collectives, SeveralGroupsAndThreads) {
  const auto store = std::make_shared<MemoryStore>();
  constexpr int kSize = 3, kGroups = 3;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kSize; ++rank) {
    for (int number = 0; number < kGroups; ++number) {
      ranks.emplace_back([&store, rank, number] {
        const auto group = Group::join({.store = store,
                                        .rank = rank,
                                        .size = kSize,
                                        .name = "group" + std::to_string(number),
                                        .timeout = kTestTimeout});
        for (int round = 0; round < 30; ++round) {
          const int64_t count = 1 + number * 40'000;
          EXPECT_EQ(read(all_reduce(operand(rank, count, DType::f32), ReduceOp::sum, *group)),
                    reduced(ReduceOp::sum, kSize, count));
          EXPECT_EQ(read(async::all_gather(operand(rank, 7, DType::f32), *group)->result()[0]),
                    concatenated(kSize, 7));
        }
      });
    }
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST(Collectives, RefuseWhatTheyCannotDo) {
  run_on_threads(1, [](Group& group) {
    const Tensor x = operand(0, 4, DType::f32);
    expect_contains(message_of<ValueError>([&] { broadcast(x, 1, group); }), {"root is rank 1"});
    expect_contains(message_of<ShapeError>([&] { scatter(x, x, 0, group); }),
                    {"scatter", "f32[4]", "1 rows"});
    expect_contains(message_of<ValueError>([&] { scatter({}, x, 0, group); }), {"no rows"});
    expect_contains(message_of<ShapeError>([&] { all_gather_parts(x, {3}, group); }),
                    {"counts has 3 for rank 0", "4 elements"});
    expect_contains(
        message_of<ValueError>([&] { reduce_scatter_parts(x, {2, 2}, ReduceOp::sum, group); }),
        {"2 counts", "expected 1"});
    expect_contains(message_of<ValueError>([&] { all_to_all_parts(x, {4}, {-1}, group); }),
                    {"receive_counts has -1"});
    expect_contains(what_of<TypeError>([&] { all_reduce(x, ReduceOp::bor, group); }),
                    {"all_reduce: there is no bor of f32"});
    const Tensor i = operand(0, 4, DType::i32);
    expect_contains(what_of<TypeError>([&] { all_reduce(i, ReduceOp::average, group); }),
                    {"no average of i32", "take the sum"});
  });
}

// Such a call would not be made when the program runs.
TEST(Collectives, AreRefusedWhileAProgramIsRecorded) {
  run_on_threads(1, [](Group& group) {
    const Tensor x = repeated(1, DType::f32, 3);
    const Trace recording("f");
    const std::vector<std::function<void()>> calls = {
        [&] { barrier(group); }, [&] { all_reduce(x, ReduceOp::sum, group); },
        [&] { async::broadcast(x, 0, group); }, [&] { group.subgroup({0}); }};
    for (const auto& call : calls) {
      expect_contains(what_of<TypeError>(call), {"is being recorded", "outside of jit"});
    }
  });
}

TEST(Collectives, ScaleOperands) {
  run_on_threads(2, [](Group& group) {
    const CallOptions options{.scale = group.rank() == 0 ? 0.5 : 0.25};
    const Tensor x = repeated(4, DType::f32, 6);
    EXPECT_EQ(read(all_reduce(x, ReduceOp::sum, group, options)), Values(6, 3));
    EXPECT_EQ(read(reduce_scatter_parts(x, {2, 4}, ReduceOp::sum, group, options)),
              Values(group.rank() == 0 ? 2 : 4, 3));
    expect_contains(what_of<TypeError>([&] {
                      all_reduce(repeated(4, DType::i32, 6), ReduceOp::sum, group, options);
                    }),
                    {"all_reduce: i32[6] is not scaled"});
  });
}

TEST(Group, DividesTheThreads) {
  const Processes processes(
      2, [](Group&) { EXPECT_EQ(thread_count(), std::max(1, available_cpu_count() / 2)); });
}

TEST(Group, HasSubgroups) {
  run_on_threads(4, [](Group& group) {
    const auto pair = group.subgroup(
        group.rank() < 2 ? std::vector<int>{1, 0} : std::vector<int>{2, 3}, {.by_members = true});
    const auto some = group.subgroup({3, 1});
    ASSERT_TRUE(pair);
    EXPECT_EQ(pair->size(), 2);
    const int other = pair->ranks()[static_cast<size_t>(1 - pair->rank())];
    EXPECT_EQ(other, group.rank() ^ 1);
    EXPECT_EQ(read(all_gather(operand(group.rank(), 3, DType::f32), *pair)).size(), 6u);
    EXPECT_EQ(some != nullptr, group.rank() % 2 == 1);
    if (some) {
      EXPECT_EQ(read(broadcast(operand(group.rank(), 3, DType::f32), 0, *some)), values_of(3, 3));
    }
    barrier(group);
    expect_contains(message_of<ValueError>([&] { group.subgroup({0, 4}); }), {"ranks[1] is 4"});
    expect_contains(message_of<ValueError>([&] { group.subgroup({1, 1}); }), {"named before"});
  });
}

// Another rank may still be joining then.
TEST(Group, ARankMayLeaveWithTheStore) {
  for (int round = 0; round < 20; ++round) {
    const uint16_t port = port_of(listen_at({"localhost", 0}));
    const auto join = [port](int rank) {
      expect_success(rank, [&] {
        const auto store = std::make_shared<TcpStore>(TcpStoreOptions{
            .port = port, .is_master = rank == 0, .world_size = 3, .timeout = kTestTimeout});
        join_as(store, rank, 3);
      });
    };
    std::thread first(join, 0), second(join, 1);
    join(2);
    first.join();
    second.join();
  }
}

TEST(Group, RefusesOptions) {
  const auto store = std::make_shared<MemoryStore>();
  expect_contains(
      message_of<ValueError>([&] { Group::join({.store = store, .rank = 2, .size = 2}); }),
      {"rank 2 of 2"});
  expect_contains(
      message_of<ValueError>([&] { Group::join({.store = store, .engine = "pigeon"}); }),
      {"pigeon", "local"});
  expect_contains(message_of<ValueError>([&] { Group::join({}); }), {"store is missing"});
  const auto group = Group::join({.store = store, .name = "again"});
  expect_contains(what_of<DistError>([&] { Group::join({.store = store, .name = "again"}); }),
                  {"a group of this name already", "another name"});
  expect_contains(message_of<DistError>([&] {
                    Group::join({.store = store, .rank = 0, .size = 2, .timeout = Duration(50)});
                  }),
                  {"rank 1 did not join", "0.05 s"});
}

}  // namespace
}  // namespace plait::dist
