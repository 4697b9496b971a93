#include "plait/core/location.h"

#include <cstdint>
#include <string>
#include <thread>
#include <unordered_set>
#include <vector>

#include <fmt/core.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include "plait/core/inside/caller_source.h"
#include "plait/core/inside/source_line.h"

namespace plait {
namespace {

struct Noted {
  uintptr_t address;
  int line;
};

// Not inlined: the tests read the return address of the call.
[[gnu::noinline]] uintptr_t note_caller() {
  const auto address = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  asm volatile("");
  return address;
}

[[gnu::noinline]] Noted note_here() {
  const Noted noted{note_caller(), __LINE__};
  asm volatile("");
  return noted;
}

TEST(Location, IsUnknownByDefault) {
  EXPECT_FALSE(Location().known());
  EXPECT_EQ(Location().text(), "");
}

TEST(Location, TellsFileAndLine) {
  const Location location = Location::of("model.cpp", 14);
  EXPECT_TRUE(location.known());
  EXPECT_EQ(location.text(), "model.cpp:14");
}

TEST(Location, KeepsTheLastComponentOfThePath) {
  EXPECT_EQ(Location::of("/home/ada/models/vit.cpp", 42).text(), "vit.cpp:42");
  EXPECT_EQ(Location::of("models/vit.cpp", 42).text(), "vit.cpp:42");
  EXPECT_EQ(Location::of("models/", 42).text(), "models/:42");
}

TEST(Location, WithoutALineIsTheFile) {
  EXPECT_EQ(Location::of("models/vit.cpp", -1).text(), "vit.cpp");
  EXPECT_EQ(Location::of("vit.cpp", 0).text(), "vit.cpp");
  EXPECT_EQ(Location::of("vit.cpp", INT64_MIN), Location::of("vit.cpp", 0));
  EXPECT_EQ(Location::of("vit.cpp", INT64_MAX).text(), "vit.cpp:9223372036854775807");
}

TEST(Location, WithoutAFileIsUnknown) {
  EXPECT_FALSE(Location::of("", 7).known());
  EXPECT_EQ(Location::of("", 7).text(), "");
}

TEST(Location, OfABackwardPassIsTheSamePlace) {
  for (const Location place : {Location::of("model.cpp", 14), Location::of_caller()}) {
    const Location backward = place.in_backward_pass();
    EXPECT_TRUE(backward.is_in_backward_pass() && !place.is_in_backward_pass());
    EXPECT_EQ(backward.text(), place.text());
    EXPECT_EQ(backward.in_backward_pass(), backward);
  }
  EXPECT_FALSE(Location().in_backward_pass().known());
  const LocationScope scope(Location::of("model.cpp", 14));
  EXPECT_EQ(Location::of_caller().text(), "model.cpp:14");
  EXPECT_NE(Location::of_outermost_caller().text(), "model.cpp:14");
}

TEST(Location, IsInterned) {
  const Location first = Location::of("interned.cpp", 3);
  EXPECT_EQ(Location::of(std::string("interned") + ".cpp", 3), first);
  EXPECT_NE(Location::of("interned.cpp", 4), first);
  EXPECT_NE(Location::of("other.cpp", 3), first);
  EXPECT_NE(Location::of("folder/interned.cpp", 3), first);
  EXPECT_NE(Location(), first);
}

TEST(Location, DoesNotConfuseFileNamesThatLookLikeLines) {
  EXPECT_NE(Location::of("a:1", 2), Location::of("a", 12));
  EXPECT_EQ(Location::of("a:1", 2).text(), "a:1:2");
  EXPECT_EQ(Location::of("a", 1).text(), "a:1");
  EXPECT_EQ(Location::of("a:1", 0).text(), "a:1");
  EXPECT_NE(Location::of("a", 1), Location::of("a:1", 0));
}

TEST(Location, IsInternedAlikeByManyThreads) {
  constexpr int kThreads = 8, kLines = 500;
  std::vector<std::vector<Location>> seen(kThreads);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&seen, thread] {
      for (int line = 1; line <= kLines; ++line) {
        seen[thread].push_back(Location::of("shared.cpp", line));
        EXPECT_EQ(seen[thread].back().text(), fmt::format("shared.cpp:{}", line));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::unordered_set<std::string> texts;
  for (int line = 0; line < kLines; ++line) {
    for (int thread = 1; thread < kThreads; ++thread) {
      EXPECT_EQ(seen[thread][line], seen[0][line]);
    }
    texts.insert(seen[0][line].text());
  }
  EXPECT_EQ(texts.size(), kLines);
}

TEST(Location, OfAReturnAddressTellsTheLineOfTheCall) {
  const Noted noted = note_here();
  if (!can_read_source_lines()) GTEST_SKIP() << "this build reads no debug information";
  EXPECT_EQ(text_of_return_address(noted.address), fmt::format("location_test.cpp:{}", noted.line));
}

// The following lines claim to be in an installed header of Plait, as an inlined operator would be.
#line 900 "/opt/include/plait/core/inlined_for_test.h"
[[gnu::always_inline]] inline uintptr_t note_through_plait() {
  const uintptr_t address = note_caller();
  asm volatile("");
  return address;
}
[[gnu::noinline]] uintptr_t note_within_plait() { return note_through_plait(); }
#line 134 "location_test.cpp"

[[gnu::noinline]] Noted note_through_inlined_code() {
  const Noted noted{note_through_plait(), __LINE__};
  asm volatile("");
  return noted;
}

TEST(Location, OfInlinedCodeIsTheInnermostLineOutsidePlait) {
  if (!can_read_source_lines()) GTEST_SKIP() << "this build reads no debug information";
  const Noted noted = note_through_inlined_code();
  EXPECT_EQ(text_of_return_address(noted.address), fmt::format("location_test.cpp:{}", noted.line));
}

TEST(Location, WithinPlaitIsTheInnermostLine) {
  if (!can_read_source_lines()) GTEST_SKIP() << "this build reads no debug information";
  EXPECT_EQ(text_of_return_address(note_within_plait()), "inlined_for_test.h:901");
}

TEST(Location, OfAReturnAddressWithoutDebugInformationNamesTheLoadedFile) {
  const auto* libc_function = reinterpret_cast<const char*>(&::gnu_get_libc_version);
  const std::string text = text_of_return_address(reinterpret_cast<uintptr_t>(libc_function + 1));
  EXPECT_TRUE(text.starts_with("libc")) << text;
  EXPECT_NE(text.find("+0x"), std::string::npos) << text;
}

TEST(Location, OfAReturnAddressOutsideAllCodeIsTheNumber) {
  EXPECT_EQ(text_of_return_address(0x11), "0x10");
}

TEST(Location, AsksAnotherLanguageFirst) {
  set_caller_source([] { return Location::of("model.py", 7); });
  const Location told = Location::of_caller();
  set_caller_source([] { return Location(); });
  const Location own = Location::of_caller();
  set_caller_source(nullptr);
  EXPECT_EQ(told.text(), "model.py:7");
  EXPECT_TRUE(own.known());
  EXPECT_NE(own, told);
}

}  // namespace
}  // namespace plait
