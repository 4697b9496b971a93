#include "plait/io/inside/tar/tar_reader.h"

#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"

#include "tests/io/tar_samples.h"
#include "tests/support/errors.h"

namespace plait {
namespace {

using Members = std::vector<std::pair<std::string, std::string>>;

Members members_of(const std::string& archive) {
  TarReader reader(bytes_of(std::string_view(archive)));
  Members members;
  while (const auto member = reader.next()) {
    members.emplace_back(member->name, archive.substr(member->begin, member->size));
  }
  return members;
}

TEST(TarReader, ReadsFilesAndSkipsTheRest) {
  const std::string archive = tar_member("a", "one") + tar_member("folder/", "", '5') +
                              tar_member("folder/b", std::string(513, 'x')) +
                              tar_member("link", "", '2') + tar_member("old", "", '\0') + tar_end();
  EXPECT_EQ(members_of(archive),
            (Members{{"a", "one"}, {"folder/b", std::string(513, 'x')}, {"old", ""}}));
}

// As POSIX says; those that are known to be no files are skipped.
TEST(TarReader, MembersOfUnknownTypesAreFiles) {
  Members expected{{"a", "one"}};
  std::string archive = tar_member("a", "one");
  for (const char type : std::string("789ZBFsz")) {
    const std::string name(1, type);
    archive += tar_member(name, "of type " + name, type);
    expected.emplace_back(name, "of type " + name);
  }
  for (const char type : std::string("12346AEIDMNV")) archive += tar_member("skipped", "x", type);
  archive += tar_member("b", "two") + tar_end();
  expected.emplace_back("b", "two");
  EXPECT_EQ(members_of(archive), expected);
}

TEST(TarReader, RefusesSparseFiles) {
  const auto message_for = [](const std::string& begin, char type) {
    return what_of<ParseError>(
        [&] { members_of(begin + tar_member("holes", "content", type) + tar_end()); });
  };
  expect_contains(message_for("", 'S'), {"byte 0: holes is stored as a sparse file", "--sparse"});
  const std::string pax = tar_member("pax", "22 GNU.sparse.major=1\n14 path=holes\n", 'x');
  expect_contains(message_for(pax, '0'), {"byte 1024: holes is stored as a sparse file"});
  EXPECT_EQ(members_of(pax + tar_member("other", "", '5') + tar_member("b", "two") + tar_end()),
            (Members{{"b", "two"}}));
}

TEST(TarReader, ReadsLongNames) {
  const std::string name(300, 'n');
  EXPECT_EQ(members_of(tar_member("file", "1", '0', "long/prefix") + tar_end()),
            (Members{{"long/prefix/file", "1"}}));
  EXPECT_EQ(members_of(tar_member("././@LongLink", name + '\0', 'L') + tar_member("nnn", "2") +
                       tar_member("c", "3") + tar_end()),
            (Members{{name, "2"}, {"c", "3"}}));
}

TEST(TarReader, ReadsPaxHeaders) {
  const std::string all = tar_member("global", "19 path=not this\n", 'g');
  const std::string own =
      tar_member("pax", "20 mtime=1700000000\n16 path=long/é\n10 size=2\n", 'x');
  const std::string of_solaris = tar_member("pax", "16 path=long/é\n", 'X');
  EXPECT_EQ(members_of(of_solaris + tar_member("b", "c") + tar_end()), (Members{{"long/é", "c"}}));
  const std::string member = tar_member("short", "ab");
  EXPECT_EQ(members_of(all + own + member + tar_end()), (Members{{"long/é", "ab"}}));
}

TEST(TarReader, ReadsSizesInBinary) {
  std::string size(12, '\0');
  size[0] = '\x80';
  size[11] = 3;
  std::string member = tar_header("a", size) + "xyz";
  member.resize(1024);
  EXPECT_EQ(members_of(member + tar_end()), (Members{{"a", "xyz"}}));
  size[1] = 127;
  EXPECT_THROW(members_of(tar_header("a", size) + tar_end()), ParseError);
  size[0] = '\xFF';
  EXPECT_THROW(members_of(tar_header("a", size) + tar_end()), ParseError);
}

TEST(TarReader, RefusesDamage) {
  const std::string archive =
      tar_member("a", "one") + tar_member("x", "16 path=long/é\n", 'x') + tar_member("b", "two");
  for (size_t size = 0; size <= archive.size(); size += 64) {
    EXPECT_THROW(members_of(archive.substr(0, size)), ParseError) << size;
  }
  EXPECT_NO_THROW(members_of(archive + std::string(512, '\0')));
  for (const size_t at : {0, 130, 150, 156, 300}) {
    std::string damaged = archive + tar_end();
    damaged[at] = static_cast<char>(damaged[at] ^ 0x15);
    EXPECT_THROW(members_of(damaged), ParseError) << at;
  }
  for (const char* pax : {"x", "99 path=a\n", "0 path=a\n", "3 a", "12 size=-12\n", "1"}) {
    EXPECT_THROW(members_of(tar_member("x", pax, 'x') + tar_member("b", "") + tar_end()),
                 ParseError)
        << pax;
  }
}

TEST(TarReader, SaysThatAnArchiveIsCompressed) {
  for (const size_t size : {10, 1022}) {
    const auto message_for = [&](const std::string& begin) {
      return what_of<ParseError>([&] { members_of(begin + std::string(size, 'x')); });
    };
    expect_contains(message_for("\x1f\x8b"), {"compressed with gzip", "unpack", "gunzip"});
    expect_contains(message_for("\x28\xb5\x2f\xfd"), {"compressed with zstd"});
    expect_contains(message_for("BZh91AY&SY"), {"compressed with bzip2"});
    expect_contains(message_for("\xfd\x37zXZ"), {"compressed with xz"});
    expect_contains(message_for("BZh91AY"), {size < 512 ? "ends early" : "not the header"});
  }
}

}  // namespace
}  // namespace plait
