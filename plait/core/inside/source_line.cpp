#include "plait/core/inside/source_line.h"

#include <filesystem>

#include <fmt/core.h>

namespace plait {
namespace {

// Normalises "..", since compilers write paths into debug information as they were given.
std::string plain_path(std::string_view file) {
  return std::filesystem::path(file).lexically_normal().string();
}

// True if the path ends with plait/<room>/…, wherever the sources are: a compiler cache may return
// objects that were compiled elsewhere.
bool is_in_a_room(std::string_view file) {
  constexpr std::string_view kFolder = "/plait/", kRooms = PLAIT_OWN_ROOMS;  // "core,ir,tensor,..."
  const std::string path = plain_path(file);
  const size_t folder = path.rfind(kFolder);
  if (folder == std::string::npos) return false;
  const size_t begin = folder + kFolder.size(), end = path.find('/', begin);
  if (end == std::string::npos) return false;
  const std::string room = fmt::format(",{},", path.substr(begin, end - begin));
  return fmt::format(",{},", kRooms).find(room) != std::string::npos;
}

}  // namespace

bool is_inside(std::string_view file) {
  return is_in_a_room(file) || file.find("/include/plait/") != std::string_view::npos ||
         file.find("/include/c++/") != std::string_view::npos;
}

}  // namespace plait

#ifdef PLAIT_HAVE_LIBDW

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <dwarf.h>
#include <elfutils/libdwfl.h>
#include <unistd.h>

#include "plait/core/inside/system/immortal.h"

namespace plait {
namespace {

int no_separate_debug_file(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                           GElf_Word, char**) {
  return -1;
}

constexpr Dwfl_Callbacks kCallbacks = {.find_elf = dwfl_linux_proc_find_elf,
                                       .find_debuginfo = no_separate_debug_file,
                                       .section_address = nullptr,
                                       .debuginfo_path = nullptr};

struct EndSession {
  void operator()(Dwfl* session) const { dwfl_end(session); }
};
struct Free {
  void operator()(Dwarf_Die* dies) const { std::free(dies); }
};

// The scopes of the instruction, innermost first.
std::vector<Dwarf_Die> scopes_at(Dwarf_Die* unit, Dwarf_Addr address) {
  Dwarf_Die* raw = nullptr;
  if (dwarf_getscopes(unit, address, &raw) <= 0) return {};
  const std::unique_ptr<Dwarf_Die, Free> innermost(raw);
  raw = nullptr;
  const int count = dwarf_getscopes_die(innermost.get(), &raw);
  if (count <= 0) return {};
  const std::unique_ptr<Dwarf_Die, Free> scopes(raw);
  return {scopes.get(), scopes.get() + count};
}

// The call site of the inlined function `scope`.
std::optional<SourceLine> call_site(Dwarf_Die* unit, Dwarf_Die* scope) {
  Dwarf_Attribute attribute;
  Dwarf_Word file = 0, line = 0;
  if (dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &attribute), &file) != 0 ||
      dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &attribute), &line) != 0) {
    return std::nullopt;
  }
  Dwarf_Files* files = nullptr;
  size_t count = 0;
  if (dwarf_getsrcfiles(unit, &files, &count) != 0 || file >= count) return std::nullopt;
  const char* name = dwarf_filesrc(files, file, nullptr, nullptr);
  if (name == nullptr) return std::nullopt;
  return SourceLine{name, static_cast<int64_t>(line)};
}

std::optional<SourceLine> innermost_line(Dwarf_Die* unit, Dwarf_Addr address) {
  Dwarf_Line* found = dwarf_getsrc_die(unit, address);
  int line = 0;
  if (found == nullptr || dwarf_lineno(found, &line) != 0) return std::nullopt;
  const char* file = dwarf_linesrc(found, nullptr, nullptr);
  if (file == nullptr) return std::nullopt;
  return SourceLine{file, line};
}

// The compilation unit of the instruction. Not every compiler writes the table from addresses to
// units; without it each unit is searched.
Dwarf_Die* unit_at(Dwfl_Module* module, Dwarf_Addr address, Dwarf_Addr* bias) {
  if (Dwarf_Die* unit = dwfl_module_addrdie(module, address, bias)) return unit;
  Dwarf_Die* unit = nullptr;
  while ((unit = dwfl_module_nextcu(module, unit, bias)) != nullptr) {
    if (dwarf_haspc(unit, address - *bias) > 0) return unit;
  }
  return nullptr;
}

// The functions of a loaded file, sorted by address.
class Functions {
 public:
  explicit Functions(Dwfl_Module* module) {
    const int count = dwfl_module_getsymtab(module);
    for (int i = 0; i < count; ++i) {
      GElf_Sym symbol;
      GElf_Addr begin = 0;
      const char* name =
          dwfl_module_getsym_info(module, i, &symbol, &begin, nullptr, nullptr, nullptr);
      if (name == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
      functions_.push_back({begin, begin + symbol.st_size, is_users(name)});
    }
    std::ranges::sort(functions_, {}, &Function::begin);
  }

  bool is_in_users(Dwarf_Addr address) const {
    const auto next = std::ranges::upper_bound(functions_, address, {}, &Function::begin);
    return next != functions_.begin() && address < std::prev(next)->end &&
           std::prev(next)->is_users;
  }

 private:
  struct Function {
    Dwarf_Addr begin, end;
    bool is_users;
  };

  // Tests the prefix of the mangled name: functions, const member functions, and entities local to
  // them.
  static bool is_users(std::string_view name) {
    for (const std::string_view kind : {"_ZN", "_ZNK", "_ZZN", "_ZZNK"}) {
      if (!name.starts_with(kind)) continue;
      const std::string_view space = name.substr(kind.size());
      if (space.starts_with("5plait") || space.starts_with("St")) return false;
    }
    return !name.starts_with("_ZSt");
  }

  std::vector<Function> functions_;
};

// The debug information of the files that this process has loaded. The library is not thread-safe,
// and takes milliseconds for an address in a large unit.
class DebugInformation {
 public:
  std::optional<SourceLine> line_of(uintptr_t address) {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(address); known != known_.end()) return known->second;
    std::optional<SourceLine> found = look_up(address);
    if (found) known_.emplace(address, *found);
    return found;
  }

  bool is_in_users_function(uintptr_t address) {
    const std::lock_guard lock(mutex_);
    Dwfl_Module* module = module_of(address);
    if (module == nullptr) return false;
    return functions_.try_emplace(module, module).first->second.is_in_users(address);
  }

 private:
  std::optional<SourceLine> look_up(uintptr_t address) {
    Dwfl_Module* module = module_of(address);
    if (module == nullptr) return std::nullopt;
    Dwarf_Addr bias = 0;
    Dwarf_Die* unit = unit_at(module, address, &bias);
    if (unit == nullptr) return std::nullopt;
    std::optional<SourceLine> innermost = innermost_line(unit, address - bias);
    if (!innermost || !is_inside(innermost->file)) return innermost;

    for (Dwarf_Die& scope : scopes_at(unit, address - bias)) {
      if (dwarf_tag(&scope) != DW_TAG_inlined_subroutine) continue;
      std::optional<SourceLine> caller = call_site(unit, &scope);
      if (caller && !is_inside(caller->file)) return caller;
    }
    return innermost;
  }

  Dwfl_Module* module_of(uintptr_t address) {
    if (!session_) {
      session_.reset(dwfl_begin(&kCallbacks));
      if (!session_) return nullptr;
    } else if (Dwfl_Module* known = dwfl_addrmodule(session_.get(), address)) {
      return known;
    }
    // The file may have been loaded after the list was made.
    dwfl_report_begin(session_.get());
    const bool listed = dwfl_linux_proc_report(session_.get(), getpid()) == 0;
    dwfl_report_end(session_.get(), nullptr, nullptr);
    return listed ? dwfl_addrmodule(session_.get(), address) : nullptr;
  }

  std::mutex mutex_;
  std::unique_ptr<Dwfl, EndSession> session_;
  std::unordered_map<uintptr_t, SourceLine> known_;
  std::unordered_map<Dwfl_Module*, Functions> functions_;
};

DebugInformation& debug_information() {
  static Immortal<DebugInformation> information;
  return *information;
}

}  // namespace

bool can_read_source_lines() { return true; }

std::optional<SourceLine> source_line_of(uintptr_t address) {
  return debug_information().line_of(address);
}

bool is_in_users_function(uintptr_t address) {
  return debug_information().is_in_users_function(address);
}

}  // namespace plait

#else

namespace plait {

bool can_read_source_lines() { return false; }

std::optional<SourceLine> source_line_of(uintptr_t) { return std::nullopt; }
bool is_in_users_function(uintptr_t) { return false; }

}  // namespace plait

#endif
