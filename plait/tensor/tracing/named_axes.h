// Axes with names, such as those of vmap (transform/vmap.h): a function that is recorded for one
// place along an axis may ask which place it is, and what the others have (ops/collective.h). The
// types of its values list the axes along which they differ.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/ir/primitive.h"
#include "plait/tensor/tensor.h"

namespace plait {

struct NamedAxis {
  std::string name;   // as users say it
  std::string label;  // as types and instructions say it; no other open axis has it
  Dim size;
  Tensor index;  // which place this one is
};

// An axis that is open on this thread while the object is there. ValueError for what is no name.
class NamedAxisScope {
 public:
  NamedAxisScope(std::string_view name, Dim size);
  ~NamedAxisScope();
  NamedAxisScope(const NamedAxisScope&) = delete;
  NamedAxisScope& operator=(const NamedAxisScope&) = delete;

  const std::string& label() const { return label_; }
  void set_index(const Tensor& index) const;

  static std::span<const NamedAxis> open();  // the innermost one last

 private:
  std::string label_;
};

// The innermost open axis that users call so; KeyError where there is none.
const NamedAxis& axis_called(std::string_view name);
const NamedAxis& axis_labelled(std::string_view label);
ir::AxisSet all_open_axes();

// Along which axes it differs.
ir::AxisSet axes_of(const Tensor& x);
// The same value, said to differ along these axes too.
Tensor vary_along(const Tensor& x, const ir::AxisSet& axes);
std::vector<Tensor> vary_together(std::vector<Tensor> tensors);  // along all of each other's axes

// The operands of a primitive, made to vary along the axes that it asks for: those of an ordinary
// one along the same, those of a collective along its own.
std::vector<Tensor> agreeing(const ir::Primitive& primitive, std::span<const Tensor> operands,
                             const ir::Attributes& attributes);

}  // namespace plait
