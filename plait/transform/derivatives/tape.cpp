#include "plait/transform/derivatives/tape.h"

#include <algorithm>
#include <memory>

#include "plait/core/error.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/elementwise/elementwise.h"
#include "plait/tensor/inside/tracing/trace.h"
#include "plait/transform/derivatives/follow.h"
#include "plait/transform/inside/derivatives/outer_tape.h"
#include "plait/transform/inside/derivatives/sweep.h"

namespace plait {
namespace {

// The tape of the current trace, or of the code outside of all traces.
const LevelPtr& tape_level() {
  Trace* const trace = Trace::current();
  return trace == nullptr ? Level::ground() : trace->levels().tape();
}

const Origin& origin_of(const Tensor& tensor) {
  static const Origin none;
  return tensor.derivation() ? tensor.derivation()->origin : none;
}

bool is_leaf(const Origin& origin) {
  return origin && origin.node->primitive == nullptr && !origin.node->backward;
}

// Call this before the tape is used. A jitted function may reach the outer tape through an argument
// or a captured tensor.
void expect_own_tape(const Tensor& tensor) {
  const Level& outer = *Level::ground();
  const Origin& origin = origin_of(tensor);
  bool is_jitted = false, is_outside = origin && origin.levels.contains(outer);
  for (Trace* trace = Trace::current(); trace != nullptr; trace = trace->outer()) {
    is_jitted = is_jitted || trace->run().companion() != nullptr;
    is_outside = is_outside || trace->run().has_parameter_of(outer) ||
                 trace->function().captures().has_followed(outer);
  }
  if (is_jitted && is_outside) throw UsesOuterTape(Location::of_caller());
}

Tensor cotangent_for(std::string_view function, const Tensor& result, const Tensor& given) {
  if (given) {
    if (given.dtype() == result.dtype() && same(given.shape(), result.shape())) return given;
    throw ShapeError("{}: the cotangent is {}, the result {}", function, given.type().text(),
                     result.type().text())
        .at(Location::of_caller());
  }
  if (result.rank() == 0 && is_floating(result.dtype())) return ones_like(result);
  throw ShapeError("{}: the result is {}, expected one real number", function, result.type().text())
      .at(Location::of_caller())
      .hint("reduce it, by sum or mean, or pass its cotangent");
}

void expect_followed(std::string_view function, const Tensor& result, const Level& level) {
  const Origin& origin = origin_of(result);
  if (origin && origin.levels.contains(level)) return;
  throw ValueError("{}: the {} does not depend on a tensor that requires a gradient", function,
                   result.type().text())
      .at(Location::of_caller())
      .hint(
          "begin with x = x.requires_grad(), which returns another tensor, or with tape.watch(x), "
          "outside of no_grad; results computed there need it again: "
          "w = (w - step).detach().requires_grad()");
}

template <class Visit>
void each_level(const Tensor& tensor, const Visit& visit) {
  if (!tensor.derivation()) return;
  tensor.derivation()->origin.levels.for_each(visit);
  for (const auto& each : tensor.derivation()->tangents) {
    visit(each->level);
    each_level(each->tangent, visit);
  }
}

// If outer levels follow the gradient, their nodes may lead back to its leaf, which holds it. When
// these levels are closed it is a constant, and holds no nodes any more.
void release_at_close(const std::shared_ptr<Listeners>& listeners) {
  const auto release = [weak = std::weak_ptr(listeners)] {
    const auto held = weak.lock();
    if (!held) return;
    Tensor last;  // freed after the lock
    const std::lock_guard lock(held->mutex);
    if (!held->gradient) return;
    bool is_constant = true;
    each_level(held->gradient,
               [&](const LevelPtr& level) { is_constant = is_constant && level->is_closed(); });
    if (is_constant) last = std::exchange(held->gradient, underived(held->gradient));
  };
  each_level(listeners->gradient, [&](const LevelPtr& level) {
    if (!level->is_of_tape()) level->at_close(release);
  });
}

void arrive(Node& leaf, const Tensor& cotangent) {
  const std::lock_guard lock(leaf.listeners->mutex);
  Tensor& total = leaf.listeners->gradient;
  total = total ? plait::add(total, cotangent) : cotangent;
  release_at_close(leaf.listeners);
}

std::vector<Tensor> gradients_at(const LevelPtr& level, const Tensor& result,
                                 std::span<const Tensor> inputs, const Tensor& cotangent,
                                 const GradientOptions& options) {
  expect_followed("gradient", result, *level);
  std::vector<const Node*> wanted, stops;
  for (const Tensor& input : inputs) {
    const Origin& origin = origin_of(input);
    if (origin) wanted.push_back(origin.node.get());
  }
  for (const Tensor& stop : options.stop_at) {
    if (const Origin& origin = origin_of(stop)) stops.push_back(origin.node.get());
  }
  std::optional<LevelPause> pause;
  if (!options.create_graph) pause.emplace(*level);
  Sweep sweep(*level);
  sweep.add(origin_of(result), cotangent_for("gradient", result, cotangent));
  sweep.run({.keep = options.keep || options.create_graph,
             .wanted = wanted,
             .only_wanted = true,
             .stops = stops});
  std::vector<Tensor> gradients;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Origin& origin = origin_of(inputs[i]);
    gradients.push_back(origin ? sweep.at(*origin.node, origin.result) : Tensor());
    if (gradients.back() || options.allow_unused) continue;
    throw ValueError("gradient: the result does not depend on input {}, {}", i,
                     inputs[i].type().text())
        .at(Location::of_caller())
        .hint("set allow_unused to get an empty tensor for it");
  }
  return gradients;
}

}  // namespace

std::vector<Tensor> gradient(const Tensor& result, std::span<const Tensor> inputs,
                             const Tensor& cotangent, const GradientOptions& options) {
  expect_own_tape(result);
  return gradients_at(tape_level(), result, inputs, cotangent, options);
}

Tensor gradient(const Tensor& result, const Tensor& input, const Tensor& cotangent,
                const GradientOptions& options) {
  return gradient(result, {&input, 1}, cotangent, options)[0];
}

Tensor Tensor::requires_grad() const {
  if (!is_inexact(dtype())) {
    throw TypeError("requires_grad: a {} has no gradient", type().text())
        .at(Location::of_caller())
        .hint("convert it with astype");
  }
  Tensor followed = begin_following(*this, tape_level());
  followed.derivation()->origin.node->listeners = std::make_shared<Listeners>();
  return followed;
}

void Tensor::backward(const BackwardOptions& options) const { backward(Tensor(), options); }

void Tensor::backward(const Tensor& cotangent, const BackwardOptions& options) const {
  expect_own_tape(*this);
  const LevelPtr& level = tape_level();
  expect_followed("backward", *this, *level);
  std::optional<LevelPause> pause;
  if (!options.create_graph) pause.emplace(*level);
  Sweep sweep(*level);
  sweep.add(origin_of(*this), cotangent_for("backward", *this, cotangent));
  sweep.run({.keep = options.keep || options.create_graph, .at_leaf = arrive});
}

Tensor Tensor::grad() const {
  expect_own_tape(*this);
  const Origin& origin = origin_of(*this);
  if (!is_leaf(origin) || !origin.node->listeners) return {};
  const std::lock_guard lock(origin.node->listeners->mutex);
  return origin.node->listeners->gradient;
}

void Tensor::set_grad(const Tensor& gradient) const {
  expect_own_tape(*this);
  const Origin& origin = origin_of(*this);
  if (!is_leaf(origin) || !origin.node->listeners) {
    throw ValueError("set_grad: the {} is not a leaf that requires a gradient", type().text())
        .at(Location::of_caller())
        .hint("begin with x = x.requires_grad()");
  }
  if (gradient.dtype() != dtype() || gradient.shape() != shape()) {
    throw ShapeError("set_grad: the gradient is {}, expected that of {}", gradient.type().text(),
                     type().text())
        .at(Location::of_caller());
  }
  const std::lock_guard lock(origin.node->listeners->mutex);
  origin.node->listeners->gradient = gradient;
  release_at_close(origin.node->listeners);
}

void Tensor::zero_grad() const {
  expect_own_tape(*this);
  const Origin& origin = origin_of(*this);
  if (!is_leaf(origin) || !origin.node->listeners) return;
  const std::lock_guard lock(origin.node->listeners->mutex);
  origin.node->listeners->gradient = {};
}

Tensor Tensor::detach() const { return stop_gradient(*this); }

uint64_t register_hook(const Tensor& tensor, Listeners::Hook hook) {
  expect_own_tape(tensor);
  static std::atomic<uint64_t> newest{0};
  const Origin& origin = origin_of(tensor);
  if (!origin) {
    throw ValueError("register_hook: the {} does not depend on a tensor that requires a gradient",
                     tensor.type().text())
        .at(Location::of_caller());
  }
  if (!origin.node->listeners) origin.node->listeners = std::make_shared<Listeners>();
  const std::lock_guard lock(origin.node->listeners->mutex);
  origin.node->listeners->hooks.push_back({++newest, origin.result, std::move(hook)});
  return origin.node->listeners->hooks.back().number;
}

void remove_hook(const Tensor& tensor, uint64_t number) {
  const Origin& origin = origin_of(tensor);
  if (!origin || !origin.node->listeners) return;
  const std::lock_guard lock(origin.node->listeners->mutex);
  std::erase_if(origin.node->listeners->hooks,
                [=](const Listeners::Entry& entry) { return entry.number == number; });
}

Tape::Tape() : Tape(Options()) {}
Tape::Tape(Options options) : level_(Level::open_of_tape()), options_(options) {}
Tape::~Tape() { level_->close(); }

Tensor Tape::watch(const Tensor& tensor) const {
  if (!is_inexact(tensor.dtype())) {
    throw TypeError("watch: a {} has no gradient", tensor.type().text()).at(Location::of_caller());
  }
  return begin_following(tensor, level_);
}

std::vector<Tensor> Tape::gradient(const Tensor& result, std::span<const Tensor> inputs,
                                   const Tensor& cotangent) {
  return gradients_at(level_, result, inputs, cotangent, {.keep = options_.persistent});
}

Tensor Tape::gradient(const Tensor& result, const Tensor& input, const Tensor& cotangent) {
  return gradient(result, {&input, 1}, cotangent)[0];
}

}  // namespace plait
