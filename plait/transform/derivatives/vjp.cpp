#include "plait/transform/derivatives/vjp.h"

#include "plait/core/error.h"
#include "plait/ir/structure.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/ops/inside/along.h"
#include "plait/ops/reductions/reduce.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/tensor/tracing/named_axes.h"
#include "plait/transform/derivatives/follow.h"
#include "plait/transform/inside/derivatives/sweep.h"
#include "plait/transform/inside/derivatives/tangents.h"

namespace plait {
namespace {

// The types of leaves of trees; none if they are empty.
using LeafType = std::optional<OperandType>;
LeafType type_of_leaf(const Tensor& leaf) {
  return leaf ? LeafType(OperandType(leaf)) : std::nullopt;
}

// ShapeError or TypeError unless the tensor is a valid tangent or cotangent of `what`.
void check_fits(std::string_view function, const Tensor& given, const LeafType& leaf,
                const std::string& what) {
  if (!given) return;
  if (!leaf) {
    throw TypeError("{}: {} is an empty tensor, but {} is given for it", function, what,
                    given.type().text())
        .at(Location::of_caller());
  }
  const OperandType& wanted = *leaf;
  const bool is_array = wanted.type().is_array();
  if (!is_array && given.type() == wanted.type()) return;
  if (is_array && !given.is_array()) {
    throw TypeError("{}: {} is {}, but {} is given for it", function, what, wanted.text(),
                    given.type().text())
        .at(Location::of_caller());
  }
  if (!ir::has_tangent(wanted.type())) {
    throw TypeError("{}: {} is {}, which has no derivative, but {} is given for it", function, what,
                    wanted.text(), given.type().text())
        .at(Location::of_caller())
        .hint("pass nothing for it: None, an empty Tensor() in C++");
  }
  if (!is_array || given.dtype() != wanted.dtype()) {
    throw TypeError("{}: {} is {}, but {} is given for it", function, what, wanted.text(),
                    given.type().text())
        .at(Location::of_caller());
  }
  if (!same(given.shape(), wanted.shape())) {
    throw ShapeError("{}: {} is {}, but {} is given for it", function, what, wanted.text(),
                     given.type().text())
        .at(Location::of_caller());
  }
}

// If the cotangent varies along a named axis and the result does not, the cotangents of all places
// are summed.
Tensor combined_along_axis(const Tensor& cotangent, const OperandType& result) {
  ir::AxisSet axes = axes_of(cotangent);
  if (axes.empty()) return cotangent;
  for (const std::string& axis : result.type().all_varying()) axes.erase(axis);
  return axes.empty() ? cotangent : sum_along(cotangent, axes);
}

Tensor zeros_of_leaf(const LeafType& type) { return type ? zeros_of(*type) : Tensor(); }

// Zeros like a buffer, which may be an integer.
Tensor zeros_of_buffer(const LeafType& type) {
  return type && type->is_array() ? zeros(type->shape(), type->dtype()) : zeros_of_leaf(type);
}

}  // namespace

namespace linearity {

bool is_staging() { return Trace::current() != nullptr; }

Tensor zeros_like(const Tensor& leaf) { return plait::zeros_like(leaf); }

Tensor numbers_like(const Tensor& leaf) {
  const Tensor numbers = sin(astype(iota(leaf.shape().element_count()) + 1, DType::f64));
  return astype(reshape(numbers, leaf.shape()), leaf.dtype());
}

void check(std::span<const Tensor> values, std::span<const Tensor> derivatives) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (!has_tangent(values[i]) || same(values[i].shape().element_count(), Dim(0))) continue;
    const auto largest = [](const Tensor& x) {
      return astype(max(absolute(x)), DType::f64).item<double>();
    };
    const double difference = largest(values[i] - derivatives[i]);
    const int64_t bytes = size_of(values[i].dtype()) / (is_complex(values[i].dtype()) ? 2 : 1);
    const double allowed = bytes == 8 ? 1e-9 : bytes == 4 ? 1e-3 : 0.1;
    if (difference <= allowed * std::max(1.0, largest(values[i]))) continue;
    throw ValueError("linear_transpose: the function is not linear: result {} differs by {}", i,
                     difference)
        .at(Location::of_caller())
        .hint("use vjp, at the point where its derivative is needed");
  }
}

}  // namespace linearity

namespace {

uint16_t tag_of_activations() {
  static const uint16_t index = DefaultMemoryTag::index_of("activations");
  return index;
}

uint16_t tag_of_gradients() {
  static const uint16_t index = DefaultMemoryTag::index_of("gradients");
  return index;
}

}  // namespace

Pullback::Pullback() : Pullback(Level::open()) {
  tag_ = std::make_unique<DefaultMemoryTag>(tag_of_activations());
}
Pullback::Pullback(LevelPtr level) : level_(std::move(level)) {}

Pullback::~Pullback() {
  if (level_) level_->close();
}

Tensor Pullback::begin(const Tensor& argument) {
  begin_constant(argument);
  is_constant_.back() = false;
  if (!argument || !has_tangent(argument)) return argument;
  Tensor followed = begin_following(argument, level_);
  leaves_.back() = followed.derivation()->origin.node;
  return followed;
}

Tensor Pullback::begin_constant(const Tensor& argument) {
  arguments_.push_back(type_of_leaf(argument));
  leaves_.emplace_back();
  is_constant_.push_back(true);
  return argument;
}

Tensor Pullback::finish(const Tensor& result) {
  results_.push_back(result && result.derivation() ? result.derivation()->origin : Origin());
  result_types_.push_back(type_of_leaf(result));
  return passed(result);
}

Tensor Pullback::passed(const Tensor& result) const {
  return result ? below(result, level_->number()) : result;
}

void Pullback::close() {
  tag_.reset();
  level_->close();
}

std::vector<Tensor> Pullback::operator()(std::span<const Tensor> cotangents, bool keep) const {
  if (cotangents.size() != results_.size()) {
    throw ValueError("vjp: {} cotangents for {} results", cotangents.size(), results_.size())
        .at(Location::of_caller());
  }
  const DefaultMemoryTag tag(tag_of_gradients());
  Sweep sweep(*level_);
  for (size_t i = 0; i < results_.size(); ++i) {
    check_fits("vjp", cotangents[i], result_types_[i], fmt::format("result {}", i));
    if (!cotangents[i]) continue;
    sweep.add(results_[i], combined_along_axis(cotangents[i], *result_types_[i]));
  }
  std::vector<const Node*> wanted;
  for (const NodePtr& leaf : leaves_) {
    if (leaf) wanted.push_back(leaf.get());
  }
  sweep.run({.keep = keep, .wanted = wanted});
  std::vector<Tensor> given;
  for (size_t i = 0; i < leaves_.size(); ++i) {
    Tensor cotangent = leaves_[i] ? sweep.at(*leaves_[i]) : Tensor();
    if (!cotangent)
      cotangent = is_constant_[i] ? zeros_of_buffer(arguments_[i]) : zeros_of_leaf(arguments_[i]);
    given.push_back(std::move(cotangent));
  }
  return given;
}

std::vector<Tensor> Pullback::push(std::span<const Tensor> tangents) const {
  if (tangents.size() != arguments_.size()) {
    throw ValueError("linearize: {} tangents for {} arguments", tangents.size(), arguments_.size())
        .at(Location::of_caller());
  }
  for (size_t i = 0; i < tangents.size(); ++i) {
    check_fits("linearize", tangents[i], arguments_[i], fmt::format("argument {}", i));
  }
  std::vector<Tensor> given = sweep_forward(*level_, results_, leaves_, tangents);
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i]) given[i] = zeros_of_leaf(result_types_[i]);
  }
  return given;
}

void Pullback::expect_linear() const { refuse_nonlinear_steps(*level_, results_); }

Pushforward::Pushforward() : level_(Level::open()) {}
Pushforward::~Pushforward() { close(); }
void Pushforward::close() { level_->close(); }

Tensor Pushforward::begin(const Tensor& argument, const Tensor& tangent, std::string_view path) {
  check_fits("jvp", tangent, type_of_leaf(argument), fmt::format("argument {}", path));
  // The argument must vary along the axes of its tangent.
  return tangent ? with_tangent(vary_along(argument, axes_of(tangent)), level_, tangent) : argument;
}

std::pair<Tensor, Tensor> Pushforward::finish(const Tensor& result) {
  if (!result) return {};
  Tensor tangent = tangent_of(result, *level_);
  if (!tangent) tangent = zeros_of(OperandType(result));
  return {below(result, level_->number()), std::move(tangent)};
}

}  // namespace plait
