// The input and output of a type rule.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/numbers/dtype_set.h"
#include "plait/ir/function.h"
#include "plait/ir/index_signature.h"

namespace plait::ir {

struct Primitive;

// The signatures and records that a function may refer to.
class Declarations {
 public:
  void add(std::string_view function, const Signature& signature);  // repeating is allowed
  void add(const RecordType& record);
  const Signature* find_function(std::string_view name) const;
  const RecordType* find_record(std::string_view name) const;

 private:
  std::unordered_map<std::string, Signature> functions_;
  std::unordered_map<std::string, RecordType> records_;
};

class Inference {
 public:
  const Primitive& primitive;
  std::span<const Type> operands;
  const Attributes& attributes;
  std::span<const Callee> callees;
  std::span<const Dim> size_arguments;
  std::span<const Type> stated;  // the result types as written; empty if not stated
  const Declarations& declarations;
  const Mesh& axes;                                     // axes of the instruction's function
  std::function<Dim(std::string_view hint)> name_size;  // chooses names of data-dependent sizes
  Location location = {};

  std::vector<Type> results = {};      // added by the rule
  std::vector<Dim> size_results = {};  // the sizes returned by new_size()

  template <class T>
  const T& attributes_as() const {
    return attributes.as<T>();
  }
  // A new data-dependent size, defined by this instruction.
  Dim new_size(std::string_view hint);
  void give(Type type) { results.push_back(std::move(type)); }

  // A callee's signature in terms of the caller's sizes. `leading` are sizes that the instruction
  // itself provides before those written at the callee (unwind). KeyError if it is unknown.
  const Signature& callee(size_t i) const;
  Signature callee_at(size_t i, std::span<const Dim> sizes) const;
  // Its result types, with `result_sizes` as the names of their data-dependent sizes.
  std::vector<Type> callee_results(size_t i, std::span<const Dim> sizes,
                                   std::span<const Dim> result_sizes) const;
  const RecordType& record(const Type& type) const;
  const Type& stated_result(size_t i) const;  // error if the types were not stated

  // These throw errors such as "add: operand 1 is f32[3], expected f32[n]", with the instruction's
  // location.
  void expect_operand(size_t i, const Type& wanted, std::string_view what = {}) const;
  void expect_array(size_t i, DTypeSet dtypes) const;
  const Type& array(size_t i = 0) const;                  // the operand, which must be an array
  void expect_alike(const Type& a, const Type& b) const;  // same dtype and sizes; else ShapeError
  void expect_same(const Type& given, const Type& wanted, std::string_view what) const;
  template <class... Arguments>
  [[noreturn]] void fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    fail_with(fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  [[noreturn]] void fail_with(const std::string& message) const;  // throws a TypeError

  // Runs the primitive's rule (or the one derived from its index signature), then the common rules:
  // axes, stated types.
  void run();
};

// "... , ... -> ..." for an elementwise primitive, else the declared signature; ValueError if there
// is none.
IndexSignature signature_of(const Inference& inference);

}  // namespace plait::ir
