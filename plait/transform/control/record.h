// Records of the user's own: values made of arrays and of further records, which may be absent, so
// that lists and trees are data. They go where tensors go: into functions that call themselves,
// into programs and their derivatives.
//
//   struct Tree {
//     Tensor value;
//     Maybe<Tree> left, right;
//     static Record record() { return {"tree", {"f64[3]", "@tree?", "@tree?"}}; }
//   };
//   auto total = recursive("total", [](auto self, Maybe<Tree> tree) {
//     return cond(tree.has_value(),
//                 [&](Maybe<Tree> tree) {
//                   const Tree node = tree.value();
//                   return sum(node.value) + self(node.left) + self(node.right);
//                 },
//                 [](Maybe<Tree>) { return full({}, 0., DType::f64); }, tree);
//   });
//   Maybe<Tree> gradient = grad(total)(Tree{x, Tree{y}, {}});
//
// The derivative by a record is a record of the same type; where it is absent, all of it is zero.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/trees/tree.h"
#include "plait/ir/program.h"
#include "plait/tensor/tensor.h"

namespace plait {

namespace records {

// Fields are arrays of known sizes, or optional records: `@name?`. The same name says the same
// fields everywhere in a process: TypeError where it was declared otherwise before.
void declare(std::string_view name, std::span<const ir::Type> fields);

// The record itself is of the type `@name?`.
Tensor make(std::string_view name, std::span<const Tensor> fields);
Tensor none(std::string_view name);
Tensor is_there(const Tensor& record);  // bool[]
// ValueError for one that is absent.
std::vector<Tensor> fields(const Tensor& record);

void declare_all(const ir::Program& program);  // those of its records that are such

}  // namespace records

// Instructions on such records in a program that is run among tensors.
bool is_record_instruction(const ir::Instruction& instruction);
std::vector<Tensor> run_record_instruction(const ir::Instruction& instruction,
                                           std::span<const Tensor> operands);

// What the derivative of records is made of (transform/inside/derivatives/derivative.h).
Tensor zero_record(const ir::Type& type);
Tensor sum_of_records(const Tensor& a, const Tensor& b);

// The name of a struct's record, and the types of its fields as text: "f64[3]", "@tree?".
struct Record {
  Record(std::string_view name, std::initializer_list<std::string_view> fields);

  std::string name;
};

// A struct T as a record, or none. T lists tensors and further such records, and says by a static
// `record()` what they are.
template <class T>
class Maybe {
 public:
  Maybe() : tensor_(records::none(name())) {}
  // NOLINTNEXTLINE(google-explicit-constructor): such a struct is one
  Maybe(const T& fields) : tensor_(records::make(name(), tensors_of(fields))) {}

  Tensor has_value() const { return records::is_there(tensor_); }  // bool[]
  T value() const { return with_tensors(T(), records::fields(tensor_)); }

  static constexpr auto fields() { return plait::fields<Maybe>("record", &Maybe::tensor_); }

 private:
  static const std::string& name() {
    static const Record record = T::record();
    return record.name;
  }

  Tensor tensor_;
};

}  // namespace plait
