// The default stream of a thread, from which functions of random.h draw that get no key.
#pragma once

#include <cstdint>

#include "plait/core/numbers/element.h"

namespace plait::random {

// A key, and the number of keys that were drawn from it.
struct DefaultStream {
  KeyBits key;
  uint64_t drawn = 0;
};

// While it exists, this thread has a default stream of its own, which `seed` restarts; then the one
// before goes on, of the process or of the scope around this one.
class StreamScope {
 public:
  explicit StreamScope(const KeyBits& key);
  ~StreamScope();
  StreamScope(const StreamScope&) = delete;
  StreamScope& operator=(const StreamScope&) = delete;

  // Begins the stream of another key.
  void begin(const KeyBits& key) { stream_ = {key}; }

 private:
  DefaultStream stream_;
  DefaultStream* before_;
};

}  // namespace plait::random
