#include "plait/compile/kernel_compiler.h"
namespace plait::compile { void register_cpu_compiler() {} }
