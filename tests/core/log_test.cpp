#include "plait/core/log.h"

#include <cstdlib>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"

namespace plait {
namespace {

class Log : public testing::Test {
 protected:
  void SetUp() override { setting::kLog.set(""); }
  void TearDown() override {
    set_log_sink({});
    unsetenv("PLAIT_LOG");
    setting::kLog.reset();
  }

  void collect() {
    set_log_sink([this](const LogLine& line) {
      lines_.push_back(
          fmt::format("{} {} {}", name_of(line.level), name_of(line.area), line.message));
    });
  }

  std::vector<std::string> lines_;
};

TEST_F(Log, ShowsWarningsAtFirst) {
  collect();
  for (const LogLevel level :
       {LogLevel::error, LogLevel::warning, LogLevel::info, LogLevel::debug, LogLevel::trace}) {
    log(LogArea::ir, level, "{} and {}", 1, "two");
  }
  EXPECT_EQ(lines_, (std::vector<std::string>{"error ir 1 and two", "warning ir 1 and two"}));
}

TEST_F(Log, FollowsTheSetting) {
  collect();
  setting::kLog.set("ir=debug,core=off");
  log(LogArea::ir, LogLevel::debug, "a");
  log(LogArea::ir, LogLevel::trace, "b");
  log(LogArea::core, LogLevel::error, "c");
  log(LogArea::cpu, LogLevel::info, "d");
  log(LogArea::cpu, LogLevel::warning, "e");
  setting::kLog.set("trace");
  log(LogArea::serve, LogLevel::trace, "f");
  log(LogArea::serve, LogLevel::off, "never");
  EXPECT_EQ(lines_, (std::vector<std::string>{"debug ir a", "warning cpu e", "trace serve f"}));
}

TEST_F(Log, IsOnOnlyWhereALineWouldShow) {
  setting::kLog.set("ir=debug");
  EXPECT_TRUE(log_is_on(LogArea::ir, LogLevel::debug));
  EXPECT_FALSE(log_is_on(LogArea::ir, LogLevel::trace));
  EXPECT_FALSE(log_is_on(LogArea::core, LogLevel::debug));
  EXPECT_FALSE(log_is_on(LogArea::core, LogLevel::off));
  EXPECT_FALSE(log_is_on(static_cast<LogArea>(200), LogLevel::error));
}

TEST_F(Log, ReadsTheEnvironmentOnItsFirstLine) {
  collect();
  setenv("PLAIT_LOG", "nn=info", 1);
  setting::kLog.reset();
  log(LogArea::nn, LogLevel::info, "seen");
  log(LogArea::data, LogLevel::info, "unseen");
  EXPECT_EQ(lines_, std::vector<std::string>{"info nn seen"});
}

TEST_F(Log, SaysOnceThatTheEnvironmentIsBad) {
  collect();
  setenv("PLAIT_LOG", "nn=loud", 1);
  setting::kLog.reset();
  log(LogArea::nn, LogLevel::warning, "first");
  log(LogArea::nn, LogLevel::warning, "second");
  ASSERT_EQ(lines_.size(), 3u);
  EXPECT_TRUE(
      std::regex_search(lines_[0], std::regex("warning core .*'nn=loud'.*'loud' is not a level")))
      << lines_[0];
  EXPECT_EQ(lines_[2], "warning nn second");
  EXPECT_THROW(setting::kLog.get(), ValueError);
}

TEST_F(Log, LevelsAreParsed) {
  const auto level_of = [](std::string_view text, LogArea area) {
    return parse_log_levels(text)[static_cast<size_t>(area)];
  };
  EXPECT_EQ(level_of("", LogArea::ir), LogLevel::warning);
  EXPECT_EQ(level_of("debug", LogArea::ir), LogLevel::debug);
  EXPECT_EQ(level_of(" all = info , ir=trace", LogArea::ir), LogLevel::trace);
  EXPECT_EQ(level_of(" all = info , ir=trace", LogArea::cuda), LogLevel::info);
  EXPECT_EQ(level_of("ir=trace,error", LogArea::ir), LogLevel::error);
  for (const char* bad :
       {",", "ir", "ir=", "=debug", "ir=debug,", "ir=debug core=info", "IR=debug"}) {
    EXPECT_THROW(parse_log_levels(bad), ValueError) << bad;
  }
}

TEST_F(Log, EveryNameIsRead) {
  for (int i = 0; i < kLogAreaCount; ++i) {
    const auto area = static_cast<LogArea>(i);
    EXPECT_EQ(parse_log_levels(fmt::format("off,{}=trace", name_of(area)))[static_cast<size_t>(i)],
              LogLevel::trace);
  }
  for (int i = 0; i < kLogLevelCount; ++i) {
    const auto level = static_cast<LogLevel>(i);
    EXPECT_EQ(parse_log_levels(name_of(level))[0], level);
  }
}

TEST_F(Log, LinesCarryTimeLevelAndArea) {
  EXPECT_EQ((LogLine{LogLevel::debug, LogArea::ir, 12.3456, "message"}.text()),
            "plait 12.346 debug ir: message");
  std::vector<double> seconds;
  set_log_sink([&](const LogLine& line) { seconds.push_back(line.seconds); });
  log(LogArea::core, LogLevel::error, "a");
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  log(LogArea::core, LogLevel::error, "b");
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_GE(seconds[0], 0);
  EXPECT_GE(seconds[1] - seconds[0], 0.002);
  EXPECT_LT(seconds[1], 600);
}

TEST_F(Log, GoesToStderrWithoutASink) {
  testing::internal::CaptureStderr();
  log(LogArea::cpu, LogLevel::warning, "{:.1f} GB", 1.25);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_TRUE(std::regex_match(text, std::regex("plait \\d+\\.\\d{3} warning cpu: 1\\.2 GB\n")))
      << text;
}

TEST_F(Log, LinesOfManyThreadsAreWhole) {
  constexpr int kThreads = 4;
  constexpr int kLines = 200;
  const auto log_many = [](int id) {
    for (int i = 0; i < kLines; ++i) {
      log(LogArea::core, LogLevel::error, "{} begins {:>300} ends", id, i);
    }
  };
  testing::internal::CaptureStderr();
  std::vector<std::thread> threads;
  for (int id = 0; id < kThreads; ++id) threads.emplace_back(log_many, id);
  for (std::thread& thread : threads) thread.join();
  std::istringstream text(testing::internal::GetCapturedStderr());
  int count = 0;
  for (std::string line; std::getline(text, line); ++count) {
    ASSERT_TRUE(line.starts_with("plait ") && line.ends_with(" ends")) << line;
    ASSERT_EQ(line.find("plait", 1), std::string::npos) << line;
  }
  EXPECT_EQ(count, kThreads * kLines);
}

TEST_F(Log, OneThreadAtATimeIsInTheSink) {
  int count = 0;
  int meetings = 0;
  std::atomic<bool> is_inside = false;
  set_log_sink([&](const LogLine&) {
    if (is_inside.exchange(true)) ++meetings;
    std::this_thread::yield();
    ++count;
    is_inside = false;
  });
  std::vector<std::thread> threads;
  for (int id = 0; id < 4; ++id) {
    threads.emplace_back([] {
      for (int i = 0; i < 500; ++i) log(LogArea::core, LogLevel::error, "line");
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, 2000);
  EXPECT_EQ(meetings, 0);
}

TEST_F(Log, ASinkMayLogThrowAndReplaceItself) {
  testing::internal::CaptureStderr();
  set_log_sink([](const LogLine& line) {
    log(LogArea::core, LogLevel::error, "within {}", line.message);
    throw std::runtime_error("full");
  });
  log(LogArea::core, LogLevel::error, "first");
  set_log_sink([this](const LogLine&) { collect(); });
  log(LogArea::core, LogLevel::error, "second");
  log(LogArea::core, LogLevel::error, "third");
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_NE(text.find("error core: within first\n"), std::string::npos) << text;
  EXPECT_NE(text.find("error core: first\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("second"), std::string::npos) << text;
  EXPECT_EQ(lines_, std::vector<std::string>{"error core third"});
}

TEST_F(Log, GivesTheFormerSink) {
  EXPECT_FALSE(set_log_sink([](const LogLine&) {}));
  EXPECT_TRUE(set_log_sink({}));
}

}  // namespace
}  // namespace plait
