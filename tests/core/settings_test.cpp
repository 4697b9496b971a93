#include "plait/core/settings.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include "plait/core/anomaly.h"
#include "plait/core/error.h"
#include "plait/core/log.h"
#include "plait/core/system/thread_team.h"

#include "tests/support/errors.h"

namespace plait {

// As a room declares its own.
enum class Level : uint8_t { low, high };

namespace setting {
constinit Setting<std::string> kText({.name = "test_text",
                                      .standard = "",
                                      .description = "a text"});
constinit Setting<bool> kFlag({.name = "test_flag", .standard = "false", .description = "a flag"});
constinit Setting<Level> kLevel({.name = "test_level",
                                 .standard = "low",
                                 .description = "a choice",
                                 .choices = {"low", "high"}});
}  // namespace setting

namespace {

const ListedSettings test_settings{&setting::kText, &setting::kFlag, &setting::kLevel};

SettingState state_named(std::string_view name) {
  for (const SettingState& state : settings()) {
    if (state.name == name) return state;
  }
  ADD_FAILURE() << name;
  return {};
}

// Each test restores the settings to their unset state.
class Settings : public testing::Test {
 protected:
  void SetUp() override { reset_all(); }
  void TearDown() override { reset_all(); }

  static void reset_all() {
    for (const char* name : {"THREADS", "LOG", "TEST_TEXT", "TEST_FLAG", "TEST_LEVEL"}) {
      unsetenv(("PLAIT_" + std::string(name)).c_str());
    }
    for (const SettingState& state : settings()) reset_setting(state.name);
  }
};

// In a separate process, where no setting has been read or reset.
TEST(SettingsAtStart, TheLastOneComesFromTheEnvironmentToo) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("PLAIT_DETECT_ANOMALY", "on", 1);
  EXPECT_EXIT(std::exit(setting::kDetectAnomaly.get() ? 0 : 1), testing::ExitedWithCode(0), "");
  unsetenv("PLAIT_DETECT_ANOMALY");
}

TEST_F(Settings, StartWithTheirDefaults) {
  EXPECT_EQ(setting::kThreads.get(), 0);
  EXPECT_EQ(setting::kLog.get(), "");
  EXPECT_EQ(setting::kText.get(), "");
  EXPECT_FALSE(setting::kFlag.get());
  EXPECT_EQ(setting::kLevel.get(), Level::low);
}

TEST_F(Settings, AreListed) {
  const std::vector<SettingState> all = settings();
  EXPECT_GE(all.size(), 7);
  EXPECT_TRUE(std::ranges::is_sorted(all, {}, &SettingState::name));
  for (const SettingState& state : all) {
    if (std::getenv(state.environment_variable.c_str()) == nullptr) {
      EXPECT_EQ(state.value, state.default_value) << state.name;
      EXPECT_EQ(state.origin, SettingOrigin::standard) << state.name;
    }
    EXPECT_FALSE(state.description.empty()) << state.name;
    EXPECT_EQ(state.problem, "") << state.name;
  }
  EXPECT_EQ(state_named("threads").environment_variable, "PLAIT_THREADS");
  EXPECT_EQ(state_named("test_flag").environment_variable, "PLAIT_TEST_FLAG");
  EXPECT_EQ(state_named("threads").choices, "an integer from 0 to 1024");
  EXPECT_EQ(state_named("test_level").choices, "low or high");
  EXPECT_EQ(state_named("test_level").type, SettingType::choice);
}

TEST_F(Settings, ComeFromTheEnvironment) {
  setenv("PLAIT_THREADS", "3", 1);
  setenv("PLAIT_TEST_LEVEL", "high", 1);
  setenv("PLAIT_TEST_FLAG", "1", 1);
  setenv("PLAIT_TEST_TEXT", "after:fuse", 1);
  EXPECT_EQ(setting::kThreads.get(), 3);
  EXPECT_EQ(setting::kLevel.get(), Level::high);
  EXPECT_TRUE(setting::kFlag.get());
  EXPECT_EQ(setting::kText.get(), "after:fuse");
  EXPECT_EQ(state_named("threads").origin, SettingOrigin::environment);
  EXPECT_EQ(state_named("threads").value, "3");
  EXPECT_EQ(state_named("log").origin, SettingOrigin::standard);
}

TEST_F(Settings, AnEmptyVariableIsNone) {
  setenv("PLAIT_THREADS", "", 1);
  EXPECT_EQ(setting::kThreads.get(), 0);
  EXPECT_EQ(state_named("threads").origin, SettingOrigin::standard);
}

TEST_F(Settings, TheProgramComesFirst) {
  setenv("PLAIT_THREADS", "3", 1);
  setting::kThreads.set(2);
  EXPECT_EQ(setting::kThreads.get(), 2);
  EXPECT_EQ(state_named("threads").origin, SettingOrigin::api);
  setting::kThreads.reset();
  EXPECT_EQ(setting::kThreads.get(), 3);
  setting::kText.set("after:inline");
  EXPECT_EQ(setting::kText.get(), "after:inline");
  setting::kLevel.set(Level::high);
  EXPECT_EQ(state_named("test_level").value, "high");
}

TEST_F(Settings, BadEnvironmentIsReportedAtEachRead) {
  setenv("PLAIT_THREADS", "many", 1);
  const std::string expected =
      "ValueError: setting threads: 'many' is not an integer from 0 to 1024\n  hint: it was set by "
      "the environment variable PLAIT_THREADS";
  EXPECT_EQ(what_of([] { setting::kThreads.get(); }), expected);
  EXPECT_EQ(what_of([] { setting::kThreads.get(); }), expected);
  const SettingState state = state_named("threads");
  EXPECT_EQ(state.value, "many");
  EXPECT_EQ(state.origin, SettingOrigin::environment);
  EXPECT_EQ(state.problem, "setting threads: 'many' is not an integer from 0 to 1024");
  setting::kThreads.set(1);
  EXPECT_EQ(setting::kThreads.get(), 1);
}

TEST_F(Settings, BadValuesChangeNothing) {
  setting::kThreads.set(5);
  for (const char* bad : {"-1", "1025", "3x", "", " 3", "99999999999999999999", "3.0"}) {
    EXPECT_THROW(set_setting("threads", bad), ValueError) << bad;
  }
  EXPECT_THROW(setting::kThreads.set(-1), ValueError);
  EXPECT_THROW(setting::kThreads.set(std::numeric_limits<int64_t>::min()), ValueError);
  EXPECT_EQ(setting::kThreads.get(), 5);
  EXPECT_EQ(what_of([] { set_setting("test_level", "maybe"); }),
            "ValueError: setting test_level: 'maybe' is not low or high");
  EXPECT_THROW(setting::kLevel.set(static_cast<Level>(7)), ValueError);
  EXPECT_THROW(set_setting("test_flag", "yes"), ValueError);
  setting::kLog.set("ir=debug");
  EXPECT_THROW(setting::kLog.set("ir=loud"), ValueError);
  EXPECT_EQ(setting::kLog.get(), "ir=debug");
}

TEST_F(Settings, BadLogLevelsNameWhatIsWrong) {
  EXPECT_EQ(what_of([] { set_setting("log", "irr=debug"); }).substr(0, 112),
            "ValueError: setting log: 'irr=debug' is not a comma-separated list of levels or "
            "area=level: 'irr' is not an area");
}

TEST_F(Settings, UnknownNamesAreKeyErrors) {
  const std::string message = what_of([] { set_setting("thread", "1"); });
  EXPECT_TRUE(message.starts_with("KeyError: unknown setting 'thread'\n  hint: the settings are "))
      << message;
  for (const char* name : {"detect_anomaly, ", "log, ", "test_flag, ", "threads"}) {
    EXPECT_NE(message.find(name), std::string::npos) << message;
  }
  EXPECT_THROW(reset_setting(""), KeyError);
}

TEST_F(Settings, BoolsHaveThreePairsOfNames) {
  for (const char* name : {"true", "on", "1"}) {
    set_setting("test_flag", "false");
    set_setting("test_flag", name);
    EXPECT_TRUE(setting::kFlag.get()) << name;
  }
  for (const char* name : {"false", "off", "0"}) {
    set_setting("test_flag", "true");
    set_setting("test_flag", name);
    EXPECT_FALSE(setting::kFlag.get()) << name;
  }
}

TEST_F(Settings, TextsThatWereReadStay) {
  setting::kText.set("first");
  const std::string& first = setting::kText.get();
  setting::kText.set("second");
  EXPECT_EQ(first, "first");
  setting::kText.set("first");
  EXPECT_EQ(&setting::kText.get(), &first);
}

TEST_F(Settings, ManyThreadsReadAndWrite) {
  const size_t count = settings().size();
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([&wrong, count, id] {
      for (int i = 0; i < 500; ++i) {
        if (id == 0) setting::kThreads.set(i % 8);
        if (id == 1) setting::kText.set(i % 2 == 0 ? "even" : "odd");
        if (id == 1 && i % 50 == 0) setting::kText.reset();
        const int64_t size = setting::kThreads.get();
        const std::string& dump = setting::kText.get();
        const bool known = dump.empty() || dump == "even" || dump == "odd";
        if (size < 0 || size > 7 || !known) ++wrong;
        if (id == 3 && i % 100 == 0 && settings().size() != count) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace plait
