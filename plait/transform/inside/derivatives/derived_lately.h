// This thread's cache of functions derived from recursive functions.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "plait/transform/inside/control/staged.h"

namespace plait {

class DerivedLately {
 public:
  // Returns the function of this kind, or null if it is not in the cache.
  const StagedFunction* find(const ir::Function& function, const std::string& kind);
  void add(const ir::Program& program, const ir::Function& function, const std::string& kind,
           const StagedFunction& made);

 private:
  static constexpr size_t kMost = 64;
  struct Entry {
    std::shared_ptr<const ir::Function> function;
    std::string kind;
    bool with_tapes;
    StagedFunction made;
  };
  std::list<Entry> entries_;  // most recently used first
};
DerivedLately& derived_lately();

}  // namespace plait
