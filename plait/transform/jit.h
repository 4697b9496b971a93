// A function that is recorded once and then run from the record.
//
//   const auto step = jit([](Model model, Tensor x) { return model(x); });
//   Tensor y = step(model, x);       // records
//   y = step(model, other);          // runs what was recorded
//
// What is recorded holds for the structure of the arguments, their dtypes, ranks and static fields.
// A size that differs from call to call becomes a symbol, and sizes are not looked at again. Host
// code may ask for values: `if (loss.item<bool>())` makes a guard, and each way through the
// function is recorded when it is first gone; a function that takes a number out of a tensor runs
// its host code at every call. docs/jit.md says what happens when.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "plait/core/function_ref.h"
#include "plait/core/transformed.h"
#include "plait/core/trees/tree.h"
#include "plait/ir/program.h"
#include "plait/tensor/tensor.h"

namespace plait {

enum class JitMode : uint8_t { plain, fast_compile, max_autotune };

// A size that is a symbol from the first call on.
struct DynamicSize {
  size_t argument = 0;
  int64_t axis = 0;
  std::string leaf = {};  // of a struct: "blocks.0.weight"; all of its tensors where empty
  std::string name = {};  // sizes of one name are the same
  int64_t at_least = 0;
  std::optional<int64_t> at_most = {};
  int64_t divisor = 1;
};

struct JitOptions {
  std::string name = "jitted";
  std::vector<DynamicSize> dynamic = {};
  // Numbers of arguments whose memory may be used for results, where they are handed over by
  // std::move and nobody else has their tensors. ValueError where there are fewer arguments.
  std::vector<size_t> donate = {};
  bool fullgraph = false;  // host code that takes a number out of a tensor is an error
  bool disable = false;    // runs the function as it is
  std::string backend = "compiler";
  JitMode mode = JitMode::plain;
  size_t most_ways = 32;  // recorded for one structure; beyond that its host code is run each time
  // Structures, dtypes and static values of arguments for which there is something recorded; beyond
  // that the one that was not called for the longest is forgotten.
  size_t most_structures = 256;
};

// What was recorded, and why again.
struct JitStats {
  struct Retrace {
    std::string why;
    int64_t times = 0;
  };
  int64_t traces = 0;
  int64_t hits = 0;           // calls that ran what was recorded, and no host code
  int64_t failed_guards = 0;  // in calls that went over to another way
  int64_t host_runs = 0;      // calls that ran the host code, since it reads
  int64_t pieces = 0;         // programs of what such host code computes between two reads
  std::vector<Retrace> retraces = {};

  std::string text() const;
};

// Thrown by what a backend made where a guard of the program does not hold: how many guards came
// before it in this run.
struct SideExit {
  size_t guard = 0;
};
// The tensors that a recorded program is run on. They are the caller's, and nobody's owner is
// counted for the sake of a call.
class JitArguments {
 public:
  // Those that may be taken are among all, in the same order.
  explicit JitArguments(std::vector<const Tensor*> all, std::span<Tensor* const> to_take = {});
  explicit JitArguments(std::span<const Tensor> all, std::span<Tensor* const> to_take = {});

  size_t size() const { return all_.size(); }
  const Tensor& operator[](size_t i) const { return *all_[i]; }
  std::span<const Tensor* const> all() const { return all_; }
  // Where it is donated nobody else sees it any more: its memory may be used again if nobody else
  // has it.
  Tensor take(size_t i) const;
  std::vector<Tensor> take_all() const;
  std::vector<Tensor> copies() const;
  // With these behind; none may be taken where they are kept.
  JitArguments followed_by(std::span<const Tensor> more, bool are_kept) const;

 private:
  std::vector<const Tensor*> all_;
  std::vector<Tensor*> to_take_;  // for each, or null; empty where there is none
};
// What runs a program.
using JitExecutable = std::function<std::vector<Tensor>(const JitArguments& arguments)>;
using JitBackend =
    std::function<JitExecutable(const ir::Program& program, const JitOptions& options)>;
void register_backend(const std::string& name, JitBackend backend);
std::vector<std::string> list_backends();
// The compiler's. Declared here, defined in `compile`.
JitBackend compiler_backend();

// The callable with all that it captures, which is never looked at again.
template <class F>
struct Frozen {
  F function;
  static constexpr auto fields() { return plait::fields<Frozen>(); }
  template <class... Arguments>
  auto operator()(Arguments&&... arguments) const {
    return function(std::forward<Arguments>(arguments)...);
  }
};
template <class F>
Frozen<F> frozen(F f) {
  return {std::move(f)};
}

namespace jits {

// The function, of the leaves of its arguments: the leaves of its result, and the result itself.
using HostFunction = FunctionRef<std::vector<Tensor>(std::span<const Tensor>, std::any& result)>;

struct Call {
  const TreeKey& key;
  JitArguments leaves;
  FunctionRef<std::vector<std::string>()> paths;  // of the leaves
  HostFunction host;
  // Called where others must let go of those that are donated, since they are taken now.
  std::function<void()> let_go = {};
  bool by_host = false;  // the host code is run as it is, whatever is recorded
};
struct Outcome {
  std::vector<Tensor> leaves;
  std::shared_ptr<const std::any> result;  // whose leaves are others
};

class Cache {
 public:
  explicit Cache(JitOptions options);
  Outcome operator()(Call call) const;
  JitStats stats() const;
  void expect_donated_among(size_t arguments) const;
  // Adds the tensors of an argument that is donated and handed over (Argument is no reference).
  template <class Argument>
  void add_donated(std::remove_reference_t<Argument>& argument, size_t number,
                   std::vector<Tensor*>& donated) const {
    if constexpr (!std::is_lvalue_reference_v<Argument> && !std::is_const_v<Argument>) {
      if (!is_donated(number)) return;
      for_each_tensor(argument, [&](Tensor& leaf) { donated.push_back(&leaf); });
    }
  }

 private:
  bool is_donated(size_t argument) const;

  struct State;
  std::shared_ptr<State> state_;
};

// "function.scale" and "arg0.blocks.1" of the paths in a tuple of the function and its arguments,
// or of these alone.
std::vector<std::string> paths_of_call(std::vector<std::string> paths, bool has_function);

// What of a call does not depend on the function's type.
template <bool has_function, class... Given>
Outcome run(const Cache& cache, const std::tuple<const Given&...>& given,
            std::span<Tensor* const> donated, HostFunction host) {
  std::vector<const Tensor*> leaves;
  const TreeKey key = key_of<Tensor>(given, [&](const Tensor& leaf) { leaves.push_back(&leaf); });
  const auto paths = [&] { return paths_of_call(leaf_paths(given), has_function); };
  return cache({key, JitArguments(std::move(leaves), donated), paths, host});
}

// Whether all that it holds is seen.
template <class F>
inline constexpr bool is_open =
    std::is_empty_v<F> || std::is_pointer_v<F> || reflect::Reflectable<F>;
template <class F, class Run>
inline constexpr bool is_open<Transformed<F, Run>> = is_open<F>;

// Whether the function itself has tensors to look for. Its static values are the cache's for good.
template <class F>
inline constexpr bool may_have_tensors = !std::is_empty_v<F> && !std::is_pointer_v<F>;
template <class F>
inline constexpr bool may_have_tensors<Frozen<F>> = false;

}  // namespace jits

template <class F>
class Jitted {
  static_assert(
      jits::is_open<F>,
      "jit: this lambda captures something, which would go stale in silence: hand it over "
      "as an argument, make it a field of a struct with operator(), or say "
      "jit(frozen(f)) if it never changes");

 public:
  Jitted(F f, JitOptions options) : f_(std::move(f)), cache_(std::move(options)) {}
  static constexpr auto fields() { return plait::fields<Jitted>("function", &Jitted::f_); }

  template <class... Arguments>
  auto operator()(Arguments&&... arguments) const {
    using Result = std::invoke_result_t<const F&, const std::remove_cvref_t<Arguments>&...>;
    const auto host = [&](std::span<const Tensor> leaves, std::any& kept) {
      Result result = called(leaves, arguments...);
      std::vector<Tensor> results = tensors_of(result);
      kept = without_tensors(std::move(result));
      return results;
    };
    cache_.expect_donated_among(sizeof...(Arguments));
    std::vector<Tensor*> donated;
    [[maybe_unused]] size_t number = 0;
    (cache_.add_donated<Arguments>(arguments, number++, donated), ...);
    const jits::Outcome outcome = [&] {
      if constexpr (jits::may_have_tensors<F>) {
        return jits::run<true>(cache_, std::tie(f_, std::as_const(arguments)...), donated, host);
      } else {
        return jits::run<false>(cache_, std::tie(std::as_const(arguments)...), donated, host);
      }
    }();
    for (Tensor* const each : donated) *each = Tensor();
    return with_tensors(std::any_cast<Result>(*outcome.result), outcome.leaves);
  }

  JitStats stats() const { return cache_.stats(); }

 private:
  // The function, of arguments with these tensors.
  template <class... Arguments>
  auto called(std::span<const Tensor> tensors, const Arguments&... arguments) const {
    if constexpr (jits::may_have_tensors<F>) {
      return std::apply([](const F& f, const auto&... each) { return f(each...); },
                        with_tensors(std::tuple<F, Arguments...>(f_, arguments...), tensors));
    } else {
      return std::apply(f_, with_tensors(std::tuple<Arguments...>(arguments...), tensors));
    }
  }

  F f_;
  jits::Cache cache_;
};

template <class F>
Jitted<F> jit(F f, JitOptions options = {}) {
  return Jitted<F>(std::move(f), std::move(options));
}

template <class F>
JitStats stats(const Jitted<F>& f) {
  return f.stats();
}

}  // namespace plait
