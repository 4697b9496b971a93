// The settings of the process. Each is declared once, in the table in settings.cpp. Its value is
// set by the program, else by the environment variable PLAIT_<NAME>, else it is the default.
//   setting::kThreads.set(4);
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace plait {

enum class SettingId : uint8_t {
  threads,
  spin_microseconds,
  log,
  verify,
  dump,
  passes,
  arena,
  print_locations,
  memory_limit,
  cpu,
  cache,
  detect_anomaly,
};
inline constexpr int kSettingCount = 12;

enum class SettingType : uint8_t { boolean, integer, text, choice };
enum class SettingOrigin : uint8_t { standard, environment, api };

std::string_view name_of(SettingType type);      // "bool", "int", "string", "choice"
std::string_view name_of(SettingOrigin origin);  // "default", "environment", "api"

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

std::vector<SettingState> settings();

// Sets a setting by name, as a command line does. KeyError for an unknown name; ValueError for an
// invalid value, which names the setting, the value and the choices. After an error nothing has
// changed.
void set_setting(std::string_view name, std::string_view value);
void reset_setting(std::string_view name);  // back to the environment or the default

namespace settings_detail {

// A number, the index of a choice, or the address of a string that is never freed; kUnread until
// the setting is first read.
inline constexpr int64_t kUnread = std::numeric_limits<int64_t>::min();
extern std::array<std::atomic<int64_t>, kSettingCount> words;

int64_t read_word(SettingId id);
void set_word(SettingId id, int64_t word);
void set_text(SettingId id, std::string_view text);
void reset(SettingId id);

inline int64_t word_of(SettingId id) {
  const int64_t word = words[static_cast<size_t>(id)].load(std::memory_order_acquire);
  return word != kUnread ? word : read_word(id);
}

}  // namespace settings_detail

// T is bool, int64_t, std::string, or an enumeration whose enumerators are the choices in order.
template <class T>
class Setting {
 public:
  static constexpr bool kIsText = std::is_same_v<T, std::string>;
  static constexpr SettingType kType = std::is_same_v<T, bool> ? SettingType::boolean
                                       : std::is_enum_v<T>     ? SettingType::choice
                                       : std::is_integral_v<T> ? SettingType::integer
                                                               : SettingType::text;
  using Value = std::conditional_t<kIsText, const std::string&, T>;  // strings are never freed

  explicit constexpr Setting(SettingId id) : id_(id) {}
  constexpr SettingId id() const { return id_; }

  // One atomic load. ValueError if the first read finds an invalid value in the environment.
  Value get() const {
    const int64_t word = settings_detail::word_of(id_);
    if constexpr (kIsText) {
      return *reinterpret_cast<const std::string*>(word);
    } else {
      return static_cast<T>(word);
    }
  }
  void set(const T& value) const {
    if constexpr (kIsText) {
      settings_detail::set_text(id_, value);
    } else {
      settings_detail::set_word(id_, static_cast<int64_t>(value));
    }
  }
  void reset() const { settings_detail::reset(id_); }

 private:
  SettingId id_;
};

enum class Verify : uint8_t { off, on };
enum class Arena : uint8_t { plain, guarded };
enum class CpuLevel : uint8_t { best, sse4, avx2, avx512 };

namespace setting {

inline constexpr Setting<int64_t> kThreads{SettingId::threads};
inline constexpr Setting<int64_t> kSpinMicroseconds{SettingId::spin_microseconds};
inline constexpr Setting<std::string> kLog{SettingId::log};
inline constexpr Setting<Verify> kVerify{SettingId::verify};
inline constexpr Setting<std::string> kDump{SettingId::dump};
inline constexpr Setting<std::string> kPasses{SettingId::passes};
inline constexpr Setting<Arena> kArena{SettingId::arena};
inline constexpr Setting<bool> kPrintLocations{SettingId::print_locations};
inline constexpr Setting<int64_t> kMemoryLimit{SettingId::memory_limit};
inline constexpr Setting<CpuLevel> kCpu{SettingId::cpu};
inline constexpr Setting<std::string> kCache{SettingId::cache};
inline constexpr Setting<bool> kDetectAnomaly{SettingId::detect_anomaly};

}  // namespace setting

}  // namespace plait
