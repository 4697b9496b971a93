// The settings of the process. Each is declared in the room that reads it, beside what it changes.
// Its value is set by the program, else by the environment variable PLAIT_<NAME>, else it is the
// default.
//   setting::kThreads.set(4);
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace plait {

enum class SettingType : uint8_t { boolean, integer, text, choice };
enum class SettingOrigin : uint8_t { standard, environment, api };

std::string_view name_of(SettingType type);      // "bool", "int", "string", "choice"
std::string_view name_of(SettingOrigin origin);  // "default", "environment", "api"

struct SettingDeclaration {
  std::string_view name;
  std::string_view standard;
  std::string_view description;
  std::array<int64_t, 2> range = {0, 0};         // range of an integer, inclusive
  std::array<std::string_view, 4> choices = {};  // names of a choice
  std::string_view form = {};                    // the expected form of a string, for messages
  void (*check)(std::string_view) = nullptr;     // throws ValueError for an invalid string
  void (*changed)() = nullptr;                   // called after each change by the program
};

struct SettingState {
  std::string name;
  std::string environment_variable;
  std::string description;
  SettingType type;
  std::string choices;  // "off or on", "an integer from 0 to 1024"
  std::string default_value;
  std::string value;
  SettingOrigin origin;
  std::string problem;  // why the value in the environment is invalid; else empty
};

// All settings that are listed, by name.
std::vector<SettingState> settings();

// Sets a setting by name, as a command line does. KeyError for an unknown name; ValueError for an
// invalid value, which names the setting, the value and the choices. After an error nothing has
// changed.
void set_setting(std::string_view name, std::string_view value);
void reset_setting(std::string_view name);  // back to the environment or the default

// A setting of any type.
class AnySetting {
 public:
  AnySetting(const AnySetting&) = delete;
  AnySetting& operator=(const AnySetting&) = delete;

  const SettingDeclaration& declaration() const { return declaration_; }
  SettingType type() const { return type_; }
  SettingState state() const;
  void set_text(std::string_view text);
  void reset();

 protected:
  constexpr AnySetting(SettingType type, const SettingDeclaration& declaration)
      : type_(type), declaration_(declaration) {}

  // A number, the index of a choice, or the address of a string that is never freed.
  int64_t word() const {
    const int64_t word = word_.load(std::memory_order_acquire);
    return word != kUnread ? word : read();
  }
  void set_word(int64_t word);

  static constexpr int64_t kUnread = std::numeric_limits<int64_t>::min();  // until the first read

 private:
  int64_t read() const;
  int64_t read_under_lock() const;
  template <class MakeWord>
  void change(SettingOrigin origin, const MakeWord& make_word);

  SettingType type_;
  SettingDeclaration declaration_;
  mutable std::atomic<int64_t> word_{kUnread};
  mutable SettingOrigin origin_ = SettingOrigin::standard;
};

// T is bool, int64_t, std::string, or an enumeration whose enumerators are the choices in order.
// Define one as a constinit variable, and list it:
//   constinit Setting<int64_t> kThreads({.name = "threads", …});
//   const ListedSettings listed{&kThreads};
template <class T>
class Setting : public AnySetting {
 public:
  static constexpr bool kIsText = std::is_same_v<T, std::string>;
  static constexpr SettingType kType = std::is_same_v<T, bool> ? SettingType::boolean
                                       : std::is_enum_v<T>     ? SettingType::choice
                                       : std::is_integral_v<T> ? SettingType::integer
                                                               : SettingType::text;
  using Value = std::conditional_t<kIsText, const std::string&, T>;  // strings are never freed

  explicit constexpr Setting(const SettingDeclaration& declaration)
      : AnySetting(kType, declaration) {}

  // One atomic load. ValueError if the first read finds an invalid value in the environment.
  Value get() const {
    if constexpr (kIsText) {
      return *reinterpret_cast<const std::string*>(word());
    } else {
      return static_cast<T>(word());
    }
  }
  void set(const T& value) {
    if constexpr (kIsText) {
      set_text(value);
    } else {
      set_word(static_cast<int64_t>(value));
    }
  }
};

// Adds settings to `settings()`, for the rest of the process.
class ListedSettings {
 public:
  ListedSettings(std::initializer_list<AnySetting*> settings);
};

}  // namespace plait
