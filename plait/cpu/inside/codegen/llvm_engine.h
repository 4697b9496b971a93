// From code to machine code: modules to objects, objects to addresses.
#pragma once

#include <string>

#include "plait/core/function_ref.h"
#include "plait/core/settings.h"
#include "plait/cpu/inside/codegen/object_cache.h"

namespace plait::cpu {

// The processor that is compiled for at a level, with its features, and LLVM's version.
std::string machine_text(CpuLevel level);

// The object of a module that `emit` fills (llvm_code.h). Threads may compile side by side.
CachedObject compiled_object(CpuLevel level, FunctionRef<void()> emit);

// Objects stay for good.
void load_object(const CachedObject& object);
void* address_of_loaded(const std::string& name);

}  // namespace plait::cpu
