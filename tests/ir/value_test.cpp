#include "plait/ir/value.h"

#include <atomic>
#include <thread>

#include <gtest/gtest.h>

#include "plait/core/error.h"

namespace plait::ir {
namespace {

// Counts the living objects.
struct Counted {
  explicit Counted(std::atomic<int>& alive) : alive(&alive) { ++alive; }
  Counted(Counted&& other) noexcept : alive(other.alive) { ++*alive; }
  ~Counted() { --*alive; }
  std::atomic<int>* alive;
};

// A list of records {element, rest?}, built from the end.
Value list_of(int64_t length, const Value& element) {
  Value list = Value::absent();
  for (int64_t i = 0; i < length; ++i) {
    list = Value::present(Value::aggregate({element, std::move(list)}, {i}));
  }
  return list;
}

TEST(Value, IsEmptyUntilSomethingIsPutIn) {
  Value value;
  EXPECT_TRUE(value.is_empty());
  EXPECT_THROW(value.machine(), TypeError);
  EXPECT_THROW(value.fields(), TypeError);
  EXPECT_THROW(value.unwrapped(), TypeError);
  EXPECT_THROW(Value::present(value), ValueError);
  EXPECT_THROW(Value::of_machine(nullptr), ValueError);
}

TEST(Value, CopiesShareWhatAMachinePutIn) {
  std::atomic<int> alive = 0;
  {
    Value value = Value::of(Counted(alive));
    Value copy = value;
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(&value.as<Counted>(), &copy.as<Counted>());
    EXPECT_EQ(value.identity(), copy.identity());
    EXPECT_TRUE(value.shared());
    Value moved = std::move(copy);
    EXPECT_TRUE(copy.is_empty());  // NOLINT: the state after the move is the subject
    value = Value();
    EXPECT_FALSE(moved.shared());
    EXPECT_EQ(alive, 1);
    Value& itself = moved;
    moved = itself;
    EXPECT_EQ(alive, 1);
    EXPECT_TRUE(moved.is_machine());
  }
  EXPECT_EQ(alive, 0);
}

TEST(Value, HoldsFieldsAndSizes) {
  std::atomic<int> alive = 0;
  Value record = Value::aggregate({Value::of(Counted(alive)), Value::absent()}, {3, 4});
  EXPECT_TRUE(record.is_aggregate());
  ASSERT_EQ(record.fields().size(), 2u);
  EXPECT_TRUE(record.fields()[0].is_machine());
  EXPECT_TRUE(record.fields()[1].is_absent());
  EXPECT_EQ(std::vector<int64_t>(record.held_sizes().begin(), record.held_sizes().end()),
            (std::vector<int64_t>{3, 4}));
  EXPECT_THROW(record.machine(), TypeError);
  EXPECT_THROW(record.unwrapped(), TypeError);
  EXPECT_EQ(Value::aggregate({}).fields().size(), 0u);
}

TEST(Value, FieldsAreMovedOutOnlyByTheirSoleOwner) {
  std::atomic<int> alive = 0;
  Value record = Value::aggregate({Value::of(Counted(alive))});
  Value copy = record;
  std::vector<Value> copied = std::move(copy).take_fields();
  EXPECT_TRUE(copied[0].shared());
  ASSERT_EQ(record.fields().size(), 1u);
  EXPECT_TRUE(record.fields()[0].is_machine());
  copied.clear();
  std::vector<Value> moved = std::move(record).take_fields();
  EXPECT_FALSE(moved[0].shared());
  EXPECT_EQ(alive, 1);
  EXPECT_THROW(std::move(moved[0]).take_fields(), TypeError);
}

TEST(Value, OptionalValuesNest) {
  Value absent = Value::absent();
  EXPECT_TRUE(absent.is_absent());
  EXPECT_FALSE(absent.is_present());
  EXPECT_THROW(absent.unwrapped(), ValueError);
  Value holds_absent = Value::present(absent);
  EXPECT_TRUE(holds_absent.is_present());
  EXPECT_FALSE(holds_absent.is_absent());
  EXPECT_TRUE(holds_absent.unwrapped().is_absent());
  Value deep = Value::present(Value::present(Value::aggregate({})));
  EXPECT_TRUE(deep.unwrapped().is_present());
  EXPECT_TRUE(deep.unwrapped().unwrapped().is_aggregate());
  EXPECT_THROW(deep.unwrapped().fields(), TypeError);
  EXPECT_THROW(deep.unwrapped().unwrapped().unwrapped(), TypeError);
}

TEST(Value, AListOfTenMillionIsFreedWithoutRecursion) {
  std::atomic<int> alive = 0;
  {
    Value list = list_of(10'000'000, Value::of(Counted(alive)));
    EXPECT_EQ(alive, 1);
  }
  EXPECT_EQ(alive, 0);
}

TEST(Value, ATreeWhoseFieldsHoldListsIsFreedOnce) {
  std::atomic<int> alive = 0;
  {
    Value element = Value::of(Counted(alive));
    Value shared = list_of(1000, element);
    std::vector<Value> branches;
    for (int i = 0; i < 100; ++i)
      branches.push_back(Value::aggregate({shared, list_of(100, element)}));
    Value tree = Value::aggregate(std::move(branches));
    Value kept = tree.fields()[50];
    tree = Value();
    shared = Value();
    EXPECT_EQ(alive, 1);
    EXPECT_TRUE(kept.fields()[0].unwrapped().is_aggregate());
  }
  EXPECT_EQ(alive, 0);
}

TEST(Value, SeveralThreadsMayDropPartsOfOneList) {
  constexpr int kThreads = 4, kParts = 25;
  std::atomic<int> alive = 0;
  {
    // Every thread holds some nodes of the same list; the last owner of a node frees it.
    std::vector<std::vector<Value>> held(kThreads);
    Value list = list_of(100'000, Value::of(Counted(alive)));
    for (int part = 0; part < kThreads * kParts; ++part) {
      held[part % kThreads].push_back(list);
      for (int i = 0; i < 1000; ++i) list = Value(list.unwrapped().fields()[1]);
    }
    std::vector<std::thread> threads;
    for (std::vector<Value>& values : held) threads.emplace_back([&values] { values.clear(); });
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(list.is_absent());
  }
  EXPECT_EQ(alive, 0);
}

}  // namespace
}  // namespace plait::ir
