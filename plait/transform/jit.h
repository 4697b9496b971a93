// A function that is recorded once, compiled, and then run from the record.
//
//   const auto step = jit([](Model model, Tensor x) { return model(x); });
//   Tensor y = step(model, x);       // records
//   y = step(model, other);          // runs the record
//
// A record is valid for the structure of the arguments, their dtypes, ranks and static fields. A
// size that differs between calls becomes a symbol, and is not read again. Host code may read
// values: `if (loss.item<bool>())` makes a guard, and each path through the function is recorded
// when it is first taken. A function that takes a number out of a tensor runs its host code at
// every call. See docs/jit.md.
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
  std::string leaf = {};  // path in a struct: "blocks.0.weight"; empty for all of its tensors
  std::string name = {};  // sizes with one name are equal
  int64_t at_least = 0;
  std::optional<int64_t> at_most = {};
  int64_t divisor = 1;
};

struct JitOptions {
  std::string name = "jitted";
  std::vector<DynamicSize> dynamic = {};
  // Indices of donated arguments: results may reuse their memory if the caller passes them by
  // std::move and nothing else holds their tensors. ValueError if there are fewer arguments.
  std::vector<size_t> donate = {};
  bool fullgraph = false;  // an error if host code takes a number out of a tensor
  bool disable = false;    // runs the host code, without recording
  std::string backend = "compiler";
  JitMode mode = JitMode::plain;
  size_t max_paths = 32;  // records for one structure; beyond that the host code runs at each call
  // Maximum number of records for different structures, dtypes and static values; beyond that the
  // least recently called one is dropped.
  size_t max_records = 256;
  // The bits of a result depend on the arguments alone, not on earlier calls: no size becomes a
  // symbol, and functions that read numbers run eagerly. So a process that goes on from a
  // checkpoint computes the bits of one that was not interrupted.
  bool repeatable = false;
  // Has a backward pass compute more of the forward pass again, to fit into this memory: bytes, or
  // up to 1 a share of what it would need beside arguments and results (compile/compiler.h).
  // ValueError unless it is positive.
  std::optional<double> memory_budget = {};
};

// Statistics: what was recorded, and why it was recorded again.
struct JitStats {
  struct Retrace {
    std::string why;
    int64_t times = 0;
  };
  int64_t traces = 0;
  int64_t hits = 0;           // calls that ran a record and no host code
  int64_t failed_guards = 0;  // in calls that then took another path
  int64_t host_runs = 0;      // calls that ran host code, which reads values
  int64_t pieces = 0;         // programs compiled from host code between two reads
  std::vector<Retrace> retraces = {};

  std::string text() const;
};

// Thrown by a backend's executable when a guard of the program fails. `guard` is the number of
// guards that were passed before it in this run.
struct SideExit {
  size_t guard = 0;
};
// The arguments of a recorded program. They point to the caller's tensors, so a call changes no
// reference counts.
class JitArguments {
 public:
  // `to_take` are the donated tensors, a subsequence of `all`.
  explicit JitArguments(std::vector<const Tensor*> all, std::span<Tensor* const> to_take = {});
  explicit JitArguments(std::span<const Tensor> all, std::span<Tensor* const> to_take = {});

  size_t size() const { return all_.size(); }
  const Tensor& operator[](size_t i) const { return *all_[i]; }
  std::span<const Tensor* const> all() const { return all_; }
  // Moves the tensor out if it is donated, so that its memory can be reused if nothing else holds
  // it; else copies it.
  Tensor take(size_t i) const;
  std::vector<Tensor> take_all() const;
  std::vector<Tensor> copies() const;
  // Returns these arguments without empty ones, and with more at the end; none may be taken if
  // `are_kept`.
  JitArguments followed_by(std::span<const Tensor> more, bool are_kept) const;

 private:
  std::vector<const Tensor*> all_;
  std::vector<Tensor*> to_take_;  // one a tensor, null if not donated; or empty
};
// Runs a compiled program.
using JitExecutable = std::function<std::vector<Tensor>(const JitArguments& arguments)>;
using JitBackend =
    std::function<JitExecutable(const ir::Program& program, const JitOptions& options)>;
void register_backend(const std::string& name, JitBackend backend);
std::vector<std::string> list_backends();
// The compiler's backend. Defined in `compile`.
JitBackend compiler_backend();

// A callable whose captures never change, so that jit does not check them.
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

// The function on leaves: maps the leaves of its arguments to those of its result, and
// sets `result`.
using HostFunction = FunctionRef<std::vector<Tensor>(std::span<const Tensor>, std::any& result)>;

struct Call {
  const TreeKey& key;
  JitArguments leaves;
  FunctionRef<std::vector<std::string>()> paths;  // paths of the leaves
  HostFunction host;
  // Called before donated tensors are taken, so that other owners release them.
  std::function<void()> release_owner = {};
  bool by_host = false;  // run the host code even if there is a record
  // Called when the host code has run, before its record is run in the same call; false if its
  // results are to be used instead.
  std::function<bool()> begin_again = {};
  // For each leaf the name of its first size, if that is an integer with a name; otherwise empty.
  std::function<std::vector<std::string>()> size_names = {};
};
struct Outcome {
  std::vector<Tensor> leaves;
  std::shared_ptr<const std::any> result;  // the structure for `leaves`
};

class Cache {
 public:
  explicit Cache(JitOptions options);
  Outcome operator()(Call call) const;
  JitStats stats() const;
  void expect_donated_among(size_t arguments) const;
  // Adds the tensors of an argument that is donated and passed as an rvalue (Argument is
  // not a reference).
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

// Paths such as "function.scale" and "arg0.blocks.1", from the paths in a tuple of the function and
// its arguments, or of the arguments alone.
std::vector<std::string> paths_of_call(std::vector<std::string> paths, bool has_function);

// The part of a call that does not depend on the type of the function.
template <bool has_function, class... Given>
Outcome run(const Cache& cache, const std::tuple<const Given&...>& given,
            std::span<Tensor* const> donated, HostFunction host) {
  std::vector<const Tensor*> leaves;
  const TreeKey key = key_of<Tensor>(given, [&](const Tensor& leaf) { leaves.push_back(&leaf); });
  const auto paths = [&] { return paths_of_call(leaf_paths(given), has_function); };
  return cache({key, JitArguments(std::move(leaves), donated), paths, host});
}

// True if jit can inspect everything that the callable holds.
template <class F>
inline constexpr bool is_open =
    std::is_empty_v<F> || std::is_pointer_v<F> || reflect::Reflectable<F>;
template <class F, class Run>
inline constexpr bool is_open<Transformed<F, Run>> = is_open<F>;

// True if the callable itself may hold tensors. If not, it is not part of the key: a cache belongs
// to one callable.
template <class F>
inline constexpr bool may_have_tensors = !std::is_empty_v<F> && !std::is_pointer_v<F>;
template <class F>
inline constexpr bool may_have_tensors<Frozen<F>> = false;

}  // namespace jits

template <class F>
class Jitted {
  static_assert(jits::is_open<F>,
                "jit: this lambda captures something, whose changes jit would not see: pass it as "
                "an argument, make it a field of a struct with operator(), or write jit(frozen(f)) "
                "if it never changes");

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
  // Calls the function with these tensors as the leaves of its arguments.
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
