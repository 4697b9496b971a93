// Named axes, such as those of vmap (transform/vmap.h). A function that is recorded for one sample
// along an axis can query its index, and exchange values with the other samples (ops/collective.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plait/core/ambient.h"
#include "plait/ir/type.h"
#include "plait/tensor/tensor.h"

namespace plait {

struct NamedAxis {
  std::string name;   // as the user wrote it
  std::string label;  // in types and instructions; unique among the open axes
  Dim size;
  Tensor index;  // position of this sample along the axis
};

// Opens an axis on this thread for the lifetime of the object. ValueError for an invalid name.
class NamedAxisScope {
 public:
  NamedAxisScope(std::string_view name, Dim size);
  ~NamedAxisScope();
  NamedAxisScope(const NamedAxisScope&) = delete;
  NamedAxisScope& operator=(const NamedAxisScope&) = delete;

  const std::string& label() const { return axis_.label; }
  void set_index(const Tensor& index) { axis_.index = index; }

 private:
  friend std::vector<const NamedAxis*> open_axes();

  NamedAxis axis_;
  NamedAxisScope* const outer_;
};

std::vector<const NamedAxis*> open_axes();  // open axes of this thread, innermost last
inline bool has_open_axes() { return ambient.axes != nullptr; }

// The innermost open axis of that name; KeyError if there is none.
const NamedAxis& axis_called(std::string_view name);
const NamedAxis& axis_labelled(std::string_view label);
ir::AxisSet all_open_axes();

}  // namespace plait
