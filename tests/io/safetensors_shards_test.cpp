#include <csignal>
#include <filesystem>

#include <sys/resource.h>

#include "plait/io/inside/file.h"
#include "plait/io/safetensors.h"

#include "tests/io/npy_samples.h"
#include "tests/io/temporary_folder.h"

namespace plait {
namespace {

using Arrays = std::map<std::string, Array>;

const Arrays& arrays() {
  static const Arrays arrays = {{"a", sample(DType::u8, {6})},
                                {"b", sample(DType::u8, {5})},
                                {"c", sample(DType::f32, {5})},
                                {"d", sample(DType::i16, {2})}};
  return arrays;
}

std::string content_of(const std::string& path) { return text(InputFile(path).bytes()); }

void put(const std::string& path, std::string_view content) {
  OutputFile file(path);
  file.write(bytes_of(content));
  file.finish();
}

std::string save_divided(const TemporaryFolder& folder, int64_t largest) {
  return save_safetensors(folder.path("model.safetensors"), arrays(),
                          {.metadata = {{{"format", "pt"}}}, .largest_shard = largest});
}

void expect_all(const Arrays& loaded) {
  ASSERT_EQ(loaded.size(), arrays().size());
  for (const auto& [name, array] : arrays()) expect_same(loaded.at(name), array);
}

TEST(SafetensorsShards, AreDividedAndNamedAsHuggingFaceDoes) {
  const TemporaryFolder folder;
  const std::string index = save_divided(folder, 10);
  EXPECT_EQ(index, folder.path("model.safetensors.index.json"));
  // c is larger than a shard, and does not end the one before it.
  EXPECT_EQ(content_of(index), R"({
  "metadata": {
    "total_size": 35
  },
  "weight_map": {
    "a": "model-00001-of-00003.safetensors",
    "b": "model-00003-of-00003.safetensors",
    "c": "model-00002-of-00003.safetensors",
    "d": "model-00003-of-00003.safetensors"
  }
}
)");
  EXPECT_EQ(folder.file_count(), 4u);
  expect_all(load_safetensors(index));
  const Safetensors file = Safetensors::open(index);
  EXPECT_EQ(file.names().size(), 4u);
  EXPECT_EQ(file.info("c").sizes, (Sizes{5}));
  EXPECT_EQ(file.metadata(), (SafetensorsMetadata{{"format", "pt"}}));
  const Slice two{1, 3};
  EXPECT_EQ(file.slice("b", {&two, 1}).sizes(), (Sizes{2}));
  expect_failure([&] { file.array("e"); }, "KeyError: unknown tensor \"e\"");
}

TEST(SafetensorsShards, RemovesShardsOfAnEarlierDivision) {
  const TemporaryFolder folder;
  put(folder.path("model-00001-of-two.safetensors"), "");
  put(folder.path("other.safetensors"), "");
  save_safetensors(folder.path("model.safetensors"), arrays());
  save_divided(folder, 10);
  EXPECT_EQ(folder.file_count(), 6u);
  EXPECT_FALSE(std::filesystem::exists(folder.path("model.safetensors")));
  expect_all(load_safetensors(save_divided(folder, 24)));
  EXPECT_EQ(folder.file_count(), 5u);
  EXPECT_EQ(save_divided(folder, 1000), folder.path("model.safetensors"));
  EXPECT_EQ(folder.file_count(), 3u);
  expect_all(load_safetensors(folder.path("model.safetensors")));
}

TEST(SafetensorsShards, AreOpenedWhenTheyAreNeeded) {
  const TemporaryFolder folder;
  const std::string index = save_divided(folder, 10);
  std::filesystem::remove(folder.path("model-00002-of-00003.safetensors"));
  const Safetensors file = Safetensors::open(index);
  expect_same(file.array("a"), arrays().at("a"));
  expect_failure([&] { file.array("c"); }, "IoError: " + index + ": cannot open " +
                                               folder.path("model-00002-of-00003.safetensors") +
                                               ": No such file");
  save_safetensors(folder.path("model-00002-of-00003.safetensors"), {{"c", arrays().at("c")}});
  expect_same(file.array("c"), arrays().at("c"));
}

TEST(SafetensorsShards, MustHaveExactlyTheTensorsOfTheIndex) {
  const TemporaryFolder folder;
  const std::string index = save_divided(folder, 10);
  const std::string shard = folder.path("model-00001-of-00003.safetensors");
  save_safetensors(shard, {{"x", arrays().at("a")}});
  expect_failure([&] { load_safetensors(index); },
                 "ParseError: " + index + ": tensor \"a\" is not in " + shard);
  save_safetensors(shard, {{"a", arrays().at("a")}, {"x", arrays().at("a")}});
  expect_failure([&] { load_safetensors(index); },
                 "tensor \"x\" is in " + shard + ", but not in the index");
  put(shard, "damaged");
  expect_failure([&] { load_safetensors(index); },
                 "ParseError: " + index + ": " + shard + ": byte");
}

TEST(SafetensorsShards, MalformedIndexesAreRefused) {
  const TemporaryFolder folder;
  const std::string index = folder.path("m.safetensors.index.json");
  const auto expect = [&](std::string_view content, const std::string& message) {
    put(index, content);
    expect_failure([&] { load_safetensors(index); }, "ParseError: " + index + ": " + message);
  };
  expect("{", "byte 1: ");
  expect("{}", "\"weight_map\" is missing");
  expect(R"({"weight_map":[]})", "weight_map is a list");
  expect(R"({"weight_map":{"a":1}})", "\"a\" of weight_map is");
  expect(R"({"weight_map":{"a":"x","a":"y"}})", "byte 26: an object has two members");
  for (const char* name : {"", ".", "..", "../x", "/etc/passwd", "a/b", R"(x\u0000)"}) {
    expect(fmt::format(R"({{"weight_map":{{"a":"{}"}}}})", name), "weight_map names ");
  }
  put(index, R"({"weight_map":{}})");
  EXPECT_TRUE(load_safetensors(index).empty());
  EXPECT_EQ(Safetensors::open(index).metadata(), std::nullopt);
}

// The size of files is limited instead of the disk.
class LimitedFiles {
 public:
  explicit LimitedFiles(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~LimitedFiles() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(SafetensorsShards, AFullDiskLeavesTheFilesOfBefore) {
  const TemporaryFolder folder;
  const std::string index = save_divided(folder, 10);
  const Arrays larger = {{"a", sample(DType::u8, {10})}, {"b", sample(DType::u8, {1000})}};
  {
    const LimitedFiles limited(600);
    for (const int64_t largest : {int64_t{0}, int64_t{10}}) {
      expect_failure(
          [&] {
            save_safetensors(folder.path("model.safetensors"), larger, {.largest_shard = largest});
          },
          "IoError: cannot write " + folder.path("model"));
    }
  }
  EXPECT_EQ(folder.file_count(), 4u);
  expect_all(load_safetensors(index));
}

}  // namespace
}  // namespace plait
