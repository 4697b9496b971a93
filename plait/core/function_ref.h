// A non-owning reference to a callable, two words in size: for parameters that are called before
// the function returns.
#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

namespace plait {

template <class Signature>
class FunctionRef;

// The callable must outlive the reference: use it as a parameter, never store it.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class Callable>
    requires(!std::same_as<std::remove_cvref_t<Callable>, FunctionRef> &&
             !std::is_function_v<std::remove_reference_t<Callable>> &&
             std::is_invocable_r_v<Result, Callable&, Arguments...>)
  FunctionRef(Callable&& callable)  // NOLINT(google-explicit-constructor): any callable is one
      : object_(const_cast<void*>(static_cast<const void*>(std::addressof(callable)))),
        call_(&call_object<std::remove_reference_t<Callable>>) {}

  Result operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }

 private:
  template <class Callable>
  static Result call_object(void* object, Arguments... arguments) {
    return static_cast<Result>(
        std::invoke(*static_cast<Callable*>(object), std::forward<Arguments>(arguments)...));
  }

  void* object_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace plait
