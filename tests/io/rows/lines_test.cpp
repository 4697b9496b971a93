#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "plait/io/inside/json.h"
#include "plait/io/rows/jsonl.h"
#include "plait/io/rows/line_stream.h"
#include "plait/io/rows/text_lines.h"

#include "tests/io/gzip_samples.h"
#include "tests/io/npy_samples.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/errors.h"

namespace plait {
namespace {

using namespace std::string_literals;

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

// ---- Compressed by gzip.

std::string many_lines() {
  std::string text = "\xEF\xBB\xBF";
  for (int i = 0; i < 20'000; ++i) {
    text += std::string(static_cast<size_t>(i * 7 % 90), 'x') + (i % 5 == 0 ? "\r\n" : "\n");
  }
  return text + std::string(300'000, 'y') + "\n \t\nend";
}

TEST(CompressedLines, AreThoseOfTheText) {
  if (!can_compress()) GTEST_SKIP() << "this build has no zlib";
  const std::string long_text = many_lines();
  for (const std::string& text :
       {""s, "a"s, "a\n"s, "\n\na\r\nb c\n"s, "\xEF\xBB\xBF\nb"s, long_text}) {
    const FileOf plain(text), compressed(gzip(text)),
        divided(gzip(text.substr(0, text.size() / 2)) + gzip(text.substr(text.size() / 2)));
    for (const bool skips_blank : {false, true}) {
      LineStream expected({plain.name}, skips_blank);
      const std::vector<std::string> lines = rest_of(expected);
      for (const std::string& name : {compressed.name, divided.name}) {
        LineStream stream({name}, skips_blank);
        EXPECT_EQ(rest_of(stream), lines);
      }
    }
    EXPECT_EQ(lines_of(gzip(text)), lines_of(text));  // by number
  }
}

TEST(CompressedLines, GoOnAtEachPosition) {
  if (!can_compress()) GTEST_SKIP() << "this build has no zlib";
  const std::string text = "\xEF\xBB\xBFone\n\ntwo\r\n{\"x\": 3}\nlast";
  const FileOf file(gzip(text)), plain(text);
  LineStream stream({file.name, plain.name, file.name}),
      expected({plain.name, plain.name, plain.name});
  for (bool is_there = true; is_there;) {
    EXPECT_EQ(stream.position(), expected.position());
    LineStream other({file.name, plain.name, file.name}), copy = stream;
    other.seek(stream.position());
    const auto rest = rest_of(other);
    EXPECT_EQ(rest_of(copy), rest);  // goes on by itself
    LineStream same = expected;
    EXPECT_EQ(rest_of(same), rest);
    is_there = stream.next().has_value();
    expected.next();
  }
  for (const int64_t byte : {1, 4, 100}) {
    LineStream wrong({file.name, plain.name});
    wrong.seek(std::vector<int64_t>{0, byte});
    expect_contains(what_of<ValueError>([&] { wrong.next(); }),
                    {file.name, fmt::format("no line begins at byte {}", byte)});
    EXPECT_EQ(rest_of(wrong).size(), 5u);  // the other file
  }
}

TEST(CompressedLines, ErrorsNameFileAndLine) {
  if (!can_compress()) GTEST_SKIP() << "this build has no zlib";
  const FileOf file(gzip("1\n\n\xFF\n[\n"));
  LineStream stream({file.name}, true);
  EXPECT_EQ(stream.next()->json_text(), "1");
  const auto invalid = stream.next(), malformed = stream.next();
  expect_contains(what_of<ParseError>([&] { invalid->text(); }), {file.name + ": line 3: byte 0"});
  expect_contains(what_of<ParseError>([&] { malformed->json(); }), {file.name + ": line 4: "});
}

TEST(CompressedLines, ADamagedFileIsOneErrorAndTheNextOneFollows) {
  if (!can_compress()) GTEST_SKIP() << "this build has no zlib";
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i * 7919 % 100'003) + "\n";
  const std::string whole = gzip(text);
  const FileOf cut(whole.substr(0, whole.size() / 2)), good("good\n");
  LineStream stream({cut.name, good.name});
  size_t lines = 0;
  std::string message;
  try {
    while (stream.next()) ++lines;
  } catch (const ParseError& error) {
    message = error.message();
  }
  expect_contains(message, {cut.name + ": the gzip member at byte 0: ", "cut off"});
  EXPECT_GT(lines, 10'000u);
  EXPECT_EQ(rest_of(stream), std::vector<std::string>{"good"});
  EXPECT_THROW(TextLines{cut.name}, ParseError);
  EXPECT_THROW(JsonlFile{cut.name}, ParseError);
}

}  // namespace
}  // namespace plait
