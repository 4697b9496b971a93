// Compilation of modules to objects, and loading of objects.
#pragma once

#include <string>

#include "plait/core/function_ref.h"
#include "plait/cpu/cpu_level.h"
#include "plait/cpu/inside/codegen/object_cache.h"

namespace plait::cpu {

// The target processor of a level, its features, and LLVM's version.
std::string machine_text(CpuLevel level);

// Compiles the module that `emit` fills (llvm_code.h). Several threads may compile in parallel.
CachedObject compiled_object(CpuLevel level, FunctionRef<void()> emit);

// Objects are never unloaded.
void load_object(const CachedObject& object);
void* address_of_loaded(const std::string& name);

}  // namespace plait::cpu
