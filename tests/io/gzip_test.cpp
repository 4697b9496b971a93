#include "plait/io/inside/gzip.h"

#include <random>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/io/inside/tar/tar_reader.h"

#include "tests/io/gzip_samples.h"
#include "tests/io/npy_samples.h"
#include "tests/io/tar_samples.h"
#include "tests/support/errors.h"

namespace plait {
namespace {

using namespace std::string_literals;

class Gzip : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!can_compress()) GTEST_SKIP() << "this build has no zlib";
  }
};

std::string unpacked(std::string_view file) {
  return std::string(characters_of(gunzipped(bytes_of(file))));
}

std::string random_text(size_t size) {
  std::mt19937 random(1);
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>("abc\n"[random() % 4]);
  return text;
}

TEST_F(Gzip, MembersFollowOneAnother) {
  EXPECT_EQ(unpacked(gzip("")), "");
  EXPECT_EQ(unpacked(gzip("one", "name")), "one");
  EXPECT_EQ(unpacked(gzip("one") + gzip("") + gzip(" two", "b")), "one two");
  EXPECT_EQ(unpacked(gzip("one") + std::string(1000, '\0')), "one");  // padding
}

TEST_F(Gzip, PiecesOfAnySizeAreTheContent) {
  const std::string text = random_text(300'000);
  const std::string file = gzip(text.substr(0, 100'000)) + gzip(text.substr(100'000));
  EXPECT_EQ(unpacked(file), text);
  for (const size_t piece : {1, 7, 4096, 99'999, 100'000, 100'001, 300'000, 400'000}) {
    GzipReader reader(bytes_of(std::string_view(file)));
    std::vector<std::byte> content;
    size_t count = piece;
    while (count == piece) {
      count = piece % 2 == 0 ? reader.append_some(content, piece) : [&] {
        const size_t before = content.size();
        content.resize(before + piece);
        const size_t read = reader.read_some(std::span(content).subspan(before));
        content.resize(before + read);
        return read;
      }();
    }
    EXPECT_EQ(characters_of(content), text) << piece;
    EXPECT_EQ(reader.position(), text.size());
    EXPECT_EQ(reader.read_some(content), 0u);
  }
}

TEST_F(Gzip, BytesArePassedBy) {
  const std::string text = random_text(100'000);
  const std::string file = gzip(text);
  for (const size_t at : {0, 1, 16'384, 50'000, 99'999, 100'000}) {
    GzipReader reader(bytes_of(std::string_view(file)));
    EXPECT_EQ(reader.skip_some(at), at);
    std::vector<std::byte> rest;
    reader.append_some(rest, SIZE_MAX / 2);
    EXPECT_EQ(characters_of(rest), text.substr(at));
  }
  GzipReader reader(bytes_of(std::string_view(file)));
  EXPECT_EQ(reader.skip_some(SIZE_MAX), text.size());
}

TEST_F(Gzip, AFileThatIsCutOffIsAnError) {
  const std::string file = gzip("some content", "name");
  const std::string two = file + gzip("more");
  for (size_t size = 0; size < two.size(); ++size) {
    if (size == file.size() || size == file.size() + 1) continue;
    EXPECT_THROW(unpacked(two.substr(0, size)), ParseError) << size;
  }
  EXPECT_EQ(unpacked(two.substr(0, file.size())), "some content");
  EXPECT_THROW(unpacked(two.substr(0, file.size() + 1)), ParseError);
  expect_contains(what_of<ParseError>([&] { unpacked(two.substr(0, file.size() - 9)); }),
                  {"the gzip member at byte 0: ", "cut off"});
}

TEST_F(Gzip, DamageIsAnErrorWithItsPlace) {
  const std::string text = random_text(1000), file = gzip(text);
  constexpr size_t kDeflated = 10;  // where the header ends
  int harmless = 0;
  for (size_t at = 0; at < file.size(); ++at) {
    for (const int bit : {0, 3, 7}) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      try {
        EXPECT_EQ(unpacked(damaged), text) << at;
        ++harmless;
      } catch (const ParseError&) {
      }
    }
  }
  EXPECT_LE(harmless, 6 * 3 + 4);  // time, level and system; that it is text; bits that fill a byte
  const auto message = [](const std::string& damaged) {
    return what_of<ParseError>([&] { unpacked(damaged); });
  };
  std::string wrong_sum = file, wrong_length = file;
  wrong_sum[file.size() - 8] ^= 1;
  wrong_length[file.size() - 1] ^= 1;
  expect_contains(message(wrong_sum), {fmt::format("byte {}: ", file.size() - 8), "checksum"});
  expect_contains(message(wrong_length), {fmt::format("byte {}: ", file.size() - 4), "as long as"});
  expect_contains(message(file + "x"), {fmt::format("byte {}: ", file.size()), "another member"});
  expect_contains(message(file + "\x1f\x8b\x07"s),
                  {fmt::format("byte {}: not compressed by deflate", file.size() + 2)});
  std::string invalid = file;
  invalid[kDeflated] = '\x07';  // a kind of block that does not exist
  expect_contains(message(file + invalid),
                  {fmt::format("the gzip member at byte {}: deflated byte", file.size())});
}

// A few thousand bytes are a gigabyte: only what is asked for is there.
TEST_F(Gzip, ABombTakesNoMemoryBeforeItIsRead) {
  std::string file = gzip(std::string(size_t{1} << 20, '\0'));
  for (int i = 0; i < 10; ++i) file += file;
  GzipReader reader(bytes_of(std::string_view(file)));
  std::vector<std::byte> some;
  EXPECT_EQ(reader.append_some(some, 100), 100u);
  EXPECT_LE(some.capacity(), 1000u);
  EXPECT_EQ(reader.skip_some(size_t{1} << 24), size_t{1} << 24);
}

TEST_F(Gzip, AFileIsWhatItsNameSays) {
  const auto bytes = [](std::string_view text) { return bytes_of(text); };
  EXPECT_TRUE(is_gzip("a.txt", bytes(gzip("one"))));
  EXPECT_TRUE(is_gzip("a.gz", bytes(gzip("one"))));
  EXPECT_FALSE(is_gzip("a.txt", bytes("one")));
  for (const std::string& text : {""s, "\x1f"s, "one"s}) {
    for (const char* path : {"a.txt.gz", "a.tgz", "A.TXT.GZ", ".Gz"}) {
      expect_contains(what_of<ParseError>([&] { is_gzip(path, bytes(text)); }),
                      {"byte 0: this is not a gzip file", text == "one" ? "without .gz" : "cut"});
    }
  }
}

TEST_F(Gzip, TheChecksumOfAHeaderIsCompared) {
  std::string file = gzip("one");
  file[3] = 2;  // the header has a checksum
  const uint32_t checksum = crc32_of(bytes_of(std::string_view(file).substr(0, 10)));
  file.insert(10, {static_cast<char>(checksum), static_cast<char>(checksum >> 8)});
  EXPECT_EQ(unpacked(file), "one");
  file[4] = 1;  // the time
  expect_contains(what_of<ParseError>([&] { unpacked(file); }), {"byte 10: the header"});
}

// ---- Archives.

std::string names_and_contents(TarReader& reader) {
  std::string found;
  while (const auto member = reader.next()) {
    std::vector<std::byte> content;
    if (!member->name.starts_with("skip")) reader.read_content(content);
    found += member->name + "=" + std::string(characters_of(content)) + " ";
  }
  return found;
}

TEST_F(Gzip, AnArchiveIsReadInOrder) {
  const std::string archive = tar_member("a", "one") + tar_member("skip", std::string(3000, 'x')) +
                              tar_member("dir", "", '5') +
                              tar_member("x", "16 path=long/é\n", 'x') + tar_member("b", "two") +
                              tar_member("c", "") + tar_end();
  const std::string file = gzip(archive);
  GzipReader content(bytes_of(std::string_view(file)));
  TarReader compressed(content), plain(bytes_of(std::string_view(archive)));
  EXPECT_EQ(names_and_contents(compressed), "a=one skip= long/é=two c= ");
  EXPECT_EQ(names_and_contents(plain), "a=one skip= long/é=two c= ");
  GzipReader again(bytes_of(std::string_view(file)));
  TarReader one(again), other(bytes_of(std::string_view(archive)));
  for (int i = 0; i < 4; ++i) {
    const auto member = one.next(), same = other.next();
    EXPECT_EQ(member->begin, same->begin);
    EXPECT_EQ(one.position(), other.position());
  }
}

TEST_F(Gzip, ArchivesThatEndEarlyAreErrors) {
  const std::string archive = tar_member("a", std::string(2000, 'x')) + tar_member("b", "two");
  for (const size_t size : {0, 100, 512, 600, 2512, 3000, 4096}) {
    const std::string file = gzip(archive.substr(0, size));
    GzipReader content(bytes_of(std::string_view(file)));
    TarReader reader(content);
    EXPECT_THROW(names_and_contents(reader), ParseError) << size;
  }
  // A member of a size that no memory has.
  const std::string claim = gzip(tar_header("a", tar_octal_field(size_t{077777777777}, 11)) + "x");
  GzipReader content(bytes_of(std::string_view(claim)));
  TarReader reader(content);
  expect_contains(what_of<ParseError>([&] { names_and_contents(reader); }),
                  {"byte 0: the member a has 8589934591 bytes, 1 are left"});
}

}  // namespace
}  // namespace plait
