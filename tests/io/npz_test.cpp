#include "plait/io/npz.h"

#include "plait/io/inside/deflate.h"
#include "plait/io/inside/file.h"
#include "plait/io/inside/zip.h"
#include "plait/io/npy.h"

#include "tests/io/npy_samples.h"
#include "tests/io/temporary_folder.h"

namespace plait {
namespace {

using Arrays = std::map<std::string, Array>;

std::vector<bool> ways() { return can_compress() ? std::vector{false, true} : std::vector{false}; }

void expect_all_same(const Arrays& actual, const Arrays& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (const auto& [name, array] : expected) {
    SCOPED_TRACE(name);
    ASSERT_TRUE(actual.contains(name));
    expect_same(actual.at(name), array);
  }
}

Arrays every_dtype() {
  Arrays arrays;
  for (const DType dtype : all_dtypes()) {
    arrays.emplace(name_of(dtype), sample(dtype, {3, 5}));
    arrays.emplace("empty/" + std::string(name_of(dtype)), sample(dtype, {0, 2}));
  }
  return arrays;
}

void append(std::string& file, std::initializer_list<std::pair<uint64_t, int>> numbers) {
  for (const auto& [value, bytes] : numbers) {
    for (int i = 0; i < bytes; ++i) file += static_cast<char>(value >> (8 * i));
  }
}

// A hand-made archive with one stored member.
struct HandMade {
  std::string name = "a.npy";
  std::string content = npy_of("'|u1'", "(3,)", "abc");
  uint64_t flags = 0, method = 0;
  uint64_t size = content.size(), stored_size = content.size();
  uint32_t crc = crc32_of(bytes_of(std::string_view(content)));
  std::string local_name = name;
  std::string extra = {};
  uint64_t position = 0;
  int copies = 1;  // copies of the header in the directory
  bool has_record64 = false;

  std::string local() const {
    std::string file;
    append(file, {{0x04034b50, 4}, {20, 2}, {flags, 2}, {method, 2}, {0, 4}});
    append(file, {{0, 4}, {0, 4}, {0, 4}, {local_name.size(), 2}, {0, 2}});
    return file + local_name + content;
  }
  std::string central() const {
    std::string file;
    append(file, {{0x02014b50, 4}, {20, 2}, {20, 2}, {flags, 2}, {method, 2}, {0, 4}, {crc, 4}});
    append(file, {{stored_size, 4}, {size, 4}, {name.size(), 2}, {extra.size(), 2}});
    append(file, {{0, 2}, {0, 2}, {0, 2}, {0, 4}, {position, 4}});
    return file + name + extra;
  }
  std::string archive() const {
    std::string file = local();
    const uint64_t begin = file.size();
    for (int i = 0; i < copies; ++i) file += central();
    const uint64_t end = file.size(), count = static_cast<uint64_t>(copies);
    if (has_record64) {
      append(file, {{0x06064b50, 4}, {44, 8}, {45, 2}, {45, 2}, {0, 4}, {0, 4}});
      append(file, {{count, 8}, {count, 8}, {end - begin, 8}, {begin, 8}});
      append(file, {{0x07064b50, 4}, {0, 4}, {end, 8}, {1, 4}});
      append(file, {{0x06054b50, 4}, {0, 4}, {0xFFFF, 2}, {0xFFFF, 2}});
      append(file, {{0xFFFFFFFF, 4}, {0xFFFFFFFF, 4}, {0, 2}});
      return file;
    }
    append(file, {{0x06054b50, 4}, {0, 4}, {count, 2}, {count, 2}, {end - begin, 4}, {begin, 4}});
    append(file, {{0, 2}});
    return file;
  }
};

Arrays from_npz(const std::string& file) { return read_npz(bytes_of(std::string_view(file))); }

TEST(Npz, SomeArraysAreRead) {
  const TemporaryFolder folder;
  const std::string path = folder.path("some.npz");
  {
    const HandMade strings{.name = "names.npy", .content = npy_of("'<U1'", "(1,)", "a   ")};
    OutputFile file(path);
    file.write(bytes_of(std::string_view(strings.archive())));
    file.finish();
  }
  EXPECT_EQ(npz_names(path), std::vector<std::string>{"names"});
  EXPECT_TRUE(load_npz(path, {}).empty());
  const std::string names[] = {"names"}, others[] = {"name"};
  expect_failure([&] { load_npz(path, names); }, "are text");
  expect_failure([&] { load_npz(path, others); }, "KeyError: " + path + ": unknown array \"name\"");
  expect_failure([&] { load_npz(path, others); }, "did you mean \"names\"?");

  const Arrays arrays = {{"a", sample(DType::f32, {2})}, {"b", sample(DType::u8, {3})}};
  const std::string one[] = {"b"};
  save_npz(path, arrays);
  expect_all_same(load_npz(path, one), {{"b", arrays.at("b")}});
}

TEST(Npz, EverythingGoesThereAndBack) {
  const TemporaryFolder folder;
  for (const bool compressed : ways()) {
    for (const Arrays& arrays : {Arrays{}, every_dtype()}) {
      expect_all_same(read_npz(write_npz(arrays, compressed)), arrays);
      save_npz(folder.path("all.npz"), arrays, compressed);
      expect_all_same(load_npz(folder.path("all.npz")), arrays);
    }
  }
  EXPECT_EQ(folder.file_count(), 1u);
}

TEST(Npz, NamesKeepTheirFoldersAndLetters) {
  Arrays arrays;
  for (const char* name :
       {"", "weight", "layer/0/weight", "größe", "a.npy", "with space", "x\xff"}) {
    arrays.emplace(name, sample(DType::i8, {static_cast<int64_t>(arrays.size())}));
  }
  for (const bool compressed : ways()) {
    expect_all_same(read_npz(write_npz(arrays, compressed)), arrays);
  }
  const Array array = sample(DType::u8, {1});
  expect_failure([&] { write_npz({{std::string("a\0b", 3), array}}); },
                 "ValueError: a member of an archive cannot be named \"a\\x00b.npy\"");
  expect_failure([&] { write_npz({{std::string(70'000, 'a'), array}}); }, "it is too long");
  expect_failure([&] { write_npz({{"nothing", Array()}}); },
                 "ValueError: the array to save as \"nothing\" is empty");
}

TEST(Npz, ManyMembersNeedTheLongRecord) {
  Arrays arrays;
  const Array one = sample(DType::u8, {1});
  for (int i = 0; i < 66'000; ++i) arrays.emplace_hint(arrays.end(), fmt::format("{:06}", i), one);
  const auto archive = write_npz(arrays);
  EXPECT_NE(text(archive).find("PK\6\6"), std::string::npos);
  EXPECT_EQ(read_npz(archive).size(), 66'000u);
}

TEST(Npz, StoredArraysLieInTheFile) {
  const TemporaryFolder folder;
  const Arrays arrays{{"a", sample(DType::c128, {1 << 17})},
                      {"b", sample(DType::u8, {3})},
                      {"longer name", sample(DType::f64, {1 << 18})}};
  save_npz(folder.path("large.npz"), arrays);
  const Arrays loaded = load_npz(folder.path("large.npz"));
  EXPECT_TRUE(loaded.at("a").buffer().is_borrowed());
  EXPECT_FALSE(loaded.at("b").buffer().is_borrowed());
  EXPECT_TRUE(loaded.at("longer name").buffer().is_borrowed());
  expect_all_same(loaded, arrays);
}

TEST(Npz, LargeArraysInflateInPlace) {
  if (!can_compress()) GTEST_SKIP() << "this build has no zlib";
  const Arrays arrays{{"a", sample(DType::i32, {1 << 19})}, {"b", sample(DType::f16, {999, 777})}};
  const auto archive = write_npz(arrays, true);
  EXPECT_LT(archive.size(), size_t{1} << 20);
  expect_all_same(read_npz(archive), arrays);
}

TEST(Npz, HandMadeArchivesAreRead) {
  const Array expected = sample(DType::u8, {3});
  EXPECT_EQ(text({from_npz(HandMade{}.archive()).at("a").data(), 3}), "abc");
  HandMade far;
  far.has_record64 = true;
  far.size = far.stored_size = far.position = 0xFFFFFFFF;
  append(far.extra, {{7, 2}, {1, 2}, {0, 1}, {1, 2}, {24, 2}});
  append(far.extra, {{far.content.size(), 8}, {far.content.size(), 8}, {0, 8}});
  EXPECT_EQ(text({from_npz(far.archive()).at("a").data(), 3}), "abc");
  const std::string file = HandMade{}.archive();
  const std::string commented = file.substr(0, file.size() - 2) + std::string("\5\0hello", 7);
  EXPECT_EQ(from_npz(commented).size(), 1u);
  HandMade other;
  other.name = other.local_name = "no ending";
  EXPECT_TRUE(from_npz(other.archive()).contains("no ending"));
  HandMade folder{.name = "folder/", .content = ""};
  EXPECT_EQ(from_npz(folder.archive()).size(), 0u);
}

TEST(Npz, MalformedArchivesSayWhereAndWhat) {
  const auto expect = [](const HandMade& made, const std::string& message) {
    expect_failure([&] { from_npz(made.archive()); }, "ParseError: " + message);
  };
  const std::string good = HandMade{}.archive();
  expect_failure([] { from_npz(""); }, "ParseError: byte 0: this is not a zip archive");
  expect_failure([&] { from_npz(good.substr(1)); }, "ParseError: byte");
  expect_failure([&] { from_npz(good.substr(0, good.size() - 1)); }, "this is not a zip archive");
  expect({.crc = 1}, "member \"a.npy\": the checksum of its bytes is ");
  expect({.flags = 1}, "byte 106: member \"a.npy\": it is encrypted");
  expect({.method = 12}, "byte 106: member \"a.npy\": it is compressed by the unknown method 12");
  expect({.size = 5}, "byte 106: member \"a.npy\": it is stored, but 71 bytes would be 5");
  expect({.method = 8, .size = 72 * 1032},
         "byte 106: member \"a.npy\": 71 deflated bytes cannot inflate to 74304");
  expect({.size = 500, .stored_size = 500}, "byte 35: expected 500 bytes, 71 are left");
  expect({.name = std::string("a\0", 2)}, "byte 103: member \"a\\x00\": a zero byte in the name");
  expect({.local_name = "b.npy"}, "byte 0: the member has another name");
  expect({.position = 3}, "byte 3: expected the header of a member of a zip archive");
  expect({.extra = "abcde"}, "byte 106: an extra field that is cut short");
  expect({.copies = 2}, "byte 0: two members share their bytes");
  expect({.content = "text"}, "member \"a.npy\": byte 0: this is not a .npy file");
}

TEST(Npz, NamesOfTwoAreRefused) {
  std::vector<std::byte> archive;
  ZipWriter writer([&](auto bytes) { archive.insert(archive.end(), bytes.begin(), bytes.end()); });
  const auto content = write_npy(sample(DType::u8, {1}));
  const std::span<const std::byte> parts[] = {content};
  writer.add("a", parts, ZipMethod::stored);
  writer.add("a.npy", parts, ZipMethod::stored);
  writer.finish();
  expect_failure([&] { read_npz(archive); }, "ParseError: two arrays are named \"a\"");
}

// If a byte is damaged, the archive is refused or still loads: then no array is larger than its
// data, and no element differs.
TEST(Npz, DamageIsFound) {
  const Arrays arrays{{"a", sample(DType::i32, {2, 3})}, {"b", sample(DType::boolean, {5})}};
  for (const bool compressed : ways()) {
    const auto archive = write_npz(arrays, compressed);
    for (size_t i = 0; i < archive.size(); ++i) {
      for (const auto flip : {std::byte{1}, std::byte{0x80}, std::byte{0xFF}}) {
        auto damaged = archive;
        damaged[i] ^= flip;
        Arrays found;
        try {
          found = read_npz(damaged);
        } catch (const Error&) {
          continue;
        }
        for (const auto& [name, array] : found) {
          EXPECT_TRUE(array.literal() == arrays.at("a").literal() ||
                      array.literal() == arrays.at("b").literal())
              << "byte " << i;
        }
      }
    }
    for (size_t size = 0; size < archive.size(); ++size) {
      EXPECT_THROW(read_npz(std::span(archive).first(size)), ParseError) << size;
    }
  }
}

TEST(Npz, DeflatedBytesGiveWhatIsStated) {
  if (!can_compress()) GTEST_SKIP() << "this build has no zlib";
  const std::string content = npy_of("'|u1'", "(300,)", std::string(300, 'a'));
  std::string deflated;
  const std::span<const std::byte> parts[] = {bytes_of(std::string_view(content))};
  deflate_into([&](auto bytes) { deflated += characters_of(bytes); }, parts);
  const auto made = [&](uint64_t size) {
    return HandMade{.content = deflated,
                    .method = 8,
                    .size = size,
                    .crc = crc32_of(bytes_of(std::string_view(content)))};
  };
  EXPECT_EQ(from_npz(made(content.size()).archive()).at("a").element_count(), 300);
  for (const int64_t difference : {-1, 1, 2000}) {
    EXPECT_THROW(from_npz(made(content.size() + difference).archive()), ParseError) << difference;
  }
  HandMade cut = made(content.size());
  cut.content.resize(cut.content.size() - 4);
  cut.stored_size -= 4;
  expect_failure([&] { from_npz(cut.archive()); }, "the deflated bytes are cut off");
  HandMade longer = made(content.size());
  longer.content += "more";
  longer.stored_size += 4;
  expect_failure([&] { from_npz(longer.archive()); }, "4 unexpected bytes after the end");
  HandMade wrong = made(content.size());
  wrong.content[0] = '\7';
  expect_failure([&] { from_npz(wrong.archive()); }, "member \"a.npy\": deflated byte ");
}

TEST(NpzFile, ErrorsNameTheFile) {
  const TemporaryFolder folder;
  const std::string missing = folder.path("no.npz");
  expect_failure([&] { load_npz(missing); }, "IoError: cannot open " + missing + ": No such file");
  save_npy(missing, sample(DType::u8, {1}));
  expect_failure([&] { load_npz(missing); },
                 "ParseError: " + missing + ": byte 129: this is not a zip");
  expect_failure([&] { save_npz(missing, {{"nothing", Array()}}); }, "ValueError");
  EXPECT_EQ(folder.file_count(), 1u);
}

TEST(Crc32, IsTheUsualOneInPartsAndAsAWhole) {
  EXPECT_EQ(crc32_of(bytes_of(std::string_view("123456789"))), 0xCBF43926u);
  const Array array = sample(DType::u8, {1'000'003});
  const std::span<const std::byte> bytes(array.data(), 1'000'003);
  const uint32_t whole = crc32_of(bytes);
  uint32_t parts = 0;
  for (size_t i = 0; i < bytes.size(); i += 7'919) {
    parts = crc32_of(bytes.subspan(i, std::min<size_t>(7'919, bytes.size() - i)), parts);
  }
  EXPECT_EQ(parts, whole);
  EXPECT_EQ(crc32_of(bytes.subspan(700'000), crc32_of(bytes.first(700'000))), whole);
}

}  // namespace
}  // namespace plait
