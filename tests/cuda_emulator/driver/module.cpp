#include "tests/cuda_emulator/driver/module.h"

#include <algorithm>
#include <cstring>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/cuda_emulator/driver/streams.h"

namespace emulator {
namespace {

// The bytes of a shared object, by its own tables: the driver is not told how long an image is.
size_t image_bytes(const void* image) {
  ElfW(Ehdr) header;
  std::memcpy(&header, image, SELFMAG);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) throw Failure{CUDA_ERROR_INVALID_IMAGE};
  std::memcpy(&header, image, sizeof header);
  if (header.e_type != ET_DYN || header.e_shentsize != sizeof(ElfW(Shdr)))
    throw Failure{CUDA_ERROR_NO_BINARY_FOR_GPU};
  size_t end = header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
  const char* const bytes = static_cast<const char*>(image);
  for (unsigned k = 0; k < header.e_phnum; ++k) {
    ElfW(Phdr) segment;
    std::memcpy(&segment, bytes + header.e_phoff + k * sizeof segment, sizeof segment);
    end = std::max<size_t>(end, segment.p_offset + segment.p_filesz);
  }
  return end;
}

// Each load has a file of its own, since a file that is loaded already would not be loaded again.
int file_with(const void* image, size_t bytes) {
  const int file = memfd_create("plait_emulated_module", 0);
  if (file < 0) throw Failure{CUDA_ERROR_OPERATING_SYSTEM};
  const char* at = static_cast<const char*>(image);
  while (bytes) {
    const ssize_t written = write(file, at, bytes);
    if (written <= 0) {
      close(file);
      throw Failure{CUDA_ERROR_OUT_OF_MEMORY};
    }
    at += written;
    bytes -= static_cast<size_t>(written);
  }
  return file;
}

struct Mapped {
  ElfW(Addr) base;
  const char* begin = nullptr;
  const char* end = nullptr;
};

int note_mapped(dl_phdr_info* info, size_t, void* data) {
  auto& mapped = *static_cast<Mapped*>(data);
  if (info->dlpi_addr != mapped.base) return 0;
  ElfW(Addr) end = 0;
  for (unsigned k = 0; k < info->dlpi_phnum; ++k) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[k];
    if (segment.p_type == PT_LOAD) end = std::max(end, segment.p_vaddr + segment.p_memsz);
  }
  mapped.begin = reinterpret_cast<const char*>(mapped.base);
  mapped.end = mapped.begin + end;
  return 1;
}

// The variables that an image exports: their addresses, now that it is loaded, and their sizes.
void note_variables(const char* image, Module& module) {
  ElfW(Ehdr) header;
  std::memcpy(&header, image, sizeof header);
  std::vector<ElfW(Shdr)> sections(header.e_shnum);
  std::memcpy(sections.data(), image + header.e_shoff, sections.size() * sizeof sections[0]);
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_type != SHT_DYNSYM) continue;
    const char* const names = image + sections.at(section.sh_link).sh_offset;
    for (size_t at = 0; at + sizeof(ElfW(Sym)) <= section.sh_size; at += sizeof(ElfW(Sym))) {
      ElfW(Sym) symbol;
      std::memcpy(&symbol, image + section.sh_offset + at, sizeof symbol);
      if (ELF64_ST_TYPE(symbol.st_info) != STT_OBJECT || symbol.st_shndx == SHN_UNDEF) continue;
      char* const address = const_cast<char*>(module.begin) + symbol.st_value;
      module.variables[names + symbol.st_name] = {address, symbol.st_size};
    }
  }
}

// Code for another generation of devices is refused, as by the driver.
void check_architecture(void* library) {
  const auto* architecture = static_cast<const int*>(dlsym(library, "emulated_architecture"));
  if (!architecture) throw Failure{CUDA_ERROR_INVALID_IMAGE};
  if (*architecture / 10 != 9 || *architecture > 90) throw Failure{CUDA_ERROR_NO_BINARY_FOR_GPU};
}

void add_functions(Module& module) {
  const auto* kernel =
      static_cast<const EmulatedKernel*>(dlsym(module.library, "emulated_kernels"));
  for (; kernel && kernel->name; ++kernel) {
    auto function = std::make_unique<Function>();
    function->module = &module;
    function->kernel = kernel;
    if (function->static_shared() > kMostSharedUnasked) throw Failure{CUDA_ERROR_INVALID_IMAGE};
    function->most_dynamic_shared = kMostSharedUnasked - function->static_shared();
    module.functions.push_back(std::move(function));
  }
}

}  // namespace

size_t Function::static_shared() const {
  return static_cast<size_t>(kernel->shared_end - kernel->shared) +
         static_cast<size_t>(kernel->common_shared_end - kernel->common_shared);
}

Module::~Module() {
  for (const auto& [name, global] : globals) release_alias(global.first);
  if (library) dlclose(library);
  if (file >= 0) close(file);
}

std::unique_ptr<Module> load_module(const void* image, int device) {
  if (!image) throw Failure{CUDA_ERROR_INVALID_VALUE};
  auto module = std::make_unique<Module>();
  module->device = device;
  module->file = file_with(image, image_bytes(image));
  module->path = "/proc/" + std::to_string(getpid()) + "/fd/" + std::to_string(module->file);
  module->library = dlopen(module->path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!module->library) throw Failure{CUDA_ERROR_INVALID_IMAGE};
  Mapped mapped{static_cast<link_map*>(module->library)->l_addr};
  dl_iterate_phdr(note_mapped, &mapped);
  module->begin = mapped.begin;
  module->end = mapped.end;
  check_architecture(module->library);
  note_variables(static_cast<const char*>(image), *module);
  add_functions(*module);
  return module;
}

Function* find_function(const Module& module, const char* name) {
  if (!dlsym(module.library, name)) return nullptr;
  for (const auto& function : module.functions) {
    if (std::strcmp(function->kernel->name, name) == 0) return function.get();
  }
  return nullptr;
}

std::pair<uint64_t, size_t> global_of(Module& module, const std::string& name) {
  if (const auto found = module.globals.find(name); found != module.globals.end()) {
    return found->second;
  }
  const auto variable = module.variables.find(name);
  if (variable == module.variables.end() || name.starts_with("emulated_")) {
    throw Failure{CUDA_ERROR_NOT_FOUND};
  }
  const auto [address, bytes] = variable->second;
  return module.globals[name] = {reserve_alias(address, bytes), bytes};
}

}  // namespace emulator
