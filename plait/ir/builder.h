// Builds functions and programs. The type rule of each instruction runs when it is added, so a
// mistake is reported where it is made.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "plait/ir/function.h"
#include "plait/ir/inference.h"
#include "plait/ir/primitive.h"
#include "plait/ir/program.h"

namespace plait::ir {

// An instruction to be added. Spans are read during the call only.
struct NewInstruction {
  const Primitive& primitive;
  std::span<const ValueId> operands = {};
  Attributes attributes = {};  // if empty, the declared defaults
  std::span<const Callee> callees = {};
  std::span<const Dim> size_arguments = {};
  std::span<const std::string> size_names =
      {};                                   // names of data-dependent sizes; generated if missing
  std::span<const Type> stated_types = {};  // required if they cannot be inferred, else checked
  Location location = {};
};

// The results of an added instruction: its values and its data-dependent sizes.
struct Added {
  ValueId first = 0;
  uint32_t count = 0;
  uint32_t instruction = 0;
  ValueId operator[](size_t i) const { return first + static_cast<ValueId>(i); }
  operator ValueId() const { return first; }  // NOLINT: most instructions have one result
};

class FunctionBuilder {
 public:
  FunctionBuilder(std::string name, const Declarations& declarations);

  Dim size_parameter(std::string_view name);  // ValueError if the name is taken
  ValueId parameter(Type type, std::string_view label = {});
  void axis(std::string name, Dim size);
  void require(SizeFact fact);             // checked on entry
  void expect_instructions(size_t count);  // reserves memory
  void set_location(Location location) { function_->location_ = location; }
  // Generated names of sizes avoid those of `around`, whose values may be captured here later. It
  // must live until this one is finished.
  void set_enclosing(const FunctionBuilder& around) { around_ = &around; }
  // Declares the types of the results, in terms of names for sizes that are passed to `finish`.
  void declare_results(std::span<const Dim> result_sizes, std::span<const Type> results);
  // Declares everything in a signature, for a function whose callers used the signature before.
  void declare(const Signature& signature, std::span<const std::string> labels = {});

  Added add(const NewInstruction& instruction);
  Added add(const Primitive& primitive, std::initializer_list<ValueId> operands = {},
            Attributes attributes = {});
  Added add(std::string_view primitive, std::initializer_list<ValueId> operands = {},
            Attributes attributes = {});
  Added call(std::string_view function, std::span<const Dim> sizes,
             std::span<const ValueId> operands);
  Added call(std::string_view function, std::initializer_list<ValueId> operands);
  ValueId literal(Literal value);
  void label(ValueId value, std::string_view label);  // made unique within the function
  std::optional<ValueId> labelled(std::string_view label) const { return labels_.find(label); }

  const Type& type_of(ValueId value) const { return function_->value_types_[value]; }
  const Function& so_far() const { return *function_; }  // readable while building
  Dim fresh_size(std::string_view hint);                 // a name not yet used here
  Dim data_dependent_size_of(const Added& added) const {
    return function_->instruction(added.instruction).size_results()[0];
  }
  bool has_size(const std::string& name) const { return size_names_.contains(name); }

  // `result_sizes` are names of data-dependent sizes in the result types, and `size_values` their
  // values in this function. The result types are those of the values; if declared before, they
  // must agree.
  std::shared_ptr<const Function> finish(std::span<const ValueId> results,
                                         std::span<const Dim> size_values = {});
  std::shared_ptr<const Function> finish(std::initializer_list<ValueId> results);

 private:
  bool is_size_taken(const std::string& name) const;
  void check_counts(const NewInstruction& instruction) const;
  Added append(const NewInstruction& instruction, Attributes attributes, Inference& inference);
  void check_declared_results(std::span<const ValueId> results,
                              std::span<const Dim> size_values) const;
  Signature signature_of_results(std::span<const ValueId> results,
                                 std::span<const Dim> size_values);

  std::shared_ptr<Function> function_;
  LabelIndex labels_;
  const Declarations& declarations_;
  std::unordered_set<std::string> size_names_;
  const FunctionBuilder* around_ = nullptr;
  bool declared_ = false;
};

// Collects functions and records. A function may be called before it is finished if its signature
// was declared.
class ProgramBuilder {
 public:
  const Declarations& declarations() const { return declarations_; }
  const std::vector<RecordType>& records() const { return records_; }
  void record(RecordType record);
  void declare(std::string_view name, const Signature& signature);
  FunctionBuilder function(std::string name) {
    return FunctionBuilder(std::move(name), declarations_);
  }
  void add(std::shared_ptr<const Function> function);
  void add_all(const ProgramBuilder& other);  // its functions and records, without duplicates
  Program finish();                           // the first function that was added is the entry

 private:
  Declarations declarations_;
  std::vector<std::shared_ptr<const Function>> functions_;
  std::vector<RecordType> records_;
};

}  // namespace plait::ir
