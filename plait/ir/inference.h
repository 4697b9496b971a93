// What a type rule sees and says.
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

namespace plait::ir {

struct Primitive;

// The signatures and records that a function may refer to.
class Declarations {
 public:
  void add(std::string_view function, const Signature& signature);  // again with the same one: fine
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
  std::span<const Type> stated;  // the result types as written; empty when none were
  const Declarations& declarations;
  const Mesh& axes;  // of the function that the instruction is in
  std::function<Dim(std::string_view hint)>
      name_size;  // gives sizes that are born here their names
  Location location = {};

  std::vector<Type> results = {};      // what the rule adds
  std::vector<Dim> size_results = {};  // what born() gave

  template <class T>
  const T& attributes_as() const {
    return attributes.as<T>();
  }
  // A size that this instruction brings into being.
  Dim born(std::string_view hint);
  void give(Type type) { results.push_back(std::move(type)); }

  // A callee's signature in terms of the caller's sizes. `leading` are sizes that the instruction
  // itself provides before those written at the callee (unwind). KeyError when it is unknown.
  const Signature& callee(size_t i) const;
  Signature callee_at(size_t i, std::span<const Dim> sizes) const;
  // Its result types where the sizes in them are called `result_sizes`.
  std::vector<Type> callee_results(size_t i, std::span<const Dim> sizes,
                                   std::span<const Dim> result_sizes) const;
  const RecordType& record(const Type& type) const;
  const Type& stated_result(size_t i) const;  // fails when the types were not stated

  // "add: operand 1 is f32[3], expected f32[n]" and so on, at the instruction's location.
  void expect_operand(size_t i, const Type& wanted, std::string_view what = {}) const;
  void expect_array(size_t i, DTypeSet dtypes) const;
  const Type& array(size_t i = 0) const;  // the operand, which is expected to be an array
  void expect_alike(const Type& a, const Type& b) const;  // in dtype and sizes; ShapeError
  void expect_same(const Type& given, const Type& wanted, std::string_view what) const;
  template <class... Arguments>
  [[noreturn]] void fail(fmt::format_string<Arguments...> format, Arguments&&... arguments) const {
    fail_with(fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  [[noreturn]] void fail_with(const std::string& message) const;  // a TypeError

  // Runs the primitive's rule (or its index signature's), then the rules that hold for all: axes,
  // stated types.
  void run();
};

}  // namespace plait::ir
