#include "plait/data/readers/web_dataset.h"

#include <fstream>
#include <tuple>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/data/dataset.h"
#include "plait/data/loader.h"
#include "plait/io/images/encode_image.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/npy.h"

#include "tests/io/gzip_samples.h"
#include "tests/io/images/image_samples.h"
#include "tests/io/npy_samples.h"
#include "tests/io/tar_samples.h"
#include "tests/io/temporary_folder.h"

namespace plait {
namespace {

using namespace data;

std::string content_of(const std::vector<std::byte>& bytes) {
  return std::string(characters_of(bytes));
}

std::string grey_image(uint8_t value) {
  if (!can_encode()) return "no image";
  return content_of(encode_png(Array::filled(DType::u8, {4, 5}, Element::of_unsigned(value))));
}

// Sample number i has the label i, and an image of 10 + i.
std::string sample_of(int i) {
  const std::string key = "./in/" + std::to_string(i);
  return tar_member(key + ".png", grey_image(static_cast<uint8_t>(10 + i))) +
         tar_member(key + ".cls", " " + std::to_string(i) + "\n") +
         tar_member(key + ".Seg.TXT", "text é " + std::to_string(i));
}

class Shards : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& archive) {
    const std::string path = folder_.path(name);
    std::ofstream(path, std::ios::binary) << archive;
    return path;
  }
  std::vector<std::string> two_shards() {
    return {write("0.tar", sample_of(0) + sample_of(1) + tar_member("README", "none") +
                               tar_member("in/.hidden", "") + tar_end()),
            write("1.tar", sample_of(2) + tar_end()), write("2.tar", tar_end()),
            write("3.tar", sample_of(3) + sample_of(4) + tar_end())};
  }

  TemporaryFolder folder_;
};

TEST_F(Shards, SamplesAreTheMembersOfOneName) {
  const WebDataset dataset(two_shards());
  ASSERT_EQ(dataset.size(), 5);
  const ShardSample sample = dataset.at(2);
  EXPECT_EQ(sample.key(), "in/2");
  EXPECT_EQ(sample.shard(), folder_.path("1.tar"));
  EXPECT_EQ(sample.members().size(), 3);
  EXPECT_TRUE(sample.has("seg.txt"));
  EXPECT_FALSE(sample.has("txt"));
  EXPECT_EQ(sample.text("seg.txt"), "text é 2");
  EXPECT_EQ(text_of(sample.number("cls").array()), "2 : i64[]");
  EXPECT_THROW(dataset.at(5), IndexError);
  EXPECT_THROW(dataset.at(-1), IndexError);
}

TEST_F(Shards, AStreamHasTheSameSamplesAndContinues) {
  const std::vector<std::string> paths = two_shards();
  for (int stop = 0; stop <= 5; ++stop) {
    WebStream stream(paths);
    for (int i = 0; i < stop; ++i) EXPECT_EQ(stream.next()->key(), "in/" + std::to_string(i));
    WebStream other(paths);
    other.seek(stream.position());
    for (int i = stop; i < 5; ++i) EXPECT_EQ(other.next()->key(), "in/" + std::to_string(i));
    EXPECT_FALSE(other.next());
    EXPECT_FALSE(other.next());
    other.seek({});
    EXPECT_EQ(other.next()->key(), "in/0");
  }
  WebStream stream(paths);
  EXPECT_THROW(stream.seek(std::vector<int64_t>{5, 0}), ValueError);
  EXPECT_THROW(stream.seek(std::vector<int64_t>{-1, 0}), ValueError);
  stream.seek(std::vector<int64_t>{0, 100'000'000});
  EXPECT_THROW(stream.next(), ParseError);
}

TEST_F(Shards, LoadersReadThemByNumberAndAsAStream) {
  if (!can_encode()) GTEST_SKIP() << "this build has no image libraries";
  const auto read = [](const ShardSample& sample) {
    return std::tuple(sample.image("png", {.mode = ImageMode::grey}), sample.number("cls"));
  };
  const std::vector<std::string> paths = two_shards();
  Loader by_number(mapped(WebDataset(paths), read), {.batch_size = 5, .workers = 2});
  Loader by_order(mapped(WebStream(paths), read), {.batch_size = 5, .workers = 2});
  for (const auto& [images, labels] : by_number) {
    EXPECT_EQ(images.shape(), (Shape{5, 1, 4, 5}));
    EXPECT_EQ(text_of(labels.array()), "[0 1 2 3 4] : i64[5]");
  }
  for (const auto& [images, labels] : by_order) {
    EXPECT_EQ(images.shape(), (Shape{5, 1, 4, 5}));
    EXPECT_EQ(text_of(labels.array()), "[0 1 2 3 4] : i64[5]");
  }
}

TEST_F(Shards, ReadsArrays) {
  const Array array = Array::of(std::span<const float>(std::vector<float>{1, 2.5F}), {2});
  const WebDataset dataset(
      {write("a.tar", tar_member("x.npy", content_of(write_npy(array))) + tar_end())});
  EXPECT_EQ(text_of(dataset.at(0).array("npy").array()), text_of(array));
}

template <class Call>
std::string message_of_error(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.message();
  }
  return "no error";
}

TEST_F(Shards, ErrorsNameShardAndMember) {
  const std::string path =
      write("a.tar", tar_member("x.png", "no image") + tar_member("x.cls", "cat") +
                         tar_member("x.txt", "\xFF") + tar_member("x.npy", "") + tar_end());
  const ShardSample sample = WebDataset({path}).at(0);
  EXPECT_EQ(message_of_error([&] { sample.image("png"); }),
            path + ": x.png: byte 0: this is not a JPEG, PNG or WebP image");
  EXPECT_EQ(message_of_error([&] { sample.number("cls"); }),
            path + ": x.cls: byte 0: this is not an integer");
  EXPECT_EQ(message_of_error([&] { sample.text("txt"); }),
            path + ": x.txt: byte 0: this is not UTF-8");
  EXPECT_EQ(message_of_error([&] { sample.array("npy"); }).find(path + ": x.npy: "), 0);
  EXPECT_EQ(message_of_error([&] { sample.bytes("jpg"); }),
            path + ": the sample x has no jpg, only png, cls, txt, npy");
  EXPECT_THROW(WebDataset({folder_.path("none.tar")}), IoError);
}

TEST_F(Shards, RefusesDamagedShards) {
  const std::string archive = tar_member("x.txt", "1") + tar_member("x.cls", "2");
  for (size_t size = 0; size <= archive.size(); size += 128) {
    const std::string path = write("a.tar", archive.substr(0, size));
    EXPECT_THROW(WebDataset({path}), ParseError) << size;
    WebStream stream({path});
    EXPECT_THROW(stream.next(), ParseError) << size;
    EXPECT_FALSE(stream.next());
  }
  const std::string twice = tar_member("x.txt", "1") + tar_member("x.TXT", "2") + tar_end();
  EXPECT_NE(
      message_of_error([&] { WebDataset({write("b.tar", twice)}); }).find("x.TXT appears twice"),
      std::string::npos);
}

// ---- Compressed by gzip.

class CompressedShards : public Shards {
 protected:
  void SetUp() override {
    if (!can_compress()) GTEST_SKIP() << "this build has no zlib";
  }
  // The shards of two_shards(), some of which are compressed.
  std::vector<std::string> compressed_shards() {
    const std::string second = sample_of(2) + tar_end();
    return {write("0.tar.gz", gzip(sample_of(0) + sample_of(1) + tar_member("README", "none") +
                                   tar_member("in/.hidden", "") + tar_end())),
            write("1.tgz", gzip(second.substr(0, 700)) + gzip(second.substr(700))),
            write("2.tgz", gzip(tar_end())),
            write("3.tar", sample_of(3) + sample_of(4) + tar_end())};
  }
};

TEST_F(CompressedShards, AStreamHasTheirSamplesAndContinues) {
  const std::vector<std::string> paths = compressed_shards();
  const WebDataset expected(two_shards());
  for (int64_t stop = 0; stop <= 5; ++stop) {
    WebStream stream(paths);
    for (int64_t i = 0; i < stop; ++i) stream.next();
    WebStream other(paths), copy = stream;
    other.seek(stream.position());
    for (WebStream* each : {&stream, &other, &copy}) {
      for (int64_t i = stop; i < 5; ++i) {
        const auto sample = each->next();
        const ShardSample same = expected.at(i);
        ASSERT_TRUE(sample);
        EXPECT_EQ(sample->key(), same.key());
        ASSERT_EQ(sample->members().size(), same.members().size());
        for (const ShardMember& member : same.members()) {
          EXPECT_EQ(characters_of(sample->bytes(member.extension)),
                    characters_of(same.bytes(member.extension)));
        }
      }
      EXPECT_FALSE(each->next());
      EXPECT_FALSE(each->next());
    }
  }
}

TEST_F(CompressedShards, SamplesOutliveTheStream) {
  const std::vector<std::string> paths = compressed_shards();
  auto stream = std::make_unique<WebStream>(paths);
  const auto sample = stream->next();
  stream->next();
  stream.reset();
  EXPECT_EQ(sample->text("seg.txt"), "text é 0");
  EXPECT_EQ(sample->shard(), paths[0]);
}

TEST_F(CompressedShards, LoadersReadThem) {
  if (!can_encode()) GTEST_SKIP() << "this build has no image libraries";
  const auto read = [](const ShardSample& sample) {
    return std::tuple(sample.image("png", {.mode = ImageMode::grey}), sample.number("cls"));
  };
  Loader loader(mapped(WebStream(compressed_shards()), read), {.batch_size = 5, .workers = 2});
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (const auto& [images, labels] : loader) {
      EXPECT_EQ(text_of(labels.array()), "[0 1 2 3 4] : i64[5]");
    }
  }
}

TEST_F(CompressedShards, ErrorsNameThePlaceAndTheNextShardFollows) {
  std::string archive;
  for (int i = 0; i < 50; ++i) archive += sample_of(i);
  const std::string whole = gzip(archive + tar_end());
  const std::string good = write("good.tar", sample_of(7) + tar_end());
  std::string wrong_sum = whole;
  wrong_sum[whole.size() - 8] ^= 1;
  const std::pair<std::string, std::string> cases[] = {
      {whole.substr(0, whole.size() / 2), "the gzip member at byte 0: "},
      {whole.substr(0, whole.size() - 9), "cut off"},
      {wrong_sum, "checksum"},
      {gzip(archive), "the archive ends early"},
      {gzip(archive.substr(0, 530)), "the member "},
      {gzip("no archive"), "byte 10: the archive ends early"},
      {gzip(std::string(600, 'x')), "byte 0: this is not the header of a tar archive"},
      {gzip(gzip(archive)), "byte 0: the file is compressed with gzip"},
      {gzip(tar_member("a.x", "") + tar_member("a.X", "") + tar_end()), "a.X appears twice"}};
  for (const auto& [content, message] : cases) {
    const std::string path = write("bad.tar.gz", content);
    WebStream stream({path, good});
    const auto said = message_of_error([&] {
      while (stream.next()->shard() == path) continue;
    });
    EXPECT_EQ(said.find(path + ": "), 0) << said;
    EXPECT_NE(said.find(message), std::string::npos) << said;
    EXPECT_EQ(stream.next()->key(), "in/7");
    EXPECT_FALSE(stream.next());
  }
  WebStream stream({write("short.tar.gz", gzip(sample_of(0) + tar_end())), good});
  stream.seek(std::vector<int64_t>{0, 1'000'000});
  EXPECT_NE(message_of_error([&] { stream.next(); }).find("ends early"), std::string::npos);
  EXPECT_EQ(stream.next()->key(), "in/7");
}

TEST_F(CompressedShards, HaveNoSamplesByNumber) {
  const std::string path = write("a.tar.gz", gzip(sample_of(0) + tar_end()));
  try {
    WebDataset({path});
    FAIL();
  } catch (const ParseError& error) {
    EXPECT_EQ(error.message(),
              path + ": byte 0: the file is compressed with gzip, and has no samples by number");
    EXPECT_NE(error.hint().find("WebStream"), std::string::npos);
  }
}

}  // namespace
}  // namespace plait
