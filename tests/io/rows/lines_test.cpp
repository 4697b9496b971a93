#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "plait/io/inside/json.h"
#include "plait/io/rows/jsonl.h"
#include "plait/io/rows/line_stream.h"
#include "plait/io/rows/text_lines.h"

#include "tests/io/temporary_folder.h"
#include "tests/support/errors.h"

namespace plait {
namespace {

struct FileOf : TemporaryFolder {
  explicit FileOf(std::string_view text) : name(path("file")) {
    std::ofstream(name, std::ios::binary) << text;
  }
  std::string name;
};

std::vector<std::string> lines_of(std::string_view text) {
  const FileOf file(text);
  const TextLines lines(file.name);
  std::vector<std::string> found;
  for (int64_t i = 0; i < lines.size(); ++i) found.emplace_back(lines.line(i));
  return found;
}

TEST(TextLines, AreThoseBetweenTheEnds) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(lines_of(""), Texts());
  EXPECT_EQ(lines_of("a"), Texts{"a"});
  EXPECT_EQ(lines_of("a\n"), Texts{"a"});
  EXPECT_EQ(lines_of("\n\na\r\nb c\n"), (Texts{"", "", "a", "b c"}));
  EXPECT_EQ(lines_of("\xEF\xBB\xBF"
                     "é\r\r\n"),
            Texts{"é\r"});
}

TEST(TextLines, AreFoundInAnyOrderByAnyThread) {
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += std::to_string(i) + std::string(static_cast<size_t>(i % 7), '.') + "\n";
  const FileOf file(text);
  const TextLines lines(file.name);
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int k = 0; k < 4; ++k) {
    threads.emplace_back([&, k] {
      for (int i = 0; i < 1000; ++i) {
        const int line = (i * 379 + k * 100) % 1000;
        if (!lines.line(line).starts_with(std::to_string(line))) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(lines.size(), 1000);
  expect_contains(message_of<IndexError>([&] { lines.line(1000); }),
                  {"has 1000 lines, not line 1000"});
  EXPECT_THROW(lines.line(-1), IndexError);
}

TEST(TextLines, ErrorsNameFileAndLine) {
  const FileOf file("a\nb\xff\nc\n");
  const TextLines lines(file.name);
  EXPECT_EQ(lines.line(2), "c");
  expect_contains(message_of<ParseError>([&] { lines.line(1); }), {file.name + ": line 2: byte 1"});
  EXPECT_THROW(TextLines("/no/such/file"), IoError);
}

TEST(JsonlFile, HasAValueForEachLineThatIsNotBlank) {
  const FileOf file("{\"a\":1}\n\n  \r\n[2]\r\n\"x\"");
  const JsonlFile rows(file.name);
  EXPECT_EQ(rows.value(1), Json::parse("[2]"));
  EXPECT_EQ(rows.text(2), "\"x\"");
  EXPECT_EQ(rows.size(), 3);
  EXPECT_EQ(rows.value(0).at("a").as<int64_t>("a"), 1);
  expect_contains(message_of<IndexError>([&] { rows.value(3); }), {"has 3 rows, not row 3"});
}

TEST(JsonlFile, ErrorsNameFileAndLine) {
  const FileOf file("{\"a\":1}\n\n{\"a\":1,}\n{\"a\":\"\xff\"}\n");
  const JsonlFile rows(file.name);
  expect_contains(message_of<ParseError>([&] { rows.value(1); }), {file.name + ": line 3: byte 7"});
  expect_contains(message_of<ParseError>([&] { rows.text(2); }), {file.name + ": line 4: "});
  EXPECT_EQ(rows.value(0).text(), "{\"a\":1}");
}

TEST(Lines, SayThatAFileIsCompressed) {
  const FileOf file("\x28\xb5\x2f\xfd and more");
  expect_contains(message_of<ParseError>([&] { TextLines lines(file.name); }),
                  {file.name, "compressed with zstd"});
  EXPECT_THROW(JsonlFile(file.name).size(), ParseError);
  EXPECT_THROW(LineStream({file.name}).next(), ParseError);
}

std::vector<std::string> rest_of(LineStream& stream) {
  std::vector<std::string> lines;
  while (const auto line = stream.next()) lines.emplace_back(line->text());
  return lines;
}

TEST(LineStream, HasTheLinesOfFilesAndGoesOnAtEach) {
  const FileOf first(
      "\xEF\xBB\xBF"
      "a\r\n\nb\n"),
      second("c\n \nd"), empty("");
  for (const bool skips_blank : {false, true}) {
    LineStream stream({first.name, empty.name, second.name}, skips_blank);
    std::vector<std::string> expected{"a", "", "b", "c", " ", "d"};
    if (skips_blank) expected = {"a", "b", "c", "d"};
    do {
      LineStream other({first.name, empty.name, second.name}, skips_blank);
      other.seek(stream.position());
      EXPECT_EQ(rest_of(other), expected);
      if (!expected.empty()) expected.erase(expected.begin());
    } while (stream.next());
    EXPECT_EQ(stream.position(), (std::vector<int64_t>{3, 0}));
    stream.seek({});
    EXPECT_EQ(rest_of(stream).front(), "a");
  }
}

TEST(LineStream, RefusesOtherPlaces) {
  const FileOf file("one\ntwo\n");
  LineStream stream({file.name});
  for (const auto& position : {std::vector<int64_t>{2, 0}, {0}, {-1, 0}, {0, -4}, {0, 0, 0}}) {
    EXPECT_THROW(stream.seek(position), ValueError);
  }
  for (const int64_t byte : {3, 5, 9}) {
    stream.seek(std::vector<int64_t>{0, byte});
    expect_contains(message_of<ValueError>([&] { stream.next(); }), {"no line begins at byte"});
  }
}

TEST(LineStream, ErrorsNameFileAndLineAndAreFollowedByTheNext) {
  const FileOf file("[1]\n[\xff]\n[2]\n");
  LineStream stream({file.name});
  stream.next();
  const auto bad = stream.next();
  expect_contains(message_of<ParseError>([&] { bad->text(); }), {file.name + ": line 2: byte 1"});
  expect_contains(message_of<ParseError>([&] { bad->json(); }), {file.name + ": line 2: "});
  EXPECT_EQ(stream.next()->json_text(), "[2]");
  EXPECT_THROW(LineStream({"/no/such/file"}).next(), IoError);
}

}  // namespace
}  // namespace plait
