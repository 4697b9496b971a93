// The two derivatives of a function, as it runs: of its results backwards (vjp), along with its
// arguments forwards (jvp). The function may do whatever host code does: read values, branch on
// them, loop.
//
//   auto [y, pull] = vjp([](Tensor x) { return sin(x); }, x);
//   auto [dx] = pull(ones_like(y));
//   auto [z, dz] = jvp([](Tensor x) { return sin(x); }, std::tuple(x), std::tuple(dx));
//
// Arguments and results are trees of tensors (core/trees/tree.h). What is no real or complex number
// has no derivative; in its place stands an empty tensor.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "plait/core/trees/tree.h"
#include "plait/tensor/tracing/derivation.h"

namespace plait {

// A function on tensors that is followed in reverse mode from `begin` to `finish`; then the way
// back, which may be gone many times.
class Pullback {
 public:
  Pullback();
  ~Pullback();
  Pullback(Pullback&&) noexcept = default;
  Pullback& operator=(Pullback&&) noexcept = default;

  Tensor begin(const Tensor& argument);
  Tensor finish(const Tensor& result);        // for each
  Tensor passed(const Tensor& result) const;  // one that no cotangent is given for
  void close();

  // The cotangents of the arguments; zeros where nothing depends on one. `keep`: once more later.
  std::vector<Tensor> operator()(std::span<const Tensor> cotangents, bool keep = true) const;

  // Forward along the same way: the tangents of the results, from those of the arguments.
  std::vector<Tensor> push(std::span<const Tensor> tangents) const;

  // ValueError that names an operation whose derivative depends on the arguments.
  void expect_linear() const;

 private:
  LevelPtr level_;
  std::vector<StepPtr> beginnings_;  // one an argument; none for one that has no derivative
  std::vector<OperandType> arguments_;
  std::vector<Origin> results_;
  std::vector<OperandType> result_types_;
};

// A function on tensors that is followed in forward mode until the object is gone.
class Pushforward {
 public:
  Pushforward();
  ~Pushforward();
  Pushforward(const Pushforward&) = delete;
  Pushforward& operator=(const Pushforward&) = delete;

  // An empty tangent is zero. TypeError or ShapeError where it does not fit.
  Tensor begin(const Tensor& argument, const Tensor& tangent, std::string_view path = {});
  // The result, and its tangent.
  std::pair<Tensor, Tensor> finish(const Tensor& result);
  void close();  // before the object is gone

 private:
  LevelPtr level_;
};

// The way back of one call f(arguments…).
template <class Result, class Arguments>
struct Pull {
  std::shared_ptr<Pullback> pullback;
  Arguments arguments;  // for their structure; the tensors are empty

  // The cotangents of all arguments.
  Arguments operator()(const Result& cotangent) const {
    return with_tensors(arguments, (*pullback)(tensors_of(cotangent)));
  }
};

template <class F, class... Arguments>
auto vjp(const F& f, const Arguments&... arguments) {
  using All = std::tuple<Arguments...>;
  auto pullback = std::make_shared<Pullback>();
  All all(arguments...);
  auto value =
      std::apply(f, map_leaves(all, [&](const Tensor& leaf) { return pullback->begin(leaf); }));
  value = map_leaves(std::move(value), [&](const Tensor& leaf) { return pullback->finish(leaf); });
  pullback->close();
  using Result = decltype(value);
  all = without_tensors(std::move(all));
  return std::pair{std::move(value), Pull<Result, All>{pullback, std::move(all)}};
}

// What is linear at the place where a function was linearised: tangents of the arguments to that of
// the result, without running the function again.
template <class Result, class... Arguments>
struct Linear {
  std::shared_ptr<Pullback> pullback;
  Result structure;  // the tensors are empty

  Result operator()(const Arguments&... tangents) const {
    return with_tensors(structure, pullback->push(tensors_of(std::tuple(tangents...))));
  }
};

// The result, and the function of tangents.
template <class F, class... Arguments>
auto linearize(const F& f, const Arguments&... arguments) {
  auto [value, pull] = vjp(f, arguments...);
  using Result = decltype(value);
  Linear<Result, Arguments...> linear{pull.pullback, without_tensors(value)};
  return std::pair{std::move(value), std::move(linear)};
}

namespace linearity {

bool is_staging();
Tensor zeros_like(const Tensor& leaf);
Tensor numbers_like(const Tensor& leaf);  // some that are not alike
// ValueError unless what a function gives at some place is its derivative there along that place.
void check(std::span<const Tensor> values, std::span<const Tensor> derivatives);

}  // namespace linearity

// The transpose of a linear function: from the cotangent of its result to those of its arguments,
// of which the types matter only. ValueError where the function is not linear; in a trace, where
// there are no numbers, that is not seen.
template <class F, class... Arguments>
auto linear_transpose(const F& f, const Arguments&... arguments) {
  const std::tuple all(arguments...);
  const auto at_zero = [&](const auto&... zeros) { return vjp(f, zeros...).second; };
  auto pull = std::apply(at_zero,
                         map_leaves(all, [](const Tensor& x) { return linearity::zeros_like(x); }));
  if (!linearity::is_staging()) {
    const auto place = map_leaves(all, [](const Tensor& x) { return linearity::numbers_like(x); });
    linearity::check(tensors_of(std::apply(f, place)), pull.pullback->push(tensors_of(place)));
  }
  return pull;
}

// The result and its tangent; primals and tangents are tuples of the arguments.
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
