#include <cmath>
#include <fstream>
#include <functional>

#include <gtest/gtest.h>

#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/file.h"
#include "plait/io/logs/csv_log.h"
#include "plait/io/logs/event_log.h"
#include "plait/io/logs/jsonl_log.h"

#include "tests/io/logs/full_disk.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/errors.h"

namespace plait {
namespace {

std::string text_in(const std::string& path) {
  return std::string(characters_of(InputFile(path).bytes()));
}

void write_text(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The text of the file after a log of this kind was resumed.
template <class L>
std::string resumed_rows(const std::string& path, std::string_view text, int64_t from_step) {
  write_text(path, text);
  {
    const L log(path, from_step);
  }
  return text_in(path);
}

template <class L>
std::string refused_rows(const std::string& path, std::string_view text, int64_t from_step) {
  write_text(path, text);
  const std::string message = what_of<ParseError>([&] { L log(path, from_step); });
  EXPECT_EQ(text_in(path), text);
  return message;
}

const std::vector<LogEntry> kEntries{{"loss", 0.5},    {"n", 3},          {"ok", true},
                                     {"a\"b", "é\n,"}, {"bad", NAN},      {"large", INFINITY},
                                     {"f", 0.1F},      {"low", -INFINITY}};

TEST(JsonlLog, WritesObjects) {
  const TemporaryFolder folder;
  const std::string path = folder.path("log.jsonl");
  JsonlLog log(path);
  log.log(7, kEntries);
  log.log(8, {{"loss", 1.0}, {"rate", 1e-5}, {"n", uint64_t{1} << 62}});
  log.log(9, {});
  EXPECT_EQ(text_in(path),
            R"({"step":7,"loss":0.5,"n":3,"ok":true,"a\"b":"é\n,","bad":null,"large":"Infinity",)"
            R"("f":0.10000000149011612,"low":"-Infinity"})"
            "\n"
            R"({"step":8,"loss":1.0,"rate":1e-05,"n":4611686018427387904})"
            "\n{\"step\":9}\n");
}

TEST(CsvLog, WritesAHeaderAndRows) {
  const TemporaryFolder folder;
  const std::string path = folder.path("log.csv");
  CsvLog log(path);
  log.log(7, kEntries);
  log.log(9, {{"n", 4}, {"a\"b", ""}});
  EXPECT_EQ(text_in(path),
            "step,loss,n,ok,\"a\"\"b\",bad,large,f,low\n"
            "7,0.5,3,True,\"é\n,\",nan,inf,0.10000000149011612,-inf\n"
            "9,,4,,\"\",,,,\n");
}

TEST(CsvLog, ANewNameMakesAColumn) {
  const TemporaryFolder folder;
  const std::string path = folder.path("log.csv");
  CsvLog log(path);
  log.log(1, {{"a", 1}});
  log.log(2, {{"a", "x\n\"y"}});
  log.log(3, {{"c", 3}, {"b,", 4}});
  log.log(4, {{"a", 5}});
  EXPECT_EQ(text_in(path), "step,a,c,\"b,\"\n1,1,,\n2,\"x\n\"\"y\",,\n3,,3,4\n4,5,,\n");
  EXPECT_EQ(folder.file_count(), 2u);  // with the lock
  log.close();
  EXPECT_EQ(folder.file_count(), 1u);
  CsvLog again(path, 3);
  again.log(3, {{"d", 1}});
  EXPECT_EQ(text_in(path), "step,a,c,\"b,\",d\n1,1,,,\n2,\"x\n\"\"y\",,,\n3,,,,1\n");
}

TEST(JsonlLog, IsCutBackToAStep) {
  const TemporaryFolder folder;
  const std::string path = folder.path("log.jsonl");
  const std::string rows = "{\"step\":1}\n{\"a\":[1],\"step\":2}\n{\"step\":5}\n";
  EXPECT_EQ(resumed_rows<JsonlLog>(path, rows, 6), rows);
  EXPECT_EQ(resumed_rows<JsonlLog>(path, rows, 5), rows.substr(0, 30));
  EXPECT_EQ(resumed_rows<JsonlLog>(path, rows, 3), rows.substr(0, 30));
  EXPECT_EQ(resumed_rows<JsonlLog>(path, rows, 2), rows.substr(0, 11));
  EXPECT_EQ(resumed_rows<JsonlLog>(path, rows, 0), "");
  EXPECT_EQ(resumed_rows<JsonlLog>(path, "", 4), "");
  EXPECT_EQ(resumed_rows<JsonlLog>(path, rows + "{\"step\":6", 9), rows);
  EXPECT_EQ(resumed_rows<JsonlLog>(path, rows + std::string(100, '\0'), 9), rows);
  EXPECT_EQ(resumed_rows<JsonlLog>(path, rows + "{\"step\":6}", 9), rows + "{\"step\":6}\n");
  EXPECT_EQ(resumed_rows<JsonlLog>(path, rows + "{\"step\":6}", 6), rows);
  for (size_t cut = 1; cut < 11; ++cut) {
    const std::string torn = rows.substr(0, rows.size() - cut);
    const std::string kept = cut == 1 ? rows : rows.substr(0, 30);
    EXPECT_EQ(resumed_rows<JsonlLog>(path, torn, 9), kept) << cut;
  }
  EXPECT_EQ(folder.file_count(), 1u);
}

TEST(CsvLog, IsCutBackToAStep) {
  const TemporaryFolder folder;
  const std::string path = folder.path("log.csv");
  const std::string rows = "step,a\n1,\"x\n9,9\n\"\n2,\n5,6\n";
  EXPECT_EQ(resumed_rows<CsvLog>(path, rows, 6), rows);
  EXPECT_EQ(resumed_rows<CsvLog>(path, rows, 5), rows.substr(0, 21));
  EXPECT_EQ(resumed_rows<CsvLog>(path, rows, 2), rows.substr(0, 18));
  EXPECT_EQ(resumed_rows<CsvLog>(path, rows, 1), "");
  EXPECT_EQ(resumed_rows<CsvLog>(path, "", 1), "");
  EXPECT_EQ(resumed_rows<CsvLog>(path, "step,a\n", 1), "");
  EXPECT_EQ(resumed_rows<CsvLog>(path, "step,", 1), "");
  for (const std::string torn : {"6", "6,7", "6,\"", "6,\"7", "6,\"7\""}) {
    EXPECT_EQ(resumed_rows<CsvLog>(path, rows + torn, 9), rows) << torn;
  }
  EXPECT_EQ(resumed_rows<CsvLog>(path, rows + "6,\"7\"\"\n8", 6), rows);
  expect_contains(refused_rows<CsvLog>(path, rows + "6,\"7\"\"\n8", 9),
                  {"line 7: the cell that begins here"});
}

TEST(RowLogs, OtherFilesAreRefusedAndStay) {
  const TemporaryFolder folder;
  const std::string path = folder.path("log");
  expect_contains(refused_rows<JsonlLog>(path, "{\"step\":1}\nstep\n", 4),
                  {path + ": line 2: ", "move the file"});
  expect_contains(refused_rows<JsonlLog>(path, "{\"a\":1}\n", 4),
                  {path + ": line 1: \"step\" is missing"});
  expect_contains(refused_rows<JsonlLog>(path, "[1]\n", 4), {path + ": line 1: "});
  expect_contains(refused_rows<JsonlLog>(path, "{\"step\":0.5}\n", 4),
                  {"line 1: step is a number"});
  expect_contains(refused_rows<JsonlLog>(path, "{\"step\":8}\n{\"step\":8}\n", 4),
                  {"line 2: step 8 after step 8"});
  expect_contains(refused_rows<CsvLog>(path, "epoch,a\n1,2\n", 4),
                  {"line 1: the first column is \"epoch\""});
  expect_contains(refused_rows<CsvLog>(path, "step,a\n1\n", 4),
                  {"line 2: the row has 1 cells, expected 2"});
  expect_contains(refused_rows<CsvLog>(path, "step,a\n1,2\n1,2\n", 4),
                  {"line 3: step 1 after step 1"});
  expect_contains(refused_rows<CsvLog>(path, "step,a\n1.5,2\n", 4),
                  {"line 2: the first cell is not a step"});
  expect_contains(refused_rows<CsvLog>(path, "step,a\n1,\"2\"x\n2,3\n", 4),
                  {"line 2: expected \",\""});
  write_text(path, "x");
  expect_contains(what_of<IoError>([&] { JsonlLog log(path); }), {path + " exists already"});
  expect_contains(what_of<IoError>([&] { JsonlLog log(folder.path("")); }), {"cannot"});
  expect_contains(what_of<IoError>([&] { CsvLog log("/no/such/folder/log.csv"); }),
                  {"No such file"});
}

template <class L>
class EachRowLog : public ::testing::Test {};
using RowLogTypes = ::testing::Types<JsonlLog, CsvLog>;
TYPED_TEST_SUITE(EachRowLog, RowLogTypes);

TYPED_TEST(EachRowLog, StepsAscendAndBadEntriesWriteNothing) {
  const TemporaryFolder folder;
  const std::string path = folder.path("log");
  TypeParam log(path);
  log.log(3, {{"a", 1}});
  const std::string before = text_in(path);
  expect_contains(what_of<ValueError>([&] { log.log(3, {{"a", 1}}); }),
                  {"step 3 after step 3", "pass all values of a step in one call"});
  EXPECT_THROW(log.log(-1, {{"a", 1}}), ValueError);
  EXPECT_THROW(log.log(4, {{"", 1}}), ValueError);
  EXPECT_THROW(log.log(4, {{"a", 1}, {"a", 2}}), ValueError);
  EXPECT_THROW(log.log(4, {{"step", 1}}), ValueError);
  EXPECT_THROW(log.log(4, {{"\x80", 1}}), ValueError);
  EXPECT_THROW(log.log(4, {{"a", "\x80"}}), ValueError);
  EXPECT_THROW(log.log(4, {{"a", uint64_t{1} << 63}}), ValueError);
  EXPECT_EQ(text_in(path), before);
  expect_contains(message_of<IoError>([&] { TypeParam(path, 0); }),
                  {"is being written by process"});
  log.flush();
  log.close();
  log.close();
  expect_contains(message_of<ValueError>([&] { log.log(4, {{"a", 1}}); }), {"is closed"});
  EXPECT_THROW(TypeParam(path, -1), ValueError);
  EXPECT_EQ(text_in(path), before);
}

TYPED_TEST(EachRowLog, AFullDiskLeavesWholeRows) {
  const TemporaryFolder folder;
  const std::string path = folder.path("log");
  const int code = on_full_disk(200, [&] {
    TypeParam log(path);
    std::string before;
    int64_t step = 0;
    const auto fill = [&] {
      for (;; ++step) {
        before = step == 0 ? "" : text_in(path);
        log.log(step, {{"loss", 0.25}});
      }
    };
    expect_contains(what_of<IoError>(fill), {"cannot write " + path, "File too large"});
    EXPECT_EQ(text_in(path), before);
    EXPECT_THROW(log.log(step, {{"another", "a long text that has no place in the file"}}),
                 IoError);
    EXPECT_EQ(text_in(path), before);
    EXPECT_EQ(folder.file_count(), 2u);
  });
  EXPECT_EQ(code, 0);
}

TEST(Logs, PassAllToEach) {
  const TemporaryFolder folder;
  const auto rows = std::make_shared<JsonlLog>(folder.path("log.jsonl"));
  Logs logs({rows, std::make_shared<CsvLog>(folder.path("log.csv")),
             std::make_shared<EventLog>(folder.path("events"))});
  logs.log(1, {{"loss", 0.5}, {"note", "begin"}});
  rows->close();
  expect_contains(message_of<ValueError>([&] { logs.log(2, {{"loss", 0.25}}); }), {"is closed"});
  EXPECT_EQ(text_in(folder.path("log.csv")), "step,loss,note\n1,0.5,begin\n2,0.25,\n");
  logs.close();
}

}  // namespace
}  // namespace plait
