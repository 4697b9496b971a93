// A machine for tests and small examples: an array is a dtype, sizes, and its elements as doubles.
// Integers are exact up to 2^53. Slow and simple; it counts its arrays.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "plait/ir/evaluation/machine.h"

namespace plait::ir {

class ScalarMachine : public Machine {
 public:
  ScalarMachine();

  Value scalar(DType dtype, double value);
  Value vector(DType dtype, std::vector<double> elements);
  Value array(DType dtype, std::vector<int64_t> sizes, std::vector<double> elements);

  static const std::vector<double>& elements(const Value& array);
  static double number(const Value& scalar);
  static std::string text(const Value& value);  // f64[2](1, 2), (…) for tuples and records, absent

  void run(PrimitiveCall& call) override;
  Value literal(const Literal& literal) override;
  Value from_size(int64_t size, DType dtype) override;
  Value from_boolean(bool truth) override;
  int64_t to_integer(const Value& scalar) override;
  bool to_boolean(const Value& scalar) override;
  ArraySizes sizes_of(const Value& array) override;
  Value slice(const Value& stacked, int64_t index) override;
  Value stack(std::span<const Value> slices, const ArraySizes& each) override;

  // Computes elementwise primitives too with the loop nests of their index signatures, instead of
  // in one pass.
  void compute_by_loops(bool by_loops) { by_loops_ = by_loops; }

  const std::vector<std::string>& printed() const { return printed_; }
  int64_t ticks() const { return ticks_; }
  int64_t live() const { return counts_->live; }  // number of existing arrays
  int64_t peak() const { return counts_->peak; }  // its maximum
  void forget_peak() { counts_->peak.store(counts_->live); }

 private:
  friend struct ScalarArray;
  struct Counts {
    std::atomic<int64_t> live{0}, peak{0};
  };

  std::shared_ptr<Counts> counts_;
  std::vector<std::string> printed_;
  int64_t ticks_ = 0;
  bool by_loops_ = false;
};

}  // namespace plait::ir
