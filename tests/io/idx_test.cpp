#include "plait/io/idx.h"

#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/file.h"

#include "tests/io/gzip_samples.h"
#include "tests/io/npy_samples.h"
#include "tests/io/temporary_folder.h"

namespace plait {
namespace {

using namespace std::string_literals;

Array from_idx(const std::string& file) { return read_idx(bytes_of(std::string_view(file))); }

const std::string kBytes = "\0\0\x08\x02\0\0\0\x02\0\0\0\x03\1\2\3\4\5\xff"s;

TEST(Idx, ReadsBytesAndNumbersOfManyBytes) {
  EXPECT_EQ(text_of(from_idx(kBytes)), "[[  1   2   3]\n [  4   5 255]] : u8[2, 3]");
  EXPECT_EQ(text_of(from_idx("\0\0\x0b\x01\0\0\0\x02\xff\xfe\x01\x00"s)), "[ -2 256] : i16[2]");
  EXPECT_EQ(text_of(from_idx("\0\0\x0d\x00\x3f\xc0\0\0"s)), "1.5 : f32[]");
}

// Elements of several bytes are stored in reverse order, so they are copied.
TEST(Idx, MapsLargeFilesOfBytes) {
  const TemporaryFolder folder;
  const auto load = [&](const std::string& header, size_t bytes) {
    std::ofstream(folder.path("x"), std::ios::binary) << header << std::string(bytes, '\7');
    return load_idx(folder.path("x"));
  };
  const std::string sizes = "\0\x10\0\0\0\0\0\x02"s;  // 2^20, 2
  const Array bytes = load("\0\0\x08\x02"s + sizes, 2 << 20);
  EXPECT_TRUE(bytes.buffer().is_borrowed());
  EXPECT_FALSE(bytes.is_writable());
  EXPECT_EQ(bytes.sizes(), (Sizes{1 << 20, 2}));
  EXPECT_EQ(bytes.elements<uint8_t>().back(), 7);
  EXPECT_TRUE(load("\0\0\x09\x02"s + sizes, 2 << 20).buffer().is_borrowed());
  const Array numbers = load("\0\0\x0b\x02"s + sizes, 4 << 20);
  EXPECT_FALSE(numbers.buffer().is_borrowed());
  EXPECT_EQ(numbers.elements<int16_t>().back(), 0x0707);
  EXPECT_FALSE(load("\0\0\x08\x01\0\0\0\x09"s, 9).buffer().is_borrowed());
  EXPECT_THROW(load("\0\0\x08\x02"s + sizes, (2 << 20) + 1), ParseError);
  EXPECT_THROW(load("\0\0\x08\x02"s + sizes, (2 << 20) - 1), ParseError);
}

TEST(Idx, ReadsWhatGzipCompressed) {
  if (!can_compress()) GTEST_SKIP() << "this build has no zlib";
  expect_same(from_idx(gzip(kBytes)), from_idx(kBytes));
  expect_same(from_idx(gzip(kBytes, "images")), from_idx(kBytes));
}

TEST(Idx, RefusesWhatIsDamaged) {
  EXPECT_THROW(from_idx(""), ParseError);
  EXPECT_THROW(from_idx("\1\0\x08\0"s), ParseError);
  EXPECT_THROW(from_idx("\0\0\x07\0"s), ParseError);
  for (size_t size = 0; size < kBytes.size(); ++size) {
    EXPECT_THROW(from_idx(kBytes.substr(0, size)), ParseError) << size;
  }
  EXPECT_THROW(from_idx(kBytes + "x"), ParseError);
}

TEST(Idx, RefusesWhatIsDamagedAndCompressed) {
  if (!can_compress()) GTEST_SKIP() << "this build has no zlib";
  const std::string file = gzip(kBytes);
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_THROW(from_idx(file.substr(0, size)), ParseError) << size;
  }
  for (const size_t from_end : {8, 4}) {
    std::string damaged = file;
    damaged[file.size() - from_end] ^= 1;
    EXPECT_THROW(from_idx(damaged), ParseError) << from_end;
  }
}

TEST(Idx, RefusesSizesThatTheFileCannotHold) {
  const std::string huge = "\0\0\x08\x02\x7f\xff\xff\xff\x7f\xff\xff\xff"s;
  EXPECT_THROW(from_idx(huge), ParseError);
  if (can_compress()) {
    EXPECT_THROW(from_idx(gzip(huge)), ParseError);
  }
  const std::string past_integers = "\0\0\x08\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"s;
  EXPECT_THROW(from_idx(past_integers), ParseError);
  if (can_compress()) {
    EXPECT_THROW(from_idx(gzip(past_integers)), ParseError);
  }
  const Array empty = from_idx(past_integers.substr(0, 12) + "\0\0\0\0"s);
  EXPECT_EQ(empty.sizes(), (Sizes{0xffffffff, 0xffffffff, 0}));
}

TEST(Idx, NamesTheFile) {
  try {
    load_idx("/no/such/images.gz");
    FAIL();
  } catch (const IoError& error) {
    EXPECT_NE(std::string(error.what()).find("/no/such/images.gz"), std::string::npos);
  }
  const TemporaryFolder folder;
  EXPECT_THROW(load_idx(folder.path("")), IoError);
  const std::string damaged = folder.path("labels");
  OutputFile output(damaged);
  output.write(bytes_of(std::string_view(kBytes).substr(0, 9)));
  output.finish();
  try {
    load_idx(damaged);
    FAIL();
  } catch (const ParseError& error) {
    EXPECT_NE(error.message().find(damaged), std::string::npos) << error.message();
  }
}

}  // namespace
}  // namespace plait
