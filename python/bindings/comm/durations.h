// Times as Python passes them, and what the sources of this folder share.
#pragma once

#include <algorithm>
#include <optional>

#include "plait/comm/store.h"

#include "python/bindings/bindings.h"

namespace plait::python::comm {

using dist::Duration;

inline constexpr double kMostSeconds = 1e9;

inline Duration duration_of(double seconds) {
  const double most = std::min(seconds, kMostSeconds);
  return std::max(Duration(1), Duration(static_cast<int64_t>(most * 1000)));
}

// Python passes -1 where no timeout is given.
inline std::optional<Duration> given_duration(double seconds) {
  return seconds > 0 ? std::optional(duration_of(seconds)) : std::nullopt;
}

inline double seconds_of(Duration duration) { return static_cast<double>(duration.count()) / 1000; }

void bind_stores(nb::module_& m);

}  // namespace plait::python::comm
