#include "plait/core/settings.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include <gtest/gtest.h>

#include "plait/core/error.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

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
    for (const char* name :
         {"THREADS", "LOG", "VERIFY", "DUMP", "PRINT_LOCATIONS", "CPU", "CACHE"}) {
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
  EXPECT_EQ(setting::kDump.get(), "");
  EXPECT_FALSE(setting::kPrintLocations.get());
#ifdef NDEBUG
  EXPECT_EQ(setting::kVerify.get(), Verify::off);
#else
  EXPECT_EQ(setting::kVerify.get(), Verify::on);
#endif
}

TEST_F(Settings, AreListed) {
  const std::vector<SettingState> all = settings();
  ASSERT_EQ(all.size(), size_t{kSettingCount});
  for (const SettingState& state : all) {
    EXPECT_EQ(state.value, state.default_value) << state.name;
    EXPECT_EQ(state.origin, SettingOrigin::standard) << state.name;
    EXPECT_FALSE(state.description.empty()) << state.name;
    EXPECT_EQ(state.problem, "") << state.name;
  }
  EXPECT_EQ(state_named("threads").environment_variable, "PLAIT_THREADS");
  EXPECT_EQ(state_named("print_locations").environment_variable, "PLAIT_PRINT_LOCATIONS");
  EXPECT_EQ(state_named("threads").choices, "an integer from 0 to 1024");
  EXPECT_EQ(state_named("verify").choices, "off or on");
  EXPECT_EQ(state_named("verify").type, SettingType::choice);
}

TEST_F(Settings, ComeFromTheEnvironment) {
  setenv("PLAIT_THREADS", "3", 1);
  setenv("PLAIT_VERIFY", "on", 1);
  setenv("PLAIT_PRINT_LOCATIONS", "1", 1);
  setenv("PLAIT_DUMP", "after:fuse", 1);
  EXPECT_EQ(setting::kThreads.get(), 3);
  EXPECT_EQ(setting::kVerify.get(), Verify::on);
  EXPECT_TRUE(setting::kPrintLocations.get());
  EXPECT_EQ(setting::kDump.get(), "after:fuse");
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
  setting::kDump.set("after:inline");
  EXPECT_EQ(setting::kDump.get(), "after:inline");
  setting::kVerify.set(Verify::on);
  EXPECT_EQ(state_named("verify").value, "on");
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
  EXPECT_THROW(setting::kThreads.set(settings_detail::kUnread), ValueError);
  EXPECT_EQ(setting::kThreads.get(), 5);
  EXPECT_EQ(what_of([] { set_setting("verify", "maybe"); }),
            "ValueError: setting verify: 'maybe' is not off or on");
  EXPECT_THROW(setting::kVerify.set(static_cast<Verify>(7)), ValueError);
  EXPECT_THROW(set_setting("print_locations", "yes"), ValueError);
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
  EXPECT_EQ(what_of([] { set_setting("thread", "1"); }),
            "KeyError: unknown setting 'thread'\n  hint: the settings are threads, "
            "spin_microseconds, log, verify, dump, passes, arena, print_locations, memory_limit, "
            "cpu, cache, detect_anomaly");
  EXPECT_THROW(reset_setting(""), KeyError);
}

TEST_F(Settings, BoolsHaveThreePairsOfNames) {
  for (const char* name : {"true", "on", "1"}) {
    set_setting("print_locations", "false");
    set_setting("print_locations", name);
    EXPECT_TRUE(setting::kPrintLocations.get()) << name;
  }
  for (const char* name : {"false", "off", "0"}) {
    set_setting("print_locations", "true");
    set_setting("print_locations", name);
    EXPECT_FALSE(setting::kPrintLocations.get()) << name;
  }
}

TEST_F(Settings, TextsThatWereReadStay) {
  setting::kDump.set("first");
  const std::string& first = setting::kDump.get();
  setting::kDump.set("second");
  EXPECT_EQ(first, "first");
  setting::kDump.set("first");
  EXPECT_EQ(&setting::kDump.get(), &first);
}

TEST_F(Settings, ManyThreadsReadAndWrite) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([&wrong, id] {
      for (int i = 0; i < 500; ++i) {
        if (id == 0) setting::kThreads.set(i % 8);
        if (id == 1) setting::kDump.set(i % 2 == 0 ? "even" : "odd");
        if (id == 1 && i % 50 == 0) setting::kDump.reset();
        const int64_t count = setting::kThreads.get();
        const std::string& dump = setting::kDump.get();
        const bool known = dump.empty() || dump == "even" || dump == "odd";
        if (count < 0 || count > 7 || !known) ++wrong;
        if (id == 3 && i % 100 == 0 && settings().size() != kSettingCount) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace plait
