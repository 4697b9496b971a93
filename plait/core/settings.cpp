#include "plait/core/settings.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <span>

#include <fmt/format.h>

#include "plait/core/error.h"
#include "plait/core/inside/system/immortal.h"

namespace plait {

namespace {

// Guards the list, changes of words and origins, and the interned strings.
std::mutex& settings_mutex() {
  static Immortal<std::mutex> mutex;
  return *mutex;
}

std::vector<AnySetting*>& listed_settings() {
  static Immortal<std::vector<AnySetting*>> settings;
  return *settings;
}

// By name.
std::vector<AnySetting*> all_settings() {
  const std::lock_guard lock(settings_mutex());
  return listed_settings();
}

std::string environment_variable_of(const SettingDeclaration& declaration) {
  std::string result = "PLAIT_";
  for (const char c : declaration.name) {
    result += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  return result;
}

// The value in the environment; empty if the variable is unset or empty.
std::optional<std::string> environment_value(const SettingDeclaration& declaration) {
  const char* value = std::getenv(environment_variable_of(declaration).c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::span<const std::string_view> choices_of(const SettingDeclaration& declaration) {
  size_t count = 0;
  while (count < declaration.choices.size() && !declaration.choices[count].empty()) ++count;
  return std::span(declaration.choices).first(count);
}

std::string choices_text(SettingType type, const SettingDeclaration& declaration) {
  switch (type) {
    case SettingType::boolean: return "true, on, 1, false, off or 0";
    case SettingType::integer:
      return fmt::format("an integer from {} to {}", declaration.range[0], declaration.range[1]);
    case SettingType::text: return std::string(declaration.form);
    case SettingType::choice: return fmt::format("{}", fmt::join(choices_of(declaration), " or "));
  }
  return {};
}

[[noreturn]] void fail(const AnySetting& setting, std::string_view value,
                       std::string_view reason = {}) {
  throw ValueError("setting {}: '{}' is not {}{}{}", setting.declaration().name, value,
                   choices_text(setting.type(), setting.declaration()), reason.empty() ? "" : ": ",
                   reason);
}

int64_t kept_text(const AnySetting& setting, std::string_view text) {
  if (const auto check = setting.declaration().check; check != nullptr) {
    try {
      check(text);
    } catch (const ValueError& error) {
      fail(setting, text, error.message());
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

std::optional<int64_t> parse_choice(const SettingDeclaration& declaration, std::string_view text) {
  const auto choices = choices_of(declaration);
  for (size_t i = 0; i < choices.size(); ++i) {
    if (choices[i] == text) return static_cast<int64_t>(i);
  }
  return std::nullopt;
}

bool is_in_range(const AnySetting& setting, int64_t word) {
  const SettingDeclaration& declaration = setting.declaration();
  switch (setting.type()) {
    case SettingType::boolean: return word == 0 || word == 1;
    case SettingType::integer: return word >= declaration.range[0] && word <= declaration.range[1];
    case SettingType::choice:
      return word >= 0 && static_cast<uint64_t>(word) < choices_of(declaration).size();
    case SettingType::text: return true;
  }
  return false;
}

int64_t parse_word(const AnySetting& setting, std::string_view text) {
  std::optional<int64_t> word;
  switch (setting.type()) {
    case SettingType::boolean: word = parse_boolean(text); break;
    case SettingType::integer: word = parse_integer(text); break;
    case SettingType::choice: word = parse_choice(setting.declaration(), text); break;
    case SettingType::text: word = kept_text(setting, text); break;
  }
  if (!word || !is_in_range(setting, *word)) fail(setting, text);
  return *word;
}

std::string word_text(const AnySetting& setting, int64_t word) {
  switch (setting.type()) {
    case SettingType::boolean: return word != 0 ? "true" : "false";
    case SettingType::integer: return std::to_string(word);
    case SettingType::choice:
      return std::string(choices_of(setting.declaration())[static_cast<size_t>(word)]);
    case SettingType::text: return *reinterpret_cast<const std::string*>(word);
  }
  return {};
}

AnySetting& setting_named(std::string_view name) {
  std::string known;
  for (AnySetting* setting : all_settings()) {
    if (setting->declaration().name == name) return *setting;
    known += (known.empty() ? "" : ", ") + std::string(setting->declaration().name);
  }
  throw KeyError("unknown setting '{}'", name).hint("the settings are " + known);
}

}  // namespace

int64_t AnySetting::read() const {
  const std::lock_guard lock(settings_mutex());
  return read_under_lock();
}

int64_t AnySetting::read_under_lock() const {
  if (const int64_t word = word_.load(std::memory_order_relaxed); word != kUnread) return word;
  const std::optional<std::string> value = environment_value(declaration_);
  int64_t word = 0;
  try {
    word = parse_word(*this, value ? *value : declaration_.standard);
  } catch (ValueError& error) {
    error.set_hint(fmt::format("it was set by the environment variable {}",
                               environment_variable_of(declaration_)));
    throw;
  }
  origin_ = value ? SettingOrigin::environment : SettingOrigin::standard;
  word_.store(word, std::memory_order_release);
  return word;
}

template <class MakeWord>
void AnySetting::change(SettingOrigin origin, const MakeWord& make_word) {
  {
    const std::lock_guard lock(settings_mutex());
    const int64_t word = make_word();
    origin_ = origin;
    word_.store(word, std::memory_order_release);
  }
  // Without the lock, since it reads settings.
  if (declaration_.changed != nullptr) declaration_.changed();
}

void AnySetting::set_word(int64_t word) {
  change(SettingOrigin::api, [&] {
    if (!is_in_range(*this, word)) fail(*this, std::to_string(word));
    return word;
  });
}

void AnySetting::set_text(std::string_view text) {
  change(SettingOrigin::api, [&] { return parse_word(*this, text); });
}

void AnySetting::reset() {
  change(SettingOrigin::standard, [] { return kUnread; });
}

SettingState AnySetting::state() const {
  SettingState state{.name = std::string(declaration_.name),
                     .environment_variable = environment_variable_of(declaration_),
                     .description = std::string(declaration_.description),
                     .type = type_,
                     .choices = choices_text(type_, declaration_),
                     .default_value = std::string(declaration_.standard),
                     .value = {},
                     .origin = SettingOrigin::environment,
                     .problem = {}};
  const std::lock_guard lock(settings_mutex());
  try {
    state.value = word_text(*this, read_under_lock());
    state.origin = origin_;
  } catch (const ValueError& error) {
    state.value = environment_value(declaration_).value_or("");
    state.problem = error.message();
  }
  return state;
}

ListedSettings::ListedSettings(std::initializer_list<AnySetting*> settings) {
  const std::lock_guard lock(settings_mutex());
  std::vector<AnySetting*>& all = listed_settings();
  all.insert(all.end(), settings);
  std::ranges::sort(all, {}, [](const AnySetting* setting) { return setting->declaration().name; });
}

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
  for (const AnySetting* setting : all_settings()) states.push_back(setting->state());
  return states;
}

void set_setting(std::string_view name, std::string_view value) {
  setting_named(name).set_text(value);
}

void reset_setting(std::string_view name) { setting_named(name).reset(); }

}  // namespace plait
