// User-defined records: structs of arrays and of further records, which may be absent, so that
// lists and trees are data. They are used like tensors: in recursive functions, in programs and in
// their derivatives.
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
// The gradient with respect to a record is a record of the same type; an absent one
// represents zeros.
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

// Fields are arrays of known sizes, or optional records, `@name?`. A name has one declaration in a
// process: TypeError if it was declared with other fields before.
void declare(std::string_view name, std::span<const ir::Type> fields);

// The result has the type `@name?`.
Tensor make(std::string_view name, std::span<const Tensor> fields);
Tensor none(std::string_view name);
Tensor is_there(const Tensor& record);  // bool[]
// ValueError if the record is absent.
std::vector<Tensor> fields(const Tensor& record);

}  // namespace records

// The name of a struct's record, and its field types as text: "f64[3]", "@tree?".
struct Record {
  Record(std::string_view name, std::initializer_list<std::string_view> fields);

  std::string name;
};

// A record with the fields of the struct T, or none. T lists tensors and further records, and
// declares their types in a static function `record()`.
template <class T>
class Maybe {
 public:
  Maybe() : tensor_(records::none(name())) {}
  // NOLINTNEXTLINE(google-explicit-constructor): implicit by design
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
