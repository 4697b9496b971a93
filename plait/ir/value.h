// A value during evaluation: opaque data of the machine, or an aggregate of values.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace plait::ir {

struct Aggregate;

// Reference-counted pointer to an aggregate. Freeing does not recurse, so a list of any length may
// be freed on any thread.
class AggregatePointer {
 public:
  AggregatePointer() = default;
  explicit AggregatePointer(std::unique_ptr<Aggregate> aggregate)
      : aggregate_(aggregate.release()) {}
  AggregatePointer(const AggregatePointer& other) : aggregate_(other.aggregate_) { retain(); }
  AggregatePointer(AggregatePointer&& other) noexcept
      : aggregate_(std::exchange(other.aggregate_, nullptr)) {}
  AggregatePointer& operator=(AggregatePointer other) noexcept {
    std::swap(aggregate_, other.aggregate_);
    return *this;
  }
  ~AggregatePointer() {
    if (aggregate_) release();
  }

  Aggregate* get() const { return aggregate_; }
  Aggregate& operator*() const { return *aggregate_; }
  Aggregate* operator->() const { return aggregate_; }
  explicit operator bool() const { return aggregate_ != nullptr; }

 private:
  void retain() const;
  void release() noexcept;

  Aggregate* aggregate_ = nullptr;
};

// Cheap to copy: copies share their immutable content.
class Value {
 public:
  enum class Kind : uint8_t { empty, machine, aggregate, absent };

  Value() = default;  // empty: no value
  Value(const Value&) = default;
  Value(Value&& other) noexcept
      : kind_(std::exchange(other.kind_, Kind::empty)),
        layers_(std::exchange(other.layers_, 0)),
        machine_(std::move(other.machine_)),
        aggregate_(std::move(other.aggregate_)) {}
  Value& operator=(Value other) noexcept {
    kind_ = other.kind_;
    layers_ = other.layers_;
    machine_.swap(other.machine_);
    std::swap(aggregate_, other.aggregate_);
    return *this;
  }
  ~Value() = default;
  // Data of the machine; only the machine knows its type.
  static Value of_machine(std::shared_ptr<const void> data);
  template <class T>
  static Value of(T data) {
    return of_machine(std::make_shared<T>(std::move(data)));
  }
  // A tuple, or a record with its held sizes.
  static Value aggregate(std::vector<Value> fields, std::vector<int64_t> held_sizes = {});
  static Value absent();
  // An optional value that is present. `present(absent())` is an optional of an optional that is
  // absent.
  static Value present(Value value);

  bool is_empty() const { return kind_ == Kind::empty; }
  bool is_machine() const { return kind_ == Kind::machine && layers_ == 0; }
  bool is_aggregate() const { return kind_ == Kind::aggregate && layers_ == 0; }
  bool is_absent() const { return kind_ == Kind::absent && layers_ == 0; }
  bool is_present() const { return layers_ > 0; }

  // Each of these throws a TypeError that names the actual kind if the value is of another kind.
  const std::shared_ptr<const void>& machine() const;
  template <class T>
  const T& as() const {
    return *static_cast<const T*>(machine().get());
  }
  std::span<const Value> fields() const;
  std::span<const int64_t> held_sizes() const;
  Value unwrapped() const&;  // the content of a present value; ValueError for an absent one
  Value unwrapped() &&;
  // The fields of a value that is not needed any more: moved if it has no other owner.
  std::vector<Value> take_fields() &&;

  // Equal for copies of one value; used to recognise shared parts during traversal.
  const void* identity() const;
  bool shared() const;

 private:
  const Aggregate& expect_aggregate() const;
  void expect_present() const;

  Kind kind_ = Kind::empty;
  uint32_t layers_ =
      0;  // number of times `present` was applied: optional values need no memory of their own
  std::shared_ptr<const void> machine_;
  AggregatePointer aggregate_;
};

}  // namespace plait::ir
