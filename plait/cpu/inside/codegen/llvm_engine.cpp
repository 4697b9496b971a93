#include "plait/cpu/inside/codegen/llvm_engine.h"

#include <array>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <llvm/Config/llvm-config.h>

#include "plait/compile/pass.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/cpu/cpu_level.h"
#include "plait/cpu/inside/codegen/llvm_operations.h"
#include "plait/ir/analysis/verify.h"

namespace plait::cpu {
namespace {

constexpr const char* kPasses = "function(sroa,early-cse,instsimplify,simplifycfg,loop-mssa(licm))";

std::string taken(char* message) {
  std::string text = message == nullptr ? "" : message;
  LLVMDisposeMessage(message);
  return text;
}

void check(LLVMErrorRef error, std::string_view what) {
  if (error == nullptr) return;
  char* message = LLVMGetErrorMessage(error);
  const std::string text = message;
  LLVMDisposeErrorMessage(message);
  throw CompileError("LLVM cannot {}: {}", what, text);
}

void initialise() {
  static const bool is_done = [] {
    // Loop strength reduction takes a fifth of the compile time, and does not make these loops
    // faster.
    const char* const options[] = {"plait", "-disable-lsr"};
    LLVMParseCommandLineOptions(2, options, nullptr);
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    return true;
  }();
  (void)is_done;
}

struct Processor {
  std::string name, features;
};

// This processor if its level is not capped, else a generic one with the extensions that Highway
// requires for the level.
Processor processor_of(CpuLevel level) {
  if (level == best_cpu_level()) {
    const std::string less = level == CpuLevel::avx512 ? "" : ",-avx512f";
    return {taken(LLVMGetHostCPUName()), taken(LLVMGetHostCPUFeatures()) + less};
  }
  if (level == CpuLevel::sse4) return {"x86-64-v2", "+aes,+pclmul"};
  return {level == CpuLevel::avx2 ? "x86-64-v3" : "x86-64-v4", "+aes,+pclmul"};
}

const Processor& processor(CpuLevel level) {
  static Immortal<std::array<Processor, kCpuLevelCount>> all([] {
    std::array<Processor, kCpuLevelCount> result;
    for (int i = 0; i < kCpuLevelCount; ++i) {
      result[static_cast<size_t>(i)] = processor_of(static_cast<CpuLevel>(i + 1));
    }
    return result;
  }());
  return (*all)[static_cast<size_t>(level) - 1];
}

// ---- Target machines are not thread-safe, and cost more than a small module; they are reused.

LLVMTargetMachineRef make_machine(CpuLevel level) {
  initialise();
  const std::string triple = taken(LLVMGetDefaultTargetTriple());
  LLVMTargetRef target = nullptr;
  char* message = nullptr;
  if (LLVMGetTargetFromTriple(triple.c_str(), &target, &message) != 0) {
    throw CompileError("LLVM does not compile for {}: {}", triple, taken(message));
  }
  const Processor& own = processor(level);
  return LLVMCreateTargetMachine(target, triple.c_str(), own.name.c_str(), own.features.c_str(),
                                 LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
}

class Machines {
 public:
  LLVMTargetMachineRef take(CpuLevel level) {
    {
      const std::lock_guard lock(mutex_);
      auto& idle = idle_[static_cast<size_t>(level) - 1];
      if (!idle.empty()) {
        LLVMTargetMachineRef machine = idle.back();
        idle.pop_back();
        return machine;
      }
    }
    return make_machine(level);
  }
  void give_back(CpuLevel level, LLVMTargetMachineRef machine) {
    const std::lock_guard lock(mutex_);
    idle_[static_cast<size_t>(level) - 1].push_back(machine);
  }

 private:
  std::mutex mutex_;
  std::array<std::vector<LLVMTargetMachineRef>, kCpuLevelCount> idle_;
};
Machines& machines() {
  static Immortal<Machines> all;
  return *all;
}

// ---- Compilation of a module.

class Module {
 public:
  explicit Module(CpuLevel level)
      : level_(level),
        machine_(machines().take(level)),
        context_(LLVMContextCreate()),
        module_(LLVMModuleCreateWithNameInContext("plait", context_)) {
    char* triple = LLVMGetTargetMachineTriple(machine_);
    LLVMSetTarget(module_, triple);
    LLVMDisposeMessage(triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine_);
    LLVMSetModuleDataLayout(module_, layout);
    LLVMDisposeTargetData(layout);
  }
  ~Module() {
    LLVMDisposeModule(module_);
    LLVMContextDispose(context_);
    machines().give_back(level_, machine_);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  std::vector<std::string> fill(FunctionRef<void()> emit) {
    code::Emission emission(context_, module_, level_);
    emit();
    return {emission.outside_names.begin(), emission.outside_names.end()};
  }

  void verify() const {
    char* message = nullptr;
    const bool is_broken = LLVMVerifyModule(module_, LLVMReturnStatusAction, &message) != 0;
    const std::string text = taken(message);
    if (is_broken) throw CompileError("the code of a kernel is invalid: {}", text);
  }

  void optimise() {
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(module_, kPasses, machine_, options);
    LLVMDisposePassBuilderOptions(options);
    check(error, "run passes");
  }

  std::string text() const { return taken(LLVMPrintModuleToString(module_)); }

  std::vector<std::byte> object() {
    char* message = nullptr;
    LLVMMemoryBufferRef buffer = nullptr;
    if (LLVMTargetMachineEmitToMemoryBuffer(machine_, module_, LLVMObjectFile, &message, &buffer) !=
        0) {
      throw CompileError("LLVM cannot compile a kernel: {}", taken(message));
    }
    const auto* bytes = reinterpret_cast<const std::byte*>(LLVMGetBufferStart(buffer));
    std::vector<std::byte> result(bytes, bytes + LLVMGetBufferSize(buffer));
    LLVMDisposeMemoryBuffer(buffer);
    return result;
  }

 private:
  CpuLevel level_;
  LLVMTargetMachineRef machine_;
  LLVMContextRef context_;
  LLVMModuleRef module_;
};

bool dumps_code() {
  const std::string& stages = setting::kDump.get();
  return stages.find("llvm") != std::string::npos;
}

// ---- Loaded code.

class Loaded {
 public:
  Loaded() {
    initialise();
    check(LLVMOrcCreateLLJIT(&jit_, nullptr), "start");
    library_ = LLVMOrcLLJITGetMainJITDylib(jit_);
    define("memcpy", reinterpret_cast<void*>(&std::memcpy));
    define("memset", reinterpret_cast<void*>(&std::memset));
  }

  void add(const CachedObject& object) {
    const std::lock_guard lock(mutex_);
    for (const std::string& name : object.outside_names) {
      void* const address = code::outside_address(name);
      if (address == nullptr)
        throw CompileError("compiled code calls the unknown function {}", name);
      define(name, address);
    }
    LLVMMemoryBufferRef buffer = LLVMCreateMemoryBufferWithMemoryRangeCopy(
        reinterpret_cast<const char*>(object.bytes.data()), object.bytes.size(), "plait");
    check(LLVMOrcLLJITAddObjectFile(jit_, library_, buffer), "load an object");
  }

  void* find(const std::string& name) {
    const std::lock_guard lock(mutex_);
    LLVMOrcExecutorAddress address = 0;
    check(LLVMOrcLLJITLookup(jit_, &address, name.c_str()), "link a kernel");
    return reinterpret_cast<void*>(address);
  }

 private:
  void define(const std::string& name, void* address) {
    if (!defined_.insert(name).second) return;
    LLVMOrcCSymbolMapPair symbol = {};
    symbol.Name = LLVMOrcLLJITMangleAndIntern(jit_, name.c_str());
    symbol.Sym.Address = reinterpret_cast<LLVMOrcExecutorAddress>(address);
    symbol.Sym.Flags.GenericFlags = LLVMJITSymbolGenericFlagsExported;
    check(LLVMOrcJITDylibDefine(library_, LLVMOrcAbsoluteSymbols(&symbol, 1)), "define a symbol");
  }

  std::mutex mutex_;
  LLVMOrcLLJITRef jit_ = nullptr;
  LLVMOrcJITDylibRef library_ = nullptr;
  std::set<std::string> defined_;
};
Loaded& loaded() {
  static Immortal<Loaded> code;
  return *code;
}

}  // namespace

std::string machine_text(CpuLevel level) {
  const Processor& own = processor(level);
  return fmt::format("LLVM {} level {} {} {}", LLVM_VERSION_STRING, static_cast<int>(level),
                     own.name, own.features);
}

CachedObject compiled_object(CpuLevel level, FunctionRef<void()> emit) {
  Module module(level);
  CachedObject object;
  object.outside_names = module.fill(emit);
  if (dumps_code()) fmt::print(stderr, "{}", module.text());
  if (setting::kVerify.get() == Verify::on) module.verify();
  module.optimise();
  if (dumps_code()) fmt::print(stderr, "; optimised\n{}", module.text());
  object.bytes = module.object();
  return object;
}

void load_object(const CachedObject& object) { loaded().add(object); }
void* address_of_loaded(const std::string& name) { return loaded().find(name); }

}  // namespace plait::cpu
