// This thread's cache of functions derived from recursive functions.
#pragma once

#include <memory>
#include <string>

#include "plait/core/inside/system/recent_cache.h"
#include "plait/transform/inside/forms/staged.h"

namespace plait {

class DerivedCache {
 public:
  // Returns the function of this kind, or null if it is not in the cache.
  const StagedFunction* find(const ir::Function& function, const std::string& kind);
  void add(const ir::Program& program, const ir::Function& function, const std::string& kind,
           const StagedFunction& made);

 private:
  struct Entry {
    std::shared_ptr<const ir::Function> function;
    std::string kind;
    bool with_tapes;
    StagedFunction made;
  };
  RecentList<Entry> entries_{64};
};
DerivedCache& derived_cache();

}  // namespace plait
