#include "plait/ir/value.h"

#include <atomic>
#include <limits>
#include <string>

#include "plait/core/error.h"

namespace plait::ir {

struct Aggregate {
  std::atomic<uint64_t> owners{1};
  Aggregate* next_dead = nullptr;
  std::vector<Value> fields;
  std::vector<int64_t> held_sizes;
};

namespace {

// Aggregates without owners of this thread, while the first of them is being freed.
struct Dead {
  Aggregate* first = nullptr;
  bool freeing = false;
};
thread_local Dead dead;

std::string_view describe(Value::Kind kind) {
  switch (kind) {
    case Value::Kind::empty: return "no value";
    case Value::Kind::machine: return "an array";
    case Value::Kind::aggregate: return "a tuple or record";
    case Value::Kind::absent: return "an absent value";
  }
  return "";
}

[[noreturn]] void fail_as(std::string_view wanted, Value::Kind kind, bool present) {
  throw TypeError("expected {}, not {}", wanted, present ? "an optional value" : describe(kind));
}

}  // namespace

void AggregatePointer::retain() const {
  if (aggregate_) aggregate_->owners.fetch_add(1, std::memory_order_relaxed);
}

void AggregatePointer::release() noexcept {
  if (aggregate_->owners.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  aggregate_->next_dead = std::exchange(dead.first, aggregate_);
  if (dead.freeing) return;
  dead.freeing = true;
  while (dead.first) {
    std::unique_ptr<Aggregate> next(dead.first);
    dead.first = next->next_dead;
  }
  dead.freeing = false;
}

Value Value::of_machine(std::shared_ptr<const void> data) {
  if (!data) throw ValueError("a machine's value must not be null");
  Value value;
  value.kind_ = Kind::machine;
  value.machine_ = std::move(data);
  return value;
}

Value Value::aggregate(std::vector<Value> fields, std::vector<int64_t> held_sizes) {
  auto aggregate = std::make_unique<Aggregate>();
  aggregate->fields = std::move(fields);
  aggregate->held_sizes = std::move(held_sizes);
  Value value;
  value.kind_ = Kind::aggregate;
  value.aggregate_ = AggregatePointer(std::move(aggregate));
  return value;
}

Value Value::absent() {
  Value value;
  value.kind_ = Kind::absent;
  return value;
}

Value Value::present(Value value) {
  if (value.is_empty()) throw ValueError("an optional value cannot hold an empty one");
  if (value.layers_ == std::numeric_limits<uint32_t>::max()) {
    throw ValueError("optional values are nested deeper than {}", value.layers_);
  }
  ++value.layers_;
  return value;
}

const std::shared_ptr<const void>& Value::machine() const {
  if (!is_machine()) fail_as("an array", kind_, is_present());
  return machine_;
}

const Aggregate& Value::expect_aggregate() const {
  if (!is_aggregate()) fail_as("a tuple or record", kind_, is_present());
  return *aggregate_;
}

std::span<const Value> Value::fields() const { return expect_aggregate().fields; }

std::span<const int64_t> Value::held_sizes() const { return expect_aggregate().held_sizes; }

void Value::expect_present() const {
  if (is_present()) return;
  if (is_absent()) throw ValueError("the optional value is absent").hint("test is_present first");
  fail_as("an optional value", kind_, false);
}

Value Value::unwrapped() const& { return Value(*this).unwrapped(); }

Value Value::unwrapped() && {
  expect_present();
  --layers_;
  return std::move(*this);
}

std::vector<Value> Value::take_fields() && {
  expect_aggregate();
  AggregatePointer taken = std::move(aggregate_);
  *this = Value();
  // No second owner can appear: the only reference is in this function.
  if (taken->owners.load(std::memory_order_acquire) == 1) return std::move(taken->fields);
  return taken->fields;
}

const void* Value::identity() const {
  return aggregate_ ? static_cast<const void*>(aggregate_.get()) : machine_.get();
}

bool Value::shared() const {
  if (aggregate_) return aggregate_->owners.load(std::memory_order_relaxed) > 1;
  return machine_.use_count() > 1;
}

}  // namespace plait::ir
