#include "plait/transform/inside/derivatives/derived_lately.h"

#include "plait/transform/inside/derivatives/taped.h"

namespace plait {

const StagedFunction* DerivedLately::find(const ir::Function& function, const std::string& kind) {
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->function.get() != &function || entry->kind != kind ||
        entry->with_tapes != TapeScope::is_open()) {
      continue;
    }
    entries_.splice(entries_.begin(), entries_, entry);
    return &entry->made;
  }
  return nullptr;
}

void DerivedLately::add(const ir::Program& program, const ir::Function& function,
                        const std::string& kind, const StagedFunction& made) {
  const size_t place = program.index_of(function.name());
  entries_.push_front({program.functions()[place], kind, TapeScope::is_open(), made});
  if (entries_.size() > kMost) entries_.pop_back();
}

DerivedLately& derived_lately() {
  thread_local DerivedLately lately;
  return lately;
}

}  // namespace plait
