#include "plait/optim/transformations/galore.h"

#include <algorithm>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/indexing/index.h"
#include "plait/ops/linalg/linalg.h"
#include "plait/ops/products/linear.h"
#include "plait/optim/inside/matrix_view.h"
#include "plait/optim/inside/transformation_rule.h"
#include "plait/optim/transformations/moments.h"
#include "plait/optim/transformations/scaling.h"
#include "plait/transform/control/control.h"

namespace plait::optim {
namespace {

bool is_tall(const MatrixView& view) { return view.rows() >= view.columns(); }

struct GaLoreRule final : TransformationRule {
  explicit GaLoreRule(const ScaleByGaLoreOptions& options)
      : TransformationRule("optim::scale_by_galore", {any_number("scale", options.scale)}),
        inner(options.base_optimizer ? *options.base_optimizer : scale_by_adam()),
        rank(whole(name + ": rank", options.rank)),
        gap(whole(name + ": update_proj_gap", options.update_proj_gap)),
        dimensions(options.weight_dimension_numbers) {}

  // None if the parameter is not projected.
  std::optional<MatrixView> matrix_of(const std::string& path, const Tensor& parameter) const {
    std::optional<GaLoreDimensionNumbers> axes;
    if (dimensions) {
      axes = dimensions(path, parameter);
    } else if (parameter.rank() == 2) {
      axes.emplace();
    }
    if (!axes) return std::nullopt;
    MatrixView view(name, parameter, axes->reduction_axis, axes->output_axis);
    if (view.has_batch()) {
      throw ValueError("{}: {} is {}, expected each axis of it in weight_dimension_numbers", name,
                       path, parameter.type().text())
          .at(Location::of_caller());
    }
    if (view.rows() == 0 || view.columns() == 0) return std::nullopt;
    return view;
  }

  State init(const Tensors& parameters) const override {
    State made;
    begin(made);
    Tensors& projectors = made.kept["projector"];
    Tensors projected;
    for (const auto& [path, value] : parameters) {
      const auto view = matrix_of(path, value);
      if (!view) {
        projectors[path] = zeros({0, 0}, value.dtype());
        projected[path] = zeros_like(value);
        continue;
      }
      const int64_t few = std::min({rank, view->rows(), view->columns()});
      projectors[path] = zeros({std::max(view->rows(), view->columns()), few}, value.dtype());
      projected[path] = zeros(
          is_tall(*view) ? Shape{few, view->columns()} : Shape{view->rows(), few}, value.dtype());
    }
    made.parts.emplace("inner", inner.init(projected));
    return made;
  }

  Tensors update(const Tensors& updates, State& state, const Tensors&,
                 const UpdateOptions&) const override {
    const Tensor factor = numbers_at(state).at("scale");
    Tensor& count = state.values.at("count");
    const Tensor is_due = remainder(count, gap) == 0;
    Tensors& projectors = state.kept.at("projector");
    Tensors projected;
    for (const auto& [path, given] : updates) {
      const auto view = matrix_of(path, given);
      projected[path] =
          view ? to_few(view->of(given), is_due, projectors.at(path), is_tall(*view)) : given;
    }
    Tensors made = update_of(inner, projected, state.parts.at("inner"), {});
    for (auto& [path, value] : made) {
      const Tensor& given = updates.at(path);
      const auto view = matrix_of(path, given);
      if (!view) continue;
      const Tensor projector = astype(projectors.at(path), value.dtype());
      const Tensor whole =
          is_tall(*view) ? matmul(projector, value) : matmul(value, matrix_transpose(projector));
      value = astype(astype(factor, wide(given.dtype())) * view->back(whole), given.dtype());
    }
    count = count + 1;
    return made;
  }

  Transformation inner;
  int64_t rank, gap;
  GaLoreDimensions dimensions;

 private:
  // The projected matrix; the projector is new if it is due.
  static Tensor to_few(const Tensor& matrix, const Tensor& is_due, Tensor& projector, bool tall) {
    const Dim few = projector.shape(1);
    const DType dtype = projector.dtype();
    const auto leading = [&]() -> Tensor {
      const auto [u, s, vh] = linalg::svd(astype(matrix, wide(matrix.dtype())));
      return astype(slice_axis(tall ? u : matrix_transpose(vh), 1, 0, few), dtype);
    };
    projector = cond(is_due, leading, [&]() -> Tensor { return projector; });
    const Tensor by = astype(projector, matrix.dtype());
    return tall ? matmul(matrix_transpose(by), matrix) : matmul(matrix, by);
  }
};

}  // namespace

Transformation scale_by_galore(const ScaleByGaLoreOptions& options) {
  return transformation_of<GaLoreRule>(options);
}

Transformation galore(Number learning_rate, const ScaleByGaLoreOptions& options,
                      Number weight_decay, std::optional<Mask> mask) {
  return chain(scale_by_galore(options),
               add_decayed_weights(std::move(weight_decay), std::move(mask)),
               scale_by_learning_rate(std::move(learning_rate)));
}

}  // namespace plait::optim
