// The engine nccl on emulated GPUs: what it has, what it refuses, and ranks that fail.
#include "plait/comm/inside/nccl/nccl_engine.h"

#include <chrono>
#include <complex>
#include <csignal>
#include <future>

#include "plait/comm/collectives.h"
#include "plait/comm/inside/lane.h"
#include "plait/comm/inside/nccl/nccl_library.h"
#include "plait/comm/inside/wires/gloo_wire.h"
#include "plait/comm/inside/wires/wire_engine.h"
#include "plait/comm/messages.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/tensor/memory/device_memory.h"

#include "tests/comm/ranks.h"
#include "tests/support/errors.h"

namespace plait::dist {
namespace {

class Nccl : public testing::Test {
 protected:
  void SetUp() override {
    if (kEmulatedGpus.empty()) GTEST_SKIP() << "the emulated device was not built";
    setenv("PLAIT_TEST_ENGINE", "nccl", 1);
    use_emulated_gpus(6, 8 << 20);
  }
  void TearDown() override {
    unsetenv("PLAIT_TEST_ENGINE");
    unsetenv("PLAIT_EMULATED_NCCL_ERROR");
    reset_setting("agreement");
    EXPECT_EQ(emulator_findings(), "");
  }
};

template <class T>
Tensor tensor_with(const std::vector<T>& values) {
  return placed(
      Tensor(Array::of(std::span<const T>(values), {static_cast<int64_t>(values.size())})));
}
template <class T>
std::vector<T> values_in(const Tensor& x) {
  const Array array = x.array().on_host();
  const auto elements = array.elements<T>();
  return {elements.begin(), elements.end()};
}
Tensor floats(std::vector<double> values, DType dtype = DType::f32) {
  return placed(Tensor(tensor_with(values).array().on_host().converted(dtype)));
}
std::vector<double> doubles_in(const Tensor& x) {
  return values_in<double>(Tensor(x.array().on_host().converted(DType::f64)));
}

TEST_F(Nccl, ReducesWhatNcclHas) {
  run_on_threads(3, [](Group& group) {
    const double own = group.rank() + 1;
    for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::i8, DType::u8,
                              DType::i32, DType::u32, DType::i64, DType::u64}) {
      const Tensor x = floats({own, 4 - own}, dtype);
      const auto reduced = [&](ReduceOp op) { return doubles_in(all_reduce(x, op, group)); };
      EXPECT_EQ(reduced(ReduceOp::sum), (std::vector<double>{6, 6})) << name_of(dtype);
      EXPECT_EQ(reduced(ReduceOp::product), (std::vector<double>{6, 6})) << name_of(dtype);
      EXPECT_EQ(reduced(ReduceOp::min), (std::vector<double>{1, 1})) << name_of(dtype);
      EXPECT_EQ(reduced(ReduceOp::max), (std::vector<double>{3, 3})) << name_of(dtype);
    }
    const auto mean = doubles_in(all_reduce(floats({own}), ReduceOp::average, group));
    EXPECT_NEAR(mean[0], 2, 1e-6);
  });
}

TEST_F(Nccl, ReducesBooleansAndComplexNumbers) {
  run_on_threads(2, [](Group& group) {
    const bool is_first = group.rank() == 0;
    const Tensor x = floats({1, is_first ? 1. : 0., 0}, DType::boolean);
    using Values = std::vector<double>;
    for (const ReduceOp op : {ReduceOp::sum, ReduceOp::max, ReduceOp::bor}) {
      EXPECT_EQ(doubles_in(all_reduce(x, op, group)), (Values{1, 1, 0})) << name_of(op);
    }
    for (const ReduceOp op : {ReduceOp::product, ReduceOp::min, ReduceOp::band}) {
      EXPECT_EQ(doubles_in(all_reduce(x, op, group)), (Values{1, 0, 0})) << name_of(op);
    }
    using Complex = std::complex<float>;
    const Tensor z = tensor_with(std::vector<Complex>{{1, 2}, {is_first ? 3.f : 5.f, -1}});
    EXPECT_EQ(values_in<Complex>(all_reduce(z, ReduceOp::sum, group)),
              (std::vector<Complex>{{2, 4}, {8, -2}}));
    const auto means =
        values_in<Complex>(reduce_scatter_parts(z, {2, 0}, ReduceOp::average, group));
    EXPECT_EQ(means, is_first ? (std::vector<Complex>{{1, 2}, {4, -1}}) : std::vector<Complex>());
  });
}

TEST_F(Nccl, RefusesReductionsThatNcclLacks) {
  run_on_threads(2, [](Group& group) {
    struct Case {
      DType dtype;
      ReduceOp op;
    };
    for (const Case& each :
         {Case{DType::i16, ReduceOp::sum}, Case{DType::u16, ReduceOp::max},
          Case{DType::f8e4m3, ReduceOp::sum}, Case{DType::i32, ReduceOp::bor},
          Case{DType::boolean, ReduceOp::bxor}, Case{DType::c64, ReduceOp::product}}) {
      const Tensor x = floats({1, 0}, each.dtype);
      expect_contains(what_of<DistError>([&] { all_reduce(x, each.op, group); }),
                      {"all_reduce: NCCL has no", name_of(each.op), name_of(each.dtype),
                       "in a group of the engine local or gloo", "nccl_engine_test.cpp"});
    }
    barrier(group);  // nothing was sent
  });
}

TEST_F(Nccl, TensorsAreOnTheGpuOfTheRank) {
  run_on_threads(2, [](Group& group) {
    const Device own(Device::Kind::cuda, static_cast<uint8_t>(group.rank()));
    const Device other(Device::Kind::cuda, static_cast<uint8_t>(1 - group.rank()));
    EXPECT_EQ(group.device(), own);
    EXPECT_EQ(group.engine(), "nccl");
    const Tensor here = floats({1, 2}) + floats({1, 1});  // computed there
    EXPECT_EQ(all_reduce(here, ReduceOp::sum, group).array().device(), own);
    EXPECT_EQ(all_gather(here, group).array().device(), own);
    for (const Device device : {Device(), other}) {
      const Tensor x(here.array().on_host().on(device));
      expect_contains(what_of<DeviceError>([&] { all_reduce(x, ReduceOp::sum, group); }),
                      {"all_reduce: the tensor is on " + text_of(device),
                       "expected one on " + text_of(own), "to(Device(\"" + text_of(own) + "\"))"});
    }
    // Constants have no place of their own.
    const Tensor ones(Array::filled(DType::f32, {2}, Element::of(1.)));
    EXPECT_EQ(doubles_in(all_reduce(ones, ReduceOp::sum, group)), (std::vector<double>{2, 2}));
    const auto on_host = group.subgroup({0, 1}, {.engine = "local"});
    EXPECT_EQ(on_host->device(), Device());
    expect_contains(what_of<DeviceError>([&] { all_reduce(here, ReduceOp::sum, *on_host); }),
                    {"expected one on cpu", "the engine local"});
  });
}

TEST_F(Nccl, RanksHaveGpusOfTheirOwn) {
  const auto store = std::make_shared<MemoryStore>();
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto join = [&](const char* name, Device device) {
        return Group::join({.store = store,
                            .rank = rank,
                            .size = 2,
                            .engine = "nccl",
                            .name = name,
                            .timeout = kTestTimeout,
                            .device = device});
      };
      expect_contains(what_of<DistError>([&] { join("one", Device("cuda:3")); }),
                      {"the engine nccl", "ranks 0 and 1 are on the same GPU", "option device"});
      expect_success(rank, [&] {
        const Device own(Device::Kind::cuda, static_cast<uint8_t>(5 - rank));
        const auto group = join("two", own);
        rank_device() = own;
        EXPECT_EQ(doubles_in(all_reduce(floats({2}), ReduceOp::sum, *group))[0], 4);
        EXPECT_EQ(group->subgroup({1, 0})->device(), own);
      });
      expect_contains(message_of<ValueError>([&] { join("three", Device()); }),
                      {"the device is cpu"});
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST_F(Nccl, MessagesGoBothWays) {
  run_on_threads(3, [](Group& group) {
    std::vector<std::shared_ptr<Work>> sent, received;
    for (int i = 0; i < 10; ++i) {
      const auto count = static_cast<size_t>(i * i * 500);
      for (int rank = 0; rank < 3; ++rank) {
        if (rank == group.rank()) continue;
        const double own = group.rank() * 100 + i;
        sent.push_back(async::send(floats(std::vector<double>(count, own)), rank, group));
        received.push_back(async::recv(floats(std::vector<double>(count)), rank, group));
      }
      if (i != 5) continue;
      EXPECT_EQ(doubles_in(all_reduce(floats({1}), ReduceOp::sum, group))[0], 3);
    }
    auto next = received.begin();
    for (int i = 0; i < 10; ++i) {
      for (int rank = 0; rank < 3; ++rank) {
        if (rank == group.rank()) continue;
        EXPECT_EQ((*next)->source_rank(), rank);
        EXPECT_EQ(doubles_in((*next++)->result()[0]),
                  std::vector<double>(static_cast<size_t>(i * i * 500), rank * 100 + i));
      }
    }
    for (const auto& work : sent) work->wait();
  });
}

TEST_F(Nccl, MessagesHaveNamedSourcesAndNoTags) {
  run_on_threads(2, [](Group& group) {
    const Tensor x = floats({1});
    expect_contains(what_of<DistError>([&] { recv(x, std::nullopt, group); }),
                    {"recv: NCCL receives from a rank that is named", "name the rank"});
    expect_contains(what_of<DistError>([&] { send(x, 1 - group.rank(), group, {.tag = 3}); }),
                    {"send: the tag is 3", "leave the tag out"});
    barrier(group);
  });
}

TEST_F(Nccl, MessagesOfAnotherTypeAreAnError) {
  run_on_threads(2, [](Group& group) {
    const std::string text = message_of<DistError>([&] {
      if (group.rank() == 0) {
        send(floats({1, 2, 3}), 1, group);
        barrier(group);
      } else {
        recv(floats({1, 2}), 0, group);
      }
    });
    expect_contains(text, {"rank 0 sends f32[3]", "rank 1 receives f32[2]"});
  });
}

TEST_F(Nccl, RanksExpectOtherCounts) {
  run_on_threads(2, [](Group& group) {
    const std::vector<int64_t> received = {group.rank() == 0 ? 1 : 2, 2};
    const std::string text = message_of<DistError>([&] {
      all_to_all_parts(floats({1, 2, 3}), {1, 2}, received, group);
      barrier(group);
    });
    expect_contains(text,
                    {"all_to_all of f32", "rank 1 sends 1 elements to rank 0, which expects 2",
                     "nccl_engine_test.cpp"});
  });
}

// ---- Ranks that fail. Without agreement, NCCL alone knows what the others do.

// Nothing is left on the device that never ends, and it still computes.
void expect_device_works() {
  const cuda::CudaDevice& device = cuda::cuda_device(rank_device().index);
  const auto synchronize = reinterpret_cast<int (*)()>(
      dlsym(dlopen(kEmulatedGpus.c_str(), RTLD_NOW | RTLD_NOLOAD), "cuCtxSynchronize"));
  const auto ended = std::make_shared<std::promise<int>>();
  std::thread([=, &device] {
    device.enter();
    ended->set_value(synchronize());
  }).detach();
  auto result = ended->get_future();
  ASSERT_EQ(result.wait_for(std::chrono::seconds(5)), std::future_status::ready);
  EXPECT_EQ(result.get(), 0);
  EXPECT_EQ(doubles_in(floats({1}) + floats({2})), std::vector<double>{3});
}

TEST_F(Nccl, ARankIsLateOnTheDevice) {
  set_setting("agreement", "off");
  Flag is_over;
  run_on_threads(2, [&](Group& group) {
    const Tensor x = floats({1, 2, 3, 4});
    if (group.rank() == 1) {
      is_over.wait();
      EXPECT_THROW(barrier(group), DistError);
      return;
    }
    const auto begin = std::chrono::steady_clock::now();
    const std::string text = message_of<DistError>(
        [&] { all_reduce(x, ReduceOp::sum, group, {.timeout = Duration(200)}); });
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
    expect_contains(text, {"all_reduce(sum) of f32[4]", "did not end within 0.2 s on cuda:0"});
    EXPECT_EQ(message_of<DistError>([&] { async::barrier(group); }), text);
    EXPECT_EQ(message_of<DistError>([&] { send(x, 1, group); }), text);
    expect_device_works();
    is_over.set();
  });
}

TEST_F(Nccl, ARankIsKilledWhileTheDeviceWaits) {
  for (const bool is_message : {false, true}) {
    Processes processes(2, [&](Group& group) {
      const Tensor x = floats({1, 2, 3, 4});
      all_reduce(x, ReduceOp::sum, group);
      set_setting("agreement", "off");
      if (group.rank() == 1) ::raise(SIGKILL);
      const auto begin = std::chrono::steady_clock::now();
      const std::string text = message_of<DistError>([&] {
        constexpr Duration kLate = std::chrono::seconds(5);
        is_message ? void(recv(x, 1, group, {.timeout = kLate}))
                   : void(all_reduce(x, ReduceOp::sum, group, {.timeout = kLate}));
      });
      EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
      expect_contains(text,
                      {is_message ? "recv of f32[4] from rank 1" : "all_reduce(sum) of f32[4]",
                       "rank 1 has ended"});
      expect_device_works();
    });
    EXPECT_TRUE(WIFSIGNALED(processes.status_of(1)));
  }
}

TEST_F(Nccl, NcclFindsAnError) {
  setenv("PLAIT_EMULATED_NCCL_ERROR", "1", 1);  // at the first operation of each communicator
  run_on_threads(2, [&](Group& group) {
    barrier(group);
    expect_contains(
        message_of<DistError>([&] { all_reduce(floats({1, 2, 3, 4}), ReduceOp::sum, group); }),
        {"all_reduce(sum) of f32[4]", "remote process exited"});
    expect_device_works();
  });
}

// A rank that leaves has nothing that others still need.
TEST_F(Nccl, RanksLeaveAtDifferentTimes) {
  for (int round = 0; round < 5; ++round) {
    run_on_threads(3, [&](Group& group) {
      for (int i = 0; i < 5; ++i) all_reduce(floats({1, 2}), ReduceOp::sum, group);
      if (group.rank() == 2) return;
      if (group.rank() == 0) return send(floats({1}), 1, group);
      EXPECT_EQ(doubles_in(recv(floats({0}), 0, group).tensor)[0], 1);
    });
  }
}

// ---- The library.

TEST_F(Nccl, AMissingLibraryIsAnError) {
  expect_contains(what_of<DeviceError>([] { (void)open_nccl("/nowhere.so"); }),
                  {"NCCL", "/nowhere.so", "pip install nvidia-nccl-cu12", "the setting nccl"});
}

TEST_F(Nccl, ALibraryThatLacksFunctionsIsAnError) {
  expect_contains(what_of<DeviceError>([] { (void)open_nccl("libm.so.6"); }),
                  {"NCCL lacks ncclGetVersion", "libm.so.6"});
}

TEST_F(Nccl, AnOldLibraryIsAnError) {
  for (const auto& [version, text] :
       {std::pair("21304", "NCCL is version 2.13"), std::pair("2708", "NCCL is version 2.7")}) {
    setenv("PLAIT_EMULATED_NCCL_VERSION", version, 1);
    expect_contains(what_of<DeviceError>([] { (void)open_nccl("auto"); }),
                    {text, "expected 2.14 or newer", "pip install -U nvidia-nccl-cu12"});
  }
  unsetenv("PLAIT_EMULATED_NCCL_VERSION");
  (void)open_nccl("auto");
}

TEST(NcclWithoutAGpu, IsADeviceError) {
  set_setting("cuda", "off");
  if (device_count(Device::Kind::cuda) > 0) GTEST_SKIP() << "an earlier test has opened them";
  const auto store = std::make_shared<MemoryStore>();
  expect_contains(what_of<DeviceError>([&] { Group::join({.store = store, .engine = "nccl"}); }),
                  {"the engine nccl: this machine has no GPU", "auto"});
  reset_setting("cuda");
}

// ---- Between hosts, the other engine is Gloo.

class NcclBetweenHosts : public Nccl {
 protected:
  void SetUp() override {
    Nccl::SetUp();
    if (!has_gloo()) GTEST_SKIP() << "there is no Gloo";
  }

  // The lane of a group whose ranks are compared by Gloo.
  std::shared_ptr<Lane> join(int rank) {
    auto notices = WireEngine::open_notices(store_, rank, 2);
    auto wire = make_gloo_wire(store_, rank, 2, "127.0.0.1", kTestTimeout);
    auto control =
        std::make_unique<WireEngine>(std::move(wire), std::move(notices), rank, 2, kTestTimeout);
    const Device own(Device::Kind::cuda, static_cast<uint8_t>(rank));
    rank_device() = own;
    return std::make_shared<Lane>(
        std::make_unique<NcclEngine>(std::move(control), store_, rank, 2, own, kTestTimeout),
        "test");
  }
  static Call all_reduce_of(const Array& in, Array& out) {
    return {.kind = CallKind::all_reduce,
            .dtype = in.dtype(),
            .count = in.element_count(),
            .in = in.device_data(),
            .out = out.device_data()};
  }

 private:
  MemoryStore store_;
};

TEST_F(NcclBetweenHosts, CallsAreComparedAndRun) {
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([this, rank] {
      expect_success(rank, [&] {
        const auto lane = join(rank);
        const Array in = floats({1, 2, 3}).array();
        Array out = Array::empty_on(rank_device(), DType::f32, {3});
        for (int i = 0; i < 20; ++i) lane->run(all_reduce_of(in, out), kTestTimeout);
        EXPECT_EQ(doubles_in(Tensor(out)), (std::vector<double>{2, 4, 6}));
        Message message{.is_sent = rank == 0, .peer = 1 - rank, .count = 3};
        message.in = in.device_data();
        message.out = out.device_data();
        lane->run(message, kTestTimeout);
        if (rank == 1) {
          EXPECT_EQ(doubles_in(Tensor(out)), (std::vector<double>{1, 2, 3}));
        }
        Call call = all_reduce_of(in, out);
        call.count -= rank;
        const std::string text = message_of<DistError>([&] { lane->run(call, kTestTimeout); });
        expect_contains(text, {"ranks disagree", "f32[3]", "f32[2]"});
      });
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

}  // namespace
}  // namespace plait::dist
