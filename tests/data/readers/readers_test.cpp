// CIFAR, folders of images, and rows of text files.
#include <filesystem>
#include <fstream>
#include <string>
#include <tuple>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/data/dataset.h"
#include "plait/data/loader.h"
#include "plait/data/readers/cifar.h"
#include "plait/data/readers/image_folder.h"
#include "plait/data/readers/row_datasets.h"
#include "plait/data/readers/row_streams.h"
#include "plait/io/images/encode_image.h"
#include "plait/ops/arrays/create.h"

#include "tests/io/images/image_samples.h"
#include "tests/io/temporary_folder.h"
#include "tests/support/errors.h"

namespace plait {
namespace {

using namespace data;

void write_text(const std::string& path, const std::string& content) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << content;
}

// Records with these labels; image i is filled with i.
std::string records(const std::vector<std::string>& labels) {
  std::string file;
  for (size_t i = 0; i < labels.size(); ++i) {
    file += labels[i] + std::string(3072, static_cast<char>(i));
  }
  return file;
}

TEST(Cifar, ReadsFilesOfRecords) {
  const TemporaryFolder folder;
  for (int i = 1; i <= 5; ++i) {
    write_text(folder.path("cifar-10-batches-bin/data_batch_" + std::to_string(i) + ".bin"),
               records({{static_cast<char>(i)}, "\x07"}));
  }
  write_text(folder.path("cifar-10-batches-bin/test_batch.bin"), records({"\x09"}));
  const CifarDataset train = cifar10_dataset(folder.path(""));
  EXPECT_EQ(train.size(), 10);
  EXPECT_EQ(train.class_count(), 10);
  const auto [image, label] = train.at(5);
  EXPECT_EQ(image.shape(), (Shape{3, 32, 32}));
  EXPECT_EQ(image.array().elements<uint8_t>()[3071], 1);
  EXPECT_EQ(text_of(label.array()), "7 : i64[]");
  EXPECT_EQ(text_of(std::get<1>(train.at(8)).array()), "5 : i64[]");
  const CifarDataset test = cifar10_dataset(folder.path("cifar-10-batches-bin"), {.train = false});
  EXPECT_EQ(test.size(), 1);
  for (const auto& [images, labels] : Loader(train, {.batch_size = 10, .workers = 2})) {
    EXPECT_EQ(images.shape(), (Shape{10, 3, 32, 32}));
    EXPECT_EQ(text_of(labels.array()), "[1 7 2 7 3 7 4 7 5 7] : i64[10]");
  }
}

TEST(Cifar, ReadsBothLabelsOfCifar100) {
  const TemporaryFolder folder;
  write_text(folder.path("train.bin"), records({"\x13\x63", std::string("\x00\x05", 2)}));
  const CifarDataset classes = cifar100_dataset(folder.path(""));
  EXPECT_EQ(text_of(std::get<1>(classes.at(0)).array()), "99 : i64[]");
  const CifarDataset groups = cifar100_dataset(folder.path(""), {.groups = true});
  EXPECT_EQ(text_of(std::get<1>(groups.at(0)).array()), "19 : i64[]");
  EXPECT_EQ(std::get<0>(groups.at(1)).array().elements<uint8_t>()[0], 1);
}

TEST(Cifar, RefusesOtherFiles) {
  const TemporaryFolder folder;
  EXPECT_THROW(cifar10_dataset(folder.path("")), IoError);
  for (const std::string& file : {std::string(), std::string(3072, 'a'), std::string(6145, 'a')}) {
    write_text(folder.path("train.bin"), file);
    EXPECT_THROW(cifar100_dataset(folder.path("")), ParseError);
  }
  write_text(folder.path("train.bin"), records({"\x14\x64"}));
  EXPECT_THROW(cifar100_dataset(folder.path("")).at(0), ParseError);
  EXPECT_THROW(cifar100_dataset(folder.path(""), {.groups = true}).at(0), ParseError);
  EXPECT_THROW(cifar100_dataset(folder.path("")).at(1), IndexError);
}

TEST(ImageFolder, HasTheClassesAndImagesInOrder) {
  if (!can_encode()) GTEST_SKIP() << "this build has no image libraries";
  const TemporaryFolder folder;
  const Array image = Array::filled(DType::u8, {3, 4, 5}, Element::of_unsigned(9));
  for (const char* name : {"dog/2.png", "dog/10.PNG", "cat/b/1.webp", "cat/z.jpg", "cat/a.jpeg"}) {
    std::filesystem::create_directories(std::filesystem::path(folder.path(name)).parent_path());
    write_image(folder.path(name), image);
  }
  write_text(folder.path("cat/notes.txt"), "none");
  write_text(folder.path("readme"), "none");
  const ImageFolder dataset(folder.path(""));
  EXPECT_EQ(dataset.classes(), (std::vector<std::string>{"cat", "dog"}));
  std::string order;
  for (const auto& [path, label] : dataset.files()) {
    order += std::filesystem::relative(path, folder.path("")).string() + ' ';
  }
  EXPECT_EQ(order, "cat/a.jpeg cat/z.jpg cat/b/1.webp dog/10.PNG dog/2.png ");
  for (const auto& [images, labels] : Loader(dataset, {.batch_size = 5, .workers = 2})) {
    EXPECT_EQ(images.shape(), (Shape{5, 3, 4, 5}));
    EXPECT_EQ(text_of(labels.array()), "[0 0 0 1 1] : i64[5]");
  }
  write_text(folder.path("dog/2.png"), "no image");
  try {
    dataset.at(4);
    FAIL();
  } catch (const ParseError& error) {
    EXPECT_NE(error.message().find("dog/2.png: byte 0"), std::string::npos) << error.message();
  }
}

TEST(ImageFolder, RefusesFoldersWithoutImages) {
  const TemporaryFolder folder;
  EXPECT_THROW(ImageFolder(folder.path("none")), IoError);
  EXPECT_THROW(ImageFolder(folder.path("")), ValueError);
  std::filesystem::create_directories(folder.path("cat"));
  EXPECT_THROW(ImageFolder(folder.path("")), ValueError);
}

TEST(RowDatasets, AreReadByLoaders) {
  const TemporaryFolder folder;
  write_text(folder.path("a.txt"), "one\nthree\nfifteen\n");
  const auto lengths = mapped(TextDataset(folder.path("a.txt")), [](const std::string& line) {
    return full({}, static_cast<int64_t>(line.size()));
  });
  for (const Tensor& batch : Loader(lengths, {.batch_size = 3})) {
    EXPECT_EQ(text_of(batch.array()), "[3 5 7] : i64[3]");
  }
  write_text(folder.path("a.jsonl"), "[1, 2]\n\n{\"a\": 1}\n");
  const JsonlDataset rows(folder.path("a.jsonl"));
  EXPECT_EQ(rows.size(), 2);
  EXPECT_EQ(rows.at(1), "{\"a\": 1}");
  write_text(folder.path("a.csv"), "id,x,name\n1,0.5,a\n2,,b\n");
  const CsvDataset table(folder.path("a.csv"), {.columns = {"x", "id"}});
  for (const auto& batch : Loader(table, {.batch_size = 2})) {
    EXPECT_EQ(text_of(batch.at("id").array()), "[1 2] : i64[2]");
    EXPECT_EQ(text_of(batch.at("x").array()), "[0.5 nan] : f64[2]");
  }
  EXPECT_THROW(CsvDataset(folder.path("a.csv")), TypeError);
  EXPECT_THROW(CsvDataset(folder.path("a.csv"), {.columns = {"y"}}), KeyError);
  EXPECT_THROW(table.at(2), IndexError);
}

TEST(RowStreams, AreReadByLoadersAndSaveBytes) {
  const TemporaryFolder folder;
  write_text(folder.path("a.txt"), "one\nthree\nfifteen\n");
  write_text(folder.path("b.txt"), "fourteen\nno\n");
  const auto lengths =
      mapped(TextStream({folder.path("a.txt"), folder.path("b.txt")}),
             [](const std::string& line) { return full({}, static_cast<int64_t>(line.size())); });
  for (const int workers : {0, 2}) {
    Loader loader(lengths, {.batch_size = 2, .workers = workers});
    auto batch = loader.begin();
    EXPECT_EQ(text_of((*batch).array()), "[3 5] : i64[2]");
    EXPECT_EQ(loader.state().source, (std::vector<int64_t>{0, 10}));
    ++batch;
    EXPECT_EQ(text_of((*batch).array()), "[7 8] : i64[2]");
    Loader other(lengths, {.batch_size = 2});
    other.seek(loader.state());
    EXPECT_EQ(text_of((*other.begin()).array()), "[2] : i64[1]");
  }
  write_text(folder.path("a.jsonl"), "[1, 2]\n\n{\"a\": 1,}\n[]\n");
  const auto texts = mapped(JsonlStream({folder.path("a.jsonl")}), [](const std::string& row) {
    return full({}, static_cast<int64_t>(row.size()));
  });
  Loader rows(texts, {.batch_size = 1, .workers = 2});
  auto row = rows.begin();
  EXPECT_EQ(text_of((*row).array()), "[6] : i64[1]");
  expect_contains(message_of<ParseError>([&] { ++row; }), {"sample 1: ", "a.jsonl: line 3: "});
  ++row;
  EXPECT_EQ(text_of((*row).array()), "[2] : i64[1]");
}

TEST(RowStreams, OfCsvFilesGoOnAtAByte) {
  const TemporaryFolder folder;
  write_text(folder.path("a.csv"), "x,name\n1,one\n2,two\n");
  write_text(folder.path("b.csv"), "x,name\n3,three\n4,\n5,five\n");
  const std::vector<std::string> paths{folder.path("a.csv"), folder.path("b.csv")};
  const CsvStream stream(paths, {.columns = {"x"}});
  for (const int workers : {0, 2}) {
    Loader loader(stream, {.batch_size = 3, .workers = workers});
    auto batch = loader.begin();
    EXPECT_EQ(text_of((*batch).at("x").array()), "[1 2 3] : i64[3]");
    EXPECT_EQ(loader.state().source, (std::vector<int64_t>{1, 15, 25}));
    Loader other(stream, {.batch_size = 3});
    other.seek(loader.state());
    EXPECT_EQ(text_of((*other.begin()).at("x").array()), "[4 5] : i64[2]");
  }
  CsvStream again = stream;
  for (const std::vector<int64_t>& place :
       std::vector<std::vector<int64_t>>{{3, 0, 0}, {1, 0}, {0, 3, 2}}) {
    expect_contains(message_of<ValueError>([&] { again.seek(place); }), {"2 files"});
  }
  again.seek(std::vector<int64_t>{2, 0, 0});
  EXPECT_FALSE(again.next());
  again.seek(std::vector<int64_t>{1, 15, 25});
  write_text(folder.path("b.csv"), "x,name\n3,three\n");
  expect_contains(message_of<ValueError>([&] { again.next(); }), {"b.csv: 15 bytes", "were 25"});
  EXPECT_FALSE(again.next());
  expect_contains(message_of<TypeError>([&] { CsvStream(paths).next(); }), {"'name' is text"});
}

// The numbers of column x, and the kinds of errors, until the end.
std::string outcomes_of(CsvStream stream) {
  std::string found;
  for (int i = 0; i < 100; ++i) {
    try {
      const auto sample = stream.next();
      if (!sample) return found;
      found += fmt::format("{} ", sample->at("x").item<double>());
    } catch (const Error& error) {
      found += std::string(name_of(error.kind())) + ' ';
    }
  }
  return found + "without end";
}

TEST(RowStreams, OfCsvFilesPassErrorsBy) {
  const TemporaryFolder folder;
  write_text(folder.path("a.csv"), "x\n1\n2,3\n\"4\"5\n6\n\"7\n8\n");
  write_text(folder.path("b.csv"), "x\n9\n9.5\n10\n");
  write_text(folder.path("c.csv"), "y\n11\n");
  write_text(folder.path("d.csv"), "x\n12\n");
  std::vector<std::string> paths;
  for (const char* name : {"a.csv", "none.csv", "b.csv", "c.csv", "d.csv"}) {
    paths.push_back(folder.path(name));
  }
  EXPECT_EQ(outcomes_of(CsvStream(paths)),
            "1 ParseError ParseError 6 ParseError IoError 9 ParseError 10 ParseError 12 ");
  CsvStream later(paths);
  later.seek(std::vector<int64_t>{2, 0, 0});
  EXPECT_EQ(outcomes_of(later), "9 ParseError 10 ParseError 12 ");
  paths[0] = folder.path("other.csv");
  CsvStream lacking(paths);
  lacking.seek(std::vector<int64_t>{2, 0, 0});
  EXPECT_EQ(outcomes_of(lacking), "IoError IoError 9 9.5 10 ParseError 12 ");
  EXPECT_THROW(CsvStream(paths, {.separator = '"'}), ValueError);
}

TEST(RowStreams, OfLinesPassFilesByThatCannotBeOpened) {
  const TemporaryFolder folder;
  write_text(folder.path("a.txt"), "one\n");
  TextStream stream({folder.path("none.txt"), folder.path("a.txt")});
  EXPECT_THROW(stream.next(), IoError);
  EXPECT_EQ(stream.next()->text(), "one");
  EXPECT_FALSE(stream.next());
}

}  // namespace
}  // namespace plait
