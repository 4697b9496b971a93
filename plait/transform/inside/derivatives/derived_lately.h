// What was made of recursive functions lately, by this thread.
#pragma once

#include <list>
#include <memory>
#include <string>

#include "plait/transform/inside/control/staged.h"

namespace plait {

class DerivedLately {
 public:
  // By how it was made; null where it is not known, or not any more.
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
  std::list<Entry> entries_;  // the latest first
};
DerivedLately& derived_lately();

}  // namespace plait
