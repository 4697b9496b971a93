#include "plait/core/settings.h"

#include <charconv>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <span>

#include <fmt/format.h>

#include "plait/core/anomaly.h"
#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"
#include "plait/core/log.h"
#include "plait/core/system/thread_team.h"

namespace plait {

namespace {

struct Declaration {
  std::string_view name;
  SettingType type;
  std::string_view standard;
  std::string_view description;
  std::array<int64_t, 2> range = {0, 0};         // of an integer, inclusive
  std::array<std::string_view, 4> choices = {};  // of a choice
  std::string_view form = {};                    // the expected form of a string, for messages
  void (*check)(std::string_view) = nullptr;     // throws ValueError for an invalid string
  void (*changed)() = nullptr;
};

#ifdef NDEBUG
constexpr std::string_view kVerifyUnlessSet = "off";
#else
constexpr std::string_view kVerifyUnlessSet = "on";
#endif

constexpr std::array<Declaration, kSettingCount> kDeclarations = {{
    {.name = "threads",
     .type = SettingType::integer,
     .standard = "0",
     .description = "number of threads that compute; 0 means every core that the process may use",
     .range = {0, kMaxThreadCount},
     .changed = refresh_thread_team},
    {.name = "spin_microseconds",
     .type = SettingType::integer,
     .standard = "30",
     .description = "how long an idle thread spins before it sleeps",
     .range = {0, kMostSpinMicroseconds},
     .changed = refresh_thread_team},
    {.name = "log",
     .type = SettingType::text,
     .standard = "",
     .description = "log levels by area, for example ir=debug,core=info",
     .form = "a comma-separated list of levels or area=level",
     .check = [](std::string_view text) { parse_log_levels(text); },
     .changed = refresh_log_levels},
    {.name = "verify",
     .type = SettingType::choice,
     .standard = kVerifyUnlessSet,
     .description = "whether programs are verified after each transform and pass",
     .choices = {"off", "on"}},
    {.name = "dump",
     .type = SettingType::text,
     .standard = "",
     .description = "stages of the compiler that print the program, for example after:fuse"},
    {.name = "passes",
     .type = SettingType::text,
     .standard = "",
     .description = "passes of the compiler to leave out, for example -fuse,-inline"},
    {.name = "arena",
     .type = SettingType::choice,
     .standard = "plain",
     .description = "memory of compiled programs; guarded detects accesses outside of a buffer",
     .choices = {"plain", "guarded"}},
    {.name = "print_locations",
     .type = SettingType::boolean,
     .standard = "false",
     .description = "whether printed programs show the source line of each instruction"},
    {.name = "memory_limit",
     .type = SettingType::integer,
     .standard = "0",
     .description = "limit on the bytes of all arrays together; 0 means the available memory",
     .range = {0, int64_t{1} << 62}},
    {.name = "cpu",
     .type = SettingType::choice,
     .standard = "best",
     .description = "the most capable instruction set that kernels use",
     .choices = {"best", "sse4", "avx2", "avx512"}},
    {.name = "cache",
     .type = SettingType::text,
     .standard = "default",
     .description = "the folder for compiled code; off disables the cache, default is plait in "
                    "$XDG_CACHE_HOME or ~/.cache"},
    {.name = "detect_anomaly",
     .type = SettingType::boolean,
     .standard = "false",
     .description = "whether the first NaN or infinity that appears is an error",
     .changed = refresh_anomaly_detection},
}};

template <class T>
constexpr bool is_declared_as(Setting<T> setting, std::string_view name) {
  const Declaration& declaration = kDeclarations[static_cast<size_t>(setting.id())];
  return declaration.name == name && declaration.type == Setting<T>::kType;
}
static_assert(is_declared_as(setting::kThreads, "threads") &&
              is_declared_as(setting::kSpinMicroseconds, "spin_microseconds") &&
              is_declared_as(setting::kLog, "log") && is_declared_as(setting::kVerify, "verify") &&
              is_declared_as(setting::kDump, "dump") &&
              is_declared_as(setting::kPasses, "passes") &&
              is_declared_as(setting::kArena, "arena") &&
              is_declared_as(setting::kPrintLocations, "print_locations") &&
              is_declared_as(setting::kMemoryLimit, "memory_limit") &&
              is_declared_as(setting::kCpu, "cpu") && is_declared_as(setting::kCache, "cache") &&
              is_declared_as(setting::kDetectAnomaly, "detect_anomaly"));

const Declaration& declaration_of(SettingId id) {
  const auto index = static_cast<size_t>(id);
  if (index >= kDeclarations.size()) throw ValueError("unknown setting number {}", index);
  return kDeclarations[index];
}

std::string environment_variable_of(const Declaration& declaration) {
  std::string result = "PLAIT_";
  for (const char c : declaration.name) {
    result += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return result;
}

// The value in the environment; empty if the variable is unset or empty.
std::optional<std::string> environment_value(const Declaration& declaration) {
  const char* value = std::getenv(environment_variable_of(declaration).c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::span<const std::string_view> choices_of(const Declaration& declaration) {
  size_t count = 0;
  while (count < declaration.choices.size() && !declaration.choices[count].empty()) ++count;
  return std::span(declaration.choices).first(count);
}

std::string choices_text(const Declaration& declaration) {
  switch (declaration.type) {
    case SettingType::boolean: return "true, on, 1, false, off or 0";
    case SettingType::integer:
      return fmt::format("an integer from {} to {}", declaration.range[0], declaration.range[1]);
    case SettingType::text: return std::string(declaration.form);
    case SettingType::choice: return fmt::format("{}", fmt::join(choices_of(declaration), " or "));
  }
  return {};
}

[[noreturn]] void fail(const Declaration& declaration, std::string_view value,
                       std::string_view reason = {}) {
  throw ValueError("setting {}: '{}' is not {}{}{}", declaration.name, value,
                   choices_text(declaration), reason.empty() ? "" : ": ", reason);
}

int64_t kept_text(const Declaration& declaration, std::string_view text) {
  if (declaration.check != nullptr) {
    try {
      declaration.check(text);
    } catch (const ValueError& error) {
      fail(declaration, text, error.message());
    }
  }
  // Readers hold references, so strings are never freed; equal strings are shared.
  static Immortal<std::set<std::string, std::less<>>> texts;
  return reinterpret_cast<int64_t>(&*texts->emplace(text).first);
}

std::optional<int64_t> parse_boolean(std::string_view text) {
  if (text == "true" || text == "on" || text == "1") return 1;
  if (text == "false" || text == "off" || text == "0") return 0;
  return std::nullopt;
}

std::optional<int64_t> parse_integer(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<int64_t> parse_choice(const Declaration& declaration, std::string_view text) {
  const auto choices = choices_of(declaration);
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == text) return static_cast<int64_t>(i);
  }
  return std::nullopt;
}

bool is_in_range(const Declaration& declaration, int64_t word) {
  switch (declaration.type) {
    case SettingType::boolean: return word == 0 || word == 1;
    case SettingType::integer: return word >= declaration.range[0] && word <= declaration.range[1];
    case SettingType::choice:
      return word >= 0 && static_cast<uint64_t>(word) < choices_of(declaration).size();
    case SettingType::text: return true;
  }
  return false;
}

int64_t parse_word(const Declaration& declaration, std::string_view text) {
  std::optional<int64_t> word;
  switch (declaration.type) {
    case SettingType::boolean: word = parse_boolean(text); break;
    case SettingType::integer: word = parse_integer(text); break;
    case SettingType::choice: word = parse_choice(declaration, text); break;
    case SettingType::text: word = kept_text(declaration, text); break;
  }
  if (!word || !is_in_range(declaration, *word)) fail(declaration, text);
  return *word;
}

std::string word_text(const Declaration& declaration, int64_t word) {
  switch (declaration.type) {
    case SettingType::boolean: return word != 0 ? "true" : "false";
    case SettingType::integer: return std::to_string(word);
    case SettingType::choice:
      return std::string(choices_of(declaration)[static_cast<size_t>(word)]);
    case SettingType::text: return *reinterpret_cast<const std::string*>(word);
  }
  return {};
}

// Guards changes of the words, the origins and the interned strings.
std::mutex& settings_mutex() {
  static Immortal<std::mutex> mutex;
  return *mutex;
}
constinit std::array<SettingOrigin, kSettingCount> origins = {};

SettingId id_of(std::string_view name) {
  std::string known;
  for (size_t i = 0; i < kDeclarations.size(); ++i) {
    if (kDeclarations[i].name == name) return static_cast<SettingId>(i);
    known += (i == 0 ? "" : ", ") + std::string(kDeclarations[i].name);
  }
  throw KeyError("unknown setting '{}'", name).hint("the settings are " + known);
}

// Called under the mutex. Returns the word, and stores it.
int64_t read_from_environment(SettingId id) {
  const auto index = static_cast<size_t>(id);
  const Declaration& declaration = declaration_of(id);
  const std::optional<std::string> value = environment_value(declaration);
  int64_t word = 0;
  try {
    word = parse_word(declaration, value ? *value : declaration.standard);
  } catch (ValueError& error) {
    error.set_hint(fmt::format("it was set by the environment variable {}",
                               environment_variable_of(declaration)));
    throw;
  }
  origins[index] = value ? SettingOrigin::environment : SettingOrigin::standard;
  settings_detail::words[index].store(word, std::memory_order_release);
  return word;
}

int64_t word_under_lock(SettingId id) {
  const int64_t word =
      settings_detail::words[static_cast<size_t>(id)].load(std::memory_order_relaxed);
  return word != settings_detail::kUnread ? word : read_from_environment(id);
}

template <class MakeWord>
void change(SettingId id, SettingOrigin origin, const MakeWord& make_word) {
  const Declaration& declaration = declaration_of(id);
  {
    const std::lock_guard lock(settings_mutex());
    const int64_t word = make_word(declaration);
    origins[static_cast<size_t>(id)] = origin;
    settings_detail::words[static_cast<size_t>(id)].store(word, std::memory_order_release);
  }
  // Without the lock, since it reads settings.
  if (declaration.changed != nullptr) declaration.changed();
}

SettingState state_of(SettingId id) {
  const Declaration& declaration = declaration_of(id);
  SettingState state{.name = std::string(declaration.name),
                     .environment_variable = environment_variable_of(declaration),
                     .description = std::string(declaration.description),
                     .type = declaration.type,
                     .choices = choices_text(declaration),
                     .default_value = std::string(declaration.standard),
                     .value = {},
                     .origin = SettingOrigin::environment,
                     .problem = {}};
  const std::lock_guard lock(settings_mutex());
  try {
    state.value = word_text(declaration, word_under_lock(id));
    state.origin = origins[static_cast<size_t>(id)];
  } catch (const ValueError& error) {
    state.value = environment_value(declaration).value_or("");
    state.problem = error.message();
  }
  return state;
}

}  // namespace

namespace settings_detail {

constinit std::array<std::atomic<int64_t>, kSettingCount> words = {
    kUnread, kUnread, kUnread, kUnread, kUnread, kUnread,
    kUnread, kUnread, kUnread, kUnread, kUnread, kUnread};
static_assert(kSettingCount == 12, "each word begins as kUnread");

int64_t read_word(SettingId id) {
  const std::lock_guard lock(settings_mutex());
  return word_under_lock(id);
}

void set_word(SettingId id, int64_t word) {
  change(id, SettingOrigin::api, [&](const Declaration& declaration) {
    if (!is_in_range(declaration, word)) fail(declaration, std::to_string(word));
    return word;
  });
}

void set_text(SettingId id, std::string_view text) {
  change(id, SettingOrigin::api,
         [&](const Declaration& declaration) { return parse_word(declaration, text); });
}

void reset(SettingId id) {
  change(id, SettingOrigin::standard, [](const Declaration&) { return kUnread; });
}

}  // namespace settings_detail

std::string_view name_of(SettingType type) {
  switch (type) {
    case SettingType::boolean: return "bool";
    case SettingType::integer: return "int";
    case SettingType::text: return "string";
    case SettingType::choice: return "choice";
  }
  return "unknown";
}

std::string_view name_of(SettingOrigin origin) {
  switch (origin) {
    case SettingOrigin::standard: return "default";
    case SettingOrigin::environment: return "environment";
    case SettingOrigin::api: return "api";
  }
  return "unknown";
}

std::vector<SettingState> settings() {
  std::vector<SettingState> states;
  for (int i = 0; i < kSettingCount; ++i) states.push_back(state_of(static_cast<SettingId>(i)));
  return states;
}

void set_setting(std::string_view name, std::string_view value) {
  settings_detail::set_text(id_of(name), value);
}

void reset_setting(std::string_view name) { settings_detail::reset(id_of(name)); }

}  // namespace plait
