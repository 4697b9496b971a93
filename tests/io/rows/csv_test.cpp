#include "plait/io/rows/csv.h"

#include <cmath>
#include <fstream>

#include <gtest/gtest.h>

#include "plait/io/inside/byte_fields.h"
#include "plait/io/rows/csv_blocks.h"

#include "tests/io/gzip_samples.h"
#include "tests/io/npy_samples.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/errors.h"

namespace plait {
namespace {

using Texts = std::vector<std::string>;

CsvTable csv_of(std::string_view text, const CsvOptions& options = {}) {
  return read_csv(bytes_of(text), options);
}

std::string csv_error(std::string_view text, const CsvOptions& options = {}) {
  return what_of<ParseError>([&] { csv_of(text, options); });
}

// Each column in one text.
std::string shown_table(const CsvTable& table) {
  std::string text;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    text += table.names[i] + ":";
    if (const auto* array = std::get_if<Array>(&table.columns[i])) {
      text += " " + text_of(*array);
    } else {
      for (const std::string& cell : std::get<Texts>(table.columns[i])) text += " <" + cell + ">";
    }
    text += "\n";
  }
  return text;
}

TEST(Csv, HasColumnsOfIntegersFloatsAndTexts) {
  EXPECT_EQ(shown_table(csv_of("a,b,c\n1,2.5,x\n-2,nan,\n+3,,\"y, \"\"z\"\"\"\n")),
            "a: [ 1 -2  3] : i64[3]\nb: [2.5 nan nan] : f64[3]\nc: <x> <> <y, \"z\">\n");
  EXPECT_EQ(shown_table(csv_of("a;b\r\n1;'2;\n3'\r\n", {.separator = ';', .quote = '\''})),
            "a: [1] : i64[1]\nb: <2;\n3>\n");
  EXPECT_EQ(shown_table(csv_of("\xEF\xBB\xBF"
                               "a\n1")),
            "a: [1] : i64[1]\n");
  EXPECT_EQ(shown_table(csv_of("1,x\n2,y\n", {.has_header = false})),
            "0: [1 2] : i64[2]\n1: <x> <y>\n");
  EXPECT_EQ(shown_table(csv_of("1,x\n", {.has_header = false, .names = {"a", "b"}})),
            "a: [1] : i64[1]\nb: <x>\n");
  EXPECT_EQ(csv_of("a,b\n", {.names = {"c", "d"}}).names, (Texts{"c", "d"}));
}

TEST(Csv, LinesEndInAnyWayAndEmptyOnesAreSkipped) {
  for (const std::string_view text : {"a,b\n1,2\n3,4\n", "a,b\r\n1,2\r\n3,4", "a,b\r1,2\r3,4\r",
                                      "\n\na,b\n\n1,2\r\n\r\n\n3,4\n\n\n"}) {
    EXPECT_EQ(shown_table(csv_of(text)), "a: [1 3] : i64[2]\nb: [2 4] : i64[2]\n") << text;
  }
  EXPECT_EQ(shown_table(csv_of("a\n\"\"\nx\n")),
            "a: <> <x>\n");  // an empty cell is not an empty line
  EXPECT_EQ(shown_table(csv_of("a,b\n,\n")), "a: [nan] : f64[1]\nb: [nan] : f64[1]\n");
  EXPECT_EQ(shown_table(csv_of("a\n")), "a: [] : f64[0]\n");
}

TEST(Csv, QuotesInsideOfCellsAreCharacters) {
  EXPECT_EQ(shown_table(csv_of("a,b\nx\"y\", \"z\"\n")), "a: <x\"y\">\nb: < \"z\">\n");
  EXPECT_EQ(shown_table(csv_of("a\n\"x\n", {.quote = 0})), "a: <\"x>\n");
}

TEST(Csv, NoDigitsAreLost) {
  EXPECT_EQ(shown_table(csv_of("a\n9223372036854775807\n")), "a: [9223372036854775807] : i64[1]\n");
  EXPECT_EQ(shown_table(csv_of("a\n9223372036854775808\n")), "a: <9223372036854775808>\n");
  EXPECT_EQ(shown_table(csv_of("a\n9007199254740993\n0.5\n")), "a: <9007199254740993> <0.5>\n");
  EXPECT_EQ(shown_table(csv_of("a,b\n9007199254740993,1\n,1\n")),
            "a: <9007199254740993> <>\nb: [1 1] : i64[2]\n");
  EXPECT_EQ(shown_table(csv_of("a\n9007199254740992\n0.5\n")),
            "a: [9.00719925e+15 5.00000000e-01] : f64[2]\n");
  const CsvOptions as_float{.types = {{"a", CsvType::f64}}};
  EXPECT_EQ(shown_table(csv_of("a\n9223372036854775808\n", as_float)),
            "a: [9.22337204e+18] : f64[1]\n");
}

TEST(Csv, NumbersAreThoseOfC) {
  const auto numbers = [](std::string_view text) {
    const CsvTable table = csv_of(text, {.types = {{"a", CsvType::f64}}});
    const auto elements = std::get<Array>(table.columns[0]).elements<double>();
    return std::vector<double>(elements.begin(), elements.end());
  };
  EXPECT_EQ(
      numbers("a\n1e3\n.5\n5.\n -0.25 \n+1\n1e999\n-1e999\n1e-999\ninf\n-Infinity\n"),
      (std::vector<double>{1000, .5, 5, -.25, 1, INFINITY, -INFINITY, 0, INFINITY, -INFINITY}));
  EXPECT_TRUE(std::isnan(numbers("a\nNAN\n")[0]));
  for (const std::string text :
       {"0x10", "1_000", "1,0", "nan(1)", "1e", "--1", "+-1", "e5", "1 2"}) {
    EXPECT_EQ(shown_table(csv_of("a\n\"" + text + "\"\n")), "a: <" + text + ">\n");
  }
}

TEST(Csv, ErrorsNameLineAndColumn) {
  expect_contains(csv_error("a,b\n1,2\n3\n"), {"line 3: the row has 1 cells, expected 2"});
  expect_contains(csv_error("a,b\n\"1\n\n\",2\n1,2,3\n"),
                  {"line 5: the row has 3 cells, expected 2"});
  expect_contains(csv_error("a\n1\n\"2"),
                  {"line 3: the cell that begins here has no closing quote"});
  expect_contains(csv_error("a\n\"1\"2\n"),
                  {"line 2: expected \",\" or the end of the line", "found \"2\""});
  expect_contains(csv_error(""), {"line 1: expected the names of columns"});
  expect_contains(csv_error("a,b,a\n"), {"line 1: two columns are named \"a\""});
  expect_contains(csv_error("a\n1\n\xff\n"), {"line 3: column \"a\": expected UTF-8, found"});
  expect_contains(csv_error("\xff\n1\n"), {"line 1: the name of a column is not UTF-8"});
  const CsvOptions integers{.types = {{"b", CsvType::i64}}};
  expect_contains(csv_error("a,b\n1,2\n1,\n", integers),
                  {"line 3: column \"b\": expected an i64, found \"\""});
  const CsvOptions floats{.types = {{"b", CsvType::f64}}};
  expect_contains(csv_error("a,b\n1,x\n", floats),
                  {"line 2: column \"b\": expected a number, found \"x\""});
}

TEST(Csv, BadOptionsAreRefused) {
  EXPECT_THROW(csv_of("a\n", {.separator = '"'}), ValueError);
  EXPECT_THROW(csv_of("a\n", {.separator = '\n'}), ValueError);
  EXPECT_THROW(csv_of("a\n", {.quote = '\r'}), ValueError);
  EXPECT_THROW(csv_of("a,b\n", {.names = {"a"}}), ValueError);
  const auto misspelt = [] { csv_of("label,b\n", {.types = {{"labels", CsvType::i64}}}); };
  expect_contains(what_of<KeyError>(misspelt),
                  {"unknown column \"labels\"", "did you mean label?"});
  expect_contains(what_of<KeyError>([] { csv_of("a\n").at("b"); }), {"unknown column \"b\""});
}

TEST(Csv, ColumnsAreChosen) {
  const std::string_view text = "a,b,c\n1,x,2\n3,y,\n";
  EXPECT_EQ(shown_table(csv_of(text, {.columns = {"c", "a"}})),
            "c: [ 2. nan] : f64[2]\na: [1 3] : i64[2]\n");
  expect_contains(what_of<KeyError>([&] { csv_of(text, {.columns = {"d"}}); }), {"column \"d\""});
  EXPECT_THROW(csv_of(text, {.columns = {"a", "a"}}), ValueError);
}

TEST(Csv, ErrorsSayWhichTypeFits) {
  const CsvOptions integers{.types = {{"a", CsvType::i64}}};
  expect_contains(csv_error("a\n1.5\n", integers), {"types={\"a\": \"f64\"}"});
  expect_contains(csv_error("a,b\n,1\n", integers), {"missing cells need f64: types={"});
  expect_contains(csv_error("a\nx\n", integers), {"types={\"a\": \"text\"}"});
  expect_contains(csv_error("a\n9223372036854775808\n", integers), {"types={\"a\": \"text\"}"});
}

TEST(CsvFile, IsReadInPiecesAndByRow) {
  const TemporaryFolder folder;
  const std::string path = folder.path("rows.csv");
  {
    std::ofstream file(path);
    file << "id,text,value\n";
    for (int i = 0; i < 1000; ++i) {
      file << i << ",\"" << std::string(static_cast<size_t>(i % 3), '\n') << i << "\"," << 0.5 * i
           << "\n\n";
    }
  }
  const CsvFile file(path);
  EXPECT_EQ(file.row(777), (Texts{"777", "777", "388.5"}));
  EXPECT_EQ(file.row(5), (Texts{"5", "\n\n5", "2.5"}));
  EXPECT_EQ(file.size(), 1000);
  EXPECT_EQ(file.types(), (std::vector{CsvType::i64, CsvType::text, CsvType::f64}));
  int64_t count = 0;
  for (;;) {
    const CsvTable piece = file.rows(count, count + 33);
    if (piece.row_count == 0) break;
    for (const int64_t id : std::get<Array>(piece.at("id")).elements<int64_t>()) {
      EXPECT_EQ(id, count++);
    }
  }
  EXPECT_EQ(count, 1000);
  expect_contains(message_of<IndexError>([&] { file.row(1000); }),
                  {path, "1000 rows, not row 1000"});
  EXPECT_THROW(file.row(-1), IndexError);
  EXPECT_THROW(file.rows(-1, 3), IndexError);
  EXPECT_THROW(file.rows(4, 3), IndexError);
  EXPECT_EQ(file.rows(4, 4).row_count, 0);
}

TEST(CsvFile, ErrorsNameTheFile) {
  const TemporaryFolder folder;
  const std::string path = folder.path("rows.csv");
  std::ofstream(path) << "a,b\n1,2\n3\n";
  expect_contains(message_of<ParseError>([&] { load_csv(path); }), {path + ": line 3: "});
  const CsvFile file(path);
  EXPECT_EQ(file.row(0), (Texts{"1", "2"}));
  expect_contains(message_of<ParseError>([&] { file.row(1); }), {path + ": line 3: "});
  EXPECT_EQ(file.rows(0, 1).row_count, 1);
  expect_contains(message_of<ParseError>([&] { file.rows(0, 2); }), {path + ": line 3: "});
  EXPECT_THROW(CsvFile(folder.path("none")), IoError);
  std::ofstream(path) << "\x28\xb5\x2f\xfd and more";
  expect_contains(message_of<ParseError>([&] { load_csv(path); }), {path, "compressed with zstd"});
  expect_contains(message_of<ParseError>([&] { CsvFile(path).size(); }), {"compressed with zstd"});
}

TEST(CompressedCsv, HasTheRowsOfTheText) {
  if (!can_compress()) GTEST_SKIP() << "this build has no zlib";
  const std::string text = "a,b\n1,x\n2,\"y\nz\"\n3,w\n",
                    file = gzip(text.substr(0, 9)) + gzip(text.substr(9));
  EXPECT_EQ(shown_table(csv_of(file)), shown_table(csv_of(text)));
  const TemporaryFolder folder;
  const auto write = [&](const std::string& name, const std::string& content) {
    std::ofstream(folder.path(name), std::ios::binary) << content;
    return folder.path(name);
  };
  const std::string path = write("a.csv.gz", file), cut = write("cut.gz", file.substr(0, 20));
  EXPECT_EQ(shown_table(load_csv(path)), shown_table(csv_of(text)));
  EXPECT_EQ(CsvFile(path).row(1), (Texts{"2", "y\nz"}));
  CsvBlocks blocks({path, cut, path});
  const auto first = blocks.next();
  ASSERT_EQ(first->table.row_count, 1);
  CsvBlocks other({path, cut, path});
  other.seek(first->position(1));
  EXPECT_EQ(shown_table(other.next()->table), "a: [2] : i64[1]\nb: <y\nz>\n");
  EXPECT_EQ(shown_table(other.next()->table), "a: [3] : i64[1]\nb: <w>\n");
  expect_contains(what_of<ParseError>([&] { other.next(); }),
                  {cut + ": the gzip member at byte 0: the deflated bytes are cut off"});
  EXPECT_EQ(other.next()->file, 2);
  expect_contains(what_of<ParseError>([&] { load_csv(cut); }), {cut + ": the gzip member"});
  expect_contains(what_of<ParseError>([&] { csv_of(gzip(file)); }), {"compressed with gzip"});
}

}  // namespace
}  // namespace plait
