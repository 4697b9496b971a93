#include "plait/transform/inside/derivatives/derived_cache.h"

#include "plait/transform/inside/derivatives/tape_scope.h"

namespace plait {

const StagedFunction* DerivedCache::find(const ir::Function& function, const std::string& kind) {
  const Entry* const found = entries_.find([&](const Entry& entry) {
    return entry.function.get() == &function && entry.kind == kind &&
           entry.with_tapes == TapeScope::is_open();
  });
  return found != nullptr ? &found->made : nullptr;
}

void DerivedCache::add(const ir::Program& program, const ir::Function& function,
                       const std::string& kind, const StagedFunction& made) {
  const size_t place = program.index_of(function.name());
  entries_.add({program.functions()[place], kind, TapeScope::is_open(), made});
}

DerivedCache& derived_cache() {
  thread_local DerivedCache cache;
  return cache;
}

}  // namespace plait
