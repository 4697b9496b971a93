// Derivatives of a function as it runs: reverse mode (vjp) and forward mode (jvp). The function may
// do whatever host code does: read values, branch on them, loop.
//
//   auto [y, pull] = vjp([](Tensor x) { return sin(x); }, x);
//   auto [dx] = pull(ones_like(y));
//   auto [z, dz] = jvp([](Tensor x) { return sin(x); }, std::tuple(x), std::tuple(dx));
//
// Arguments and results are trees of tensors (core/trees/tree.h). A leaf that is neither real nor
// complex, or that is empty, has no derivative; an empty tensor takes its place. The cotangent of a
// buffer (Buffers) is 0: it is not computed, and takes no memory.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/core/trees/tree.h"
#include "plait/tensor/memory/memory.h"
#include "plait/tensor/tracing/derivation.h"

namespace plait {

// The pullback of a function on tensors. Operations are recorded between `begin` and `finish`; then
// the backward pass may be run many times.
class Pullback {
 public:
  Pullback();
  explicit Pullback(LevelPtr level);
  ~Pullback();
  Pullback(Pullback&&) noexcept = default;
  Pullback& operator=(Pullback&&) noexcept = default;

  Tensor begin(const Tensor& argument);
  Tensor begin_constant(const Tensor& argument);  // its cotangent is 0
  Tensor finish(const Tensor& result);            // once for each result
  Tensor passed(const Tensor& result) const;      // a result without a cotangent (aux)
  void close();

  // Returns the cotangents of the arguments; zeros for arguments that no result depends on. With
  // `keep` it may be called again.
  std::vector<Tensor> operator()(std::span<const Tensor> cotangents, bool keep = true) const;

  // The linearisation at the same point: the results' tangents from the arguments' tangents.
  std::vector<Tensor> push(std::span<const Tensor> tangents) const;

  // ValueError that names an operation whose derivative depends on the arguments.
  void expect_linear() const;

 private:
  LevelPtr level_;
  std::unique_ptr<DefaultMemoryTag> tag_;  // marks what is computed until close()
  std::vector<NodePtr> leaves_;  // one an argument; null for arguments without a derivative
  std::vector<bool> is_constant_;
  std::vector<std::optional<OperandType>> arguments_;  // none for empty tensors
  std::vector<Origin> results_;
  std::vector<std::optional<OperandType>> result_types_;
};

// Forward mode for a function on tensors, while the object exists.
class Pushforward {
 public:
  Pushforward();
  ~Pushforward();
  Pushforward(const Pushforward&) = delete;
  Pushforward& operator=(const Pushforward&) = delete;

  // An empty tangent is zero. TypeError or ShapeError if the tangent does not fit.
  Tensor begin(const Tensor& argument, const Tensor& tangent, std::string_view path = {});
  // Returns the result and its tangent.
  std::pair<Tensor, Tensor> finish(const Tensor& result);
  void close();  // ends forward mode early

 private:
  LevelPtr level_;
};

// The pullback of one call f(arguments…).
template <class Result, class Arguments>
struct Pull {
  std::shared_ptr<Pullback> pullback;
  Arguments arguments;  // for their structure; without tensors

  // Returns the cotangents of all arguments.
  Arguments operator()(const Result& cotangent) const {
    return with_tensors(arguments, (*pullback)(tensors_of(cotangent)));
  }
};

namespace pullbacks {

enum class OfBuffers { none, cotangents };

template <class F, class... Arguments>
auto take(OfBuffers of_buffers, const F& f, const Arguments&... arguments) {
  using All = std::tuple<Arguments...>;
  auto pullback = std::make_shared<Pullback>();
  All all(arguments...);
  All followed = all;
  for_each_leaf_and_role(followed, [&](std::string_view, Tensor& leaf, bool is_buffer) {
    const bool is_constant = is_buffer && of_buffers == OfBuffers::none;
    leaf = is_constant ? pullback->begin_constant(leaf) : pullback->begin(leaf);
  });
  auto value = std::apply(f, std::move(followed));
  value = map_leaves(std::move(value), [&](const Tensor& leaf) { return pullback->finish(leaf); });
  pullback->close();
  using Result = decltype(value);
  all = without_tensors(std::move(all));
  return std::pair{std::move(value), Pull<Result, All>{pullback, std::move(all)}};
}

}  // namespace pullbacks

template <class F, class... Arguments>
auto vjp(const F& f, const Arguments&... arguments) {
  return pullbacks::take(pullbacks::OfBuffers::none, f, arguments...);
}

// The linearisation of a function at a point: maps the arguments' tangents, those of buffers too,
// to the result's tangent without running the function again.
template <class Result, class... Arguments>
struct Linear {
  std::shared_ptr<Pullback> pullback;
  Result structure;  // without tensors

  Result operator()(const Arguments&... tangents) const {
    return with_tensors(structure, pullback->push(tensors_of(std::tuple(tangents...))));
  }
};

// Returns the result, and the linear function of tangents.
template <class F, class... Arguments>
auto linearize(const F& f, const Arguments&... arguments) {
  auto [value, pull] = pullbacks::take(pullbacks::OfBuffers::cotangents, f, arguments...);
  using Result = decltype(value);
  Linear<Result, Arguments...> linear{pull.pullback, without_tensors(value)};
  return std::pair{std::move(value), std::move(linear)};
}

namespace linearity {

bool is_staging();
Tensor zeros_like(const Tensor& leaf);
Tensor numbers_like(const Tensor& leaf);  // distinct values
// ValueError unless the values at a point equal the derivatives there in the direction of that
// point: f(x) = f'(x) x for a linear f.
void check(std::span<const Tensor> values, std::span<const Tensor> derivatives);

}  // namespace linearity

// The transpose of a linear function: maps the cotangent of its result to those of its arguments,
// of which only the types matter. ValueError if the function is not linear; in a trace this is not
// checked, since there are no values.
template <class F, class... Arguments>
auto linear_transpose(const F& f, const Arguments&... arguments) {
  const std::tuple all(arguments...);
  const auto at_zero = [&](const auto&... zeros) {
    return pullbacks::take(pullbacks::OfBuffers::cotangents, f, zeros...).second;
  };
  auto pull = std::apply(at_zero,
                         map_leaves(all, [](const Tensor& x) { return linearity::zeros_like(x); }));
  if (!linearity::is_staging()) {
    const auto place = map_leaves(all, [](const Tensor& x) { return linearity::numbers_like(x); });
    linearity::check(tensors_of(std::apply(f, place)), pull.pullback->push(tensors_of(place)));
  }
  return pull;
}

// Returns the result and its tangent. Primals and tangents are tuples of the arguments.
template <class F, class... Arguments>
auto jvp(const F& f, const std::tuple<Arguments...>& primals,
         const std::tuple<Arguments...>& tangents) {
  Pushforward push;
  auto arguments = primals;
  const std::vector<const Tensor*> given = leaves<Tensor>(tangents);
  if (given.size() != leaf_count(primals)) {
    trees::refuse_leaf_count(leaf_count(primals), given.size());
  }
  size_t next = 0;
  for_each_leaf(arguments, [&](std::string_view path, Tensor& leaf) {
    leaf = push.begin(leaf, *given[next++], path);
  });
  auto value = std::apply(f, std::move(arguments));
  auto tangent = value;
  std::vector<Tensor> outgoing;
  value = map_leaves(std::move(value), [&](const Tensor& leaf) {
    auto [result, result_tangent] = push.finish(leaf);
    outgoing.push_back(std::move(result_tangent));
    return result;
  });
  tangent = with_tensors(std::move(tangent), outgoing);
  return std::pair{std::move(value), std::move(tangent)};
}

}  // namespace plait
