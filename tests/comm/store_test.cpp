// Behaviour that all stores share.
#include "plait/comm/store.h"

#include <thread>

#include "plait/comm/file_store.h"
#include "plait/comm/memory_store.h"
#include "plait/comm/prefix_store.h"
#include "plait/comm/tcp_store.h"

#include "tests/io/temporary_folder.h"
#include "tests/support/errors.h"

namespace plait::dist {
namespace {

constexpr Duration kShort(50);

// Stores that share one table, as those of different processes do.
struct Shared {
  std::shared_ptr<Store> first, second;
  std::unique_ptr<TemporaryFolder> folder = {};
};

Shared memory_stores() {
  auto store = std::make_shared<MemoryStore>();
  return {store, store};
}

Shared file_stores() {
  auto folder = std::make_unique<TemporaryFolder>();
  const std::string path = folder->path("store");
  return {std::make_shared<FileStore>(path), std::make_shared<FileStore>(path), std::move(folder)};
}

Shared tcp_stores() {
  auto server = std::make_shared<TcpStore>(TcpStoreOptions{.is_master = true});
  auto client = std::make_shared<TcpStore>(TcpStoreOptions{.port = server->port()});
  return {std::move(server), std::move(client)};
}

Shared prefixed(Shared stores) {
  stores.first = std::make_shared<PrefixStore>("job", stores.first);
  stores.second = std::make_shared<PrefixStore>("job", stores.second);
  return stores;
}

struct Kind {
  const char* name;
  Shared (*make)();
};

class AStore : public testing::TestWithParam<Kind> {
 protected:
  const Shared stores_ = GetParam().make();
  Store& first_ = *stores_.first;
  Store& second_ = *stores_.second;
};

TEST_P(AStore, KeepsBytes) {
  const std::string bytes("\0\xff\n\"", 4);
  first_.set(bytes, bytes);
  EXPECT_EQ(second_.get(bytes), bytes);
  first_.set(bytes, "");
  EXPECT_EQ(second_.get(bytes), "");
  second_.set("", "no name");
  EXPECT_EQ(first_.get(""), "no name");
}

TEST_P(AStore, Adds) {
  EXPECT_EQ(first_.add("n", 3), 3);
  EXPECT_EQ(second_.add("n", -5), -2);
  EXPECT_EQ(first_.get("n"), "-2");
  EXPECT_EQ(first_.add("zero", 0), 0);
  EXPECT_TRUE(second_.check({"zero"}));
  first_.set("n", "12 apples");
  expect_contains(message_of<ValueError>([&] { second_.add("n", 1); }), {"n\" is not an integer"});
  EXPECT_EQ(first_.get("n"), "12 apples");
  first_.set("n", std::to_string(INT64_MAX));
  expect_contains(message_of<ValueError>([&] { second_.add("n", 1); }), {"64 bits"});
  EXPECT_EQ(first_.get("n"), std::to_string(INT64_MAX));
}

TEST_P(AStore, ComparesAndSets) {
  EXPECT_EQ(first_.compare_set("k", "old", "new"), "old");  // it is not set
  EXPECT_FALSE(second_.check({"k"}));
  EXPECT_EQ(first_.compare_set("k", "", "new"), "new");
  EXPECT_EQ(second_.compare_set("k", "old", "newer"), "new");
  EXPECT_EQ(second_.compare_set("k", "new", "newer"), "newer");
  EXPECT_EQ(first_.get("k"), "newer");
}

TEST_P(AStore, Appends) {
  first_.append("k", "a");
  second_.append("k", "");
  second_.append("k", "b");
  EXPECT_EQ(first_.get("k"), "ab");
}

TEST_P(AStore, DeletesAndCounts) {
  EXPECT_EQ(first_.num_keys(), 0);
  first_.set("a", "1");
  second_.set("b", "2");
  EXPECT_EQ(first_.num_keys(), 2);
  EXPECT_TRUE(first_.delete_key("b"));
  EXPECT_FALSE(second_.delete_key("b"));
  EXPECT_EQ(second_.num_keys(), 1);
  EXPECT_FALSE(second_.check({"a", "b"}));
  EXPECT_TRUE(second_.check({"a"}));
  EXPECT_TRUE(second_.check({}));
}

TEST_P(AStore, TakesManyKeys) {
  first_.multi_set({"a", "b", "c"}, {"1", "", "3"});
  EXPECT_EQ(second_.multi_get({"c", "a", "b", "a"}), (std::vector<std::string>{"3", "1", "", "1"}));
  EXPECT_EQ(second_.multi_get({}), std::vector<std::string>());
  expect_contains(message_of<ValueError>([&] { first_.multi_set({"a"}, {"1", "2"}); }),
                  {"1 keys", "2 values"});
}

TEST_P(AStore, WaitsUntilAnotherSetsTheKeys) {
  std::thread setting([&] {
    std::this_thread::sleep_for(kShort);
    second_.set("a", "1");
    std::this_thread::sleep_for(kShort);
    second_.add("b", 2);
  });
  first_.wait({"a", "b"});
  EXPECT_EQ(first_.multi_get({"a", "b"}), (std::vector<std::string>{"1", "2"}));
  setting.join();
}

TEST_P(AStore, WaitsForKeysThatAreDeletedMeanwhile) {
  second_.set("a", "1");
  std::thread setting([&] {
    std::this_thread::sleep_for(kShort);
    second_.delete_key("a");
    second_.set("b", "2");
    std::this_thread::sleep_for(kShort);
    second_.set("a", "3");
  });
  first_.wait({"a", "b"});
  setting.join();
  EXPECT_TRUE(first_.check({"a", "b"}));
}

TEST_P(AStore, NamesTheKeysThatAreLate) {
  first_.set_timeout(kShort);
  EXPECT_EQ(first_.timeout(), kShort);
  expect_contains(what_of<DistError>([&] { first_.get("weights\n"); }),
                  {"weights\\x0a", "was not set within 0.05 s", "has started"});
  second_.set("here", "1");
  const std::string text =
      message_of<DistError>([&] { second_.wait_for({"here", "b1", "b2"}, kShort); });
  expect_contains(text, {"b1\"", "b2\"", "were not set"});
  EXPECT_EQ(text.find("here"), std::string::npos);
  EXPECT_EQ(second_.get("here"), "1");
  expect_contains(message_of<ValueError>([&] { first_.set_timeout(Duration(0)); }), {"0 ms"});
}

TEST_P(AStore, ServesManyThreads) {
  constexpr int kThreads = 8, kRounds = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      Store& store = i % 2 == 0 ? first_ : second_;
      for (int round = 0; round < kRounds; ++round) {
        const std::string key = std::to_string(round);
        if (store.add("arrived" + key, 1) == kThreads) store.set("open" + key, "");
        store.wait({"open" + key});
        EXPECT_EQ(store.add("arrived" + key, 0), kThreads);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST_P(AStore, HasClonesWithOtherTimeouts) {
  const std::shared_ptr<Store> clone = first_.clone(kShort);
  EXPECT_EQ(clone->timeout(), kShort);
  EXPECT_EQ(first_.timeout(), Store::kDefaultTimeout);
  clone->set("of the clone", "1");
  EXPECT_EQ(second_.get("of the clone"), "1");
  expect_contains(message_of<DistError>([&] { clone->get("never"); }), {"0.05 s"});
}

TEST_P(AStore, TakesLargeValues) {
  const std::string large(size_t{10} << 20, 'x');
  first_.set("large", large);
  EXPECT_EQ(second_.get("large"), large);
}

INSTANTIATE_TEST_SUITE_P(
    Of, AStore,
    testing::Values(Kind{"Memory", memory_stores}, Kind{"File", file_stores},
                    Kind{"Tcp", tcp_stores},
                    Kind{"PrefixOfMemory", [] { return prefixed(memory_stores()); }},
                    Kind{"PrefixOfTcp", [] { return prefixed(tcp_stores()); }}),
    [](const auto& kind) { return std::string(kind.param.name); });

TEST(PrefixStore, KeepsKeysApart) {
  auto store = std::make_shared<MemoryStore>();
  PrefixStore a("a", store), nested("b", std::make_shared<PrefixStore>("a", store));
  a.set("k", "1");
  nested.set("k", "2");
  EXPECT_EQ(store->get("a/k"), "1");
  EXPECT_EQ(store->get("a/b/k"), "2");
  EXPECT_FALSE(store->check({"k"}));
  EXPECT_EQ(a.num_keys(), 2);
  expect_contains(message_of<ValueError>([] { PrefixStore("a", nullptr); }), {"store is missing"});
}

}  // namespace
}  // namespace plait::dist
