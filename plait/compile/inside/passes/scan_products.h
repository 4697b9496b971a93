// Finds products in the body of a scan that can be computed outside of it, together for all rounds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plait/ir/program.h"
#include "plait/ir/structure.h"

namespace plait::compile {

// The body of a scan, by how the scan passes its values on.
class ScanBody {
 public:
  ScanBody(const ir::Function& function, const ir::ScanAttributes& scan);

  const ir::Function& function() const { return function_; }
  const ir::Type& type_of(ir::ValueId value) const { return function_.type_of(value); }
  size_t constants() const { return constants_; }
  size_t carries() const { return carries_; }
  ir::ValueId carry(size_t i) const { return static_cast<ir::ValueId>(constants_ + i); }
  bool is_constant(ir::ValueId value) const { return value < constants_; }
  bool is_slice(ir::ValueId value) const {
    return value >= constants_ + carries_ && value < function_.parameter_count();
  }
  bool has_one_reader(ir::ValueId value) const { return reads_[value] == 1; }
  // True if the caller has the value of all rounds, or what it is converted or transposed from.
  bool has_stack(ir::ValueId value) const;
  // The value behind transpositions and conversions.
  ir::ValueId source_of(ir::ValueId value) const;

 private:
  const ir::Function& function_;
  const size_t constants_, carries_;
  std::vector<uint32_t> reads_;  // by value
};

// A carry whose next value is the sum of it and of addends.
struct Accumulated {
  size_t carry;
  std::vector<ir::ValueId> outside;  // addends whose sum is computed after the scan
  std::vector<ir::ValueId> inside;   // the other ones
};

class ScanProducts {
 public:
  explicit ScanProducts(const ScanBody& body);

  // Products of a slice and a constant.
  const std::vector<ir::Instruction>& before() const { return before_; }
  // Sums of products, and of their factors.
  const std::vector<Accumulated>& after() const { return after_; }
  // Factors of all rounds that the scan is to return.
  const std::vector<ir::ValueId>& stacked() const { return stacked_; }
  bool empty() const { return before_.empty() && after_.empty(); }

  // False for a carry of which nothing is left in the scan.
  bool keeps_result(size_t i) const { return i >= body_.carries() || !is_dropped_[i]; }
  bool keeps_parameter(ir::ValueId p) const {
    return p < body_.constants() || keeps_result(p - body_.constants());
  }
  size_t count_of_kept_carries() const;
  // True for the sum of an accumulated carry and its addends, and for parts of it.
  bool is_sum(ir::ValueId value) const { return is_sum_[value]; }

 private:
  bool is_product_of_slice(const ir::Instruction& instruction) const;
  std::vector<ir::ValueId> addends_of(size_t carry) const;
  std::optional<ir::Instruction> summed(ir::ValueId addend, const ir::Primitive& primitive) const;
  std::optional<ir::Instruction> product_of(size_t carry, ir::ValueId addend) const;
  ir::ValueId untransposed(ir::ValueId value) const;
  void note_factors(size_t carry, const std::vector<ir::ValueId>& addends);
  bool is_stacked(ir::ValueId value) const;
  bool is_outside(size_t carry, ir::ValueId addend) const;
  void note(size_t carry, const std::vector<ir::ValueId>& addends);
  void mark_sums(size_t carry);
  bool is_part_of_sum(ir::ValueId value) const;

  const ScanBody& body_;
  std::vector<ir::Instruction> before_;
  std::vector<Accumulated> after_;
  std::vector<ir::ValueId> stacked_;
  std::vector<bool> is_dropped_;  // by carry
  std::vector<bool> is_sum_;      // by value
};

}  // namespace plait::compile
