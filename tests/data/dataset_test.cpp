#include "plait/data/dataset.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/data/array_files.h"
#include "plait/io/npy.h"
#include "plait/io/npz.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/arrays/reshape.h"
#include "plait/ops/elementwise/elementwise.h"

#include "tests/io/temporary_folder.h"
#include "tests/support/errors.h"

namespace plait {
namespace {

using namespace data;

struct Squares {
  int64_t count = 10;
  int64_t size() const { return count; }
  Tensor at(int64_t index) const { return full({}, index * index); }
};

// Its samples are the number of the sample and the key.
struct Keyed {
  int64_t size() const { return 4; }
  std::tuple<Tensor, Tensor> at(int64_t index, const Tensor& key) const {
    return {full({}, index), key};
  }
};

int64_t number(const Tensor& tensor) { return tensor.item<int64_t>(); }

template <class D>
std::vector<int64_t> numbers_of(const D& dataset) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < dataset.size(); ++i) numbers.push_back(number(dataset.at(i)));
  return numbers;
}

TEST(TensorDataset, HasTheRowsOfATree) {
  const TensorDataset pair(arange(3), arange(10, 13));
  EXPECT_EQ(pair.size(), 3);
  const auto [x, y] = pair.at(2);
  EXPECT_EQ(number(x), 2);
  EXPECT_EQ(number(y), 12);
  struct Sample {
    Tensor image;
    std::vector<Tensor> more;
  };
  const TensorDataset tree(Sample{ones({2, 3}), {zeros({2})}});
  EXPECT_EQ(tree.at(1).image.array().sizes(), (Sizes{3}));
  EXPECT_EQ(tree.at(1).more[0].array().sizes(), (Sizes{}));
  EXPECT_EQ(tree.at(0).image.array().buffer().data(), tree.tree().image.array().buffer().data());
  EXPECT_EQ(TensorDataset(arange(0)).size(), 0);
}

TEST(TensorDataset, RefusesWhatHasNoRows) {
  expect_contains(message_of<ShapeError>([] { TensorDataset(zeros({2}), zeros({3})); }),
                  {"part 0 of the dataset has 2 samples and part 1 has 3"});
  expect_contains(message_of<ShapeError>([] { TensorDataset(zeros({})); }),
                  {"f32[]", "expected an axis of samples"});
  EXPECT_THROW(TensorDataset(std::vector<Tensor>{}), ValueError);
  EXPECT_THROW(TensorDataset(zeros({3})).at(3), IndexError);
  EXPECT_THROW(TensorDataset(zeros({3})).at(-1), IndexError);
}

TEST(TensorDataset, RowsOfATensor) {
  const Tensor x = reshape(arange(6), {3, 2});
  EXPECT_EQ(rows_of(x, std::vector<int64_t>{2, 0, 2}).text(),
            "[[4 5]\n [0 1]\n [4 5]] : i64[3, 2]");
  EXPECT_EQ(rows_of(x, {}).type().text(), "i64[0, 2]");
  EXPECT_THROW(rows_of(x, std::vector<int64_t>{3}), IndexError);
}

TEST(Subset, HasSomeSamples) {
  EXPECT_EQ(numbers_of(Subset(Squares{}, {3, 1, 3})), (std::vector<int64_t>{9, 1, 9}));
  expect_contains(message_of<IndexError>([] { Subset(Squares{}, {3, 10}); }),
                  {"the index 10 is out of range for a dataset of 10 samples"});
  const Tensor key = random::key(3);
  EXPECT_EQ(bits_of(std::get<1>(Subset(Keyed{}, {2}).at(0, key))), bits_of(key));
}

TEST(RandomSplit, DividesADataset) {
  const auto parts = random_split(Squares{}, std::vector<int64_t>{3, 0, 7}, random::key(1));
  std::vector<int64_t> all;
  for (const auto& part : parts) {
    all.insert(all.end(), part.indices().begin(), part.indices().end());
  }
  EXPECT_EQ(parts[0].size(), 3);
  EXPECT_FALSE(std::ranges::is_sorted(all));
  std::ranges::sort(all);
  EXPECT_EQ(all, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const auto shares = random_split(Squares{}, std::vector<double>{0.45, 0.35, 0.2}, random::key(1));
  EXPECT_EQ(shares[0].size() + shares[1].size() + shares[2].size(), 10);
  EXPECT_EQ(sizes_of_shares(10, std::vector<double>{0.45, 0.35, 0.2}),
            (std::vector<int64_t>{5, 3, 2}));
}

TEST(RandomSplit, RefusesOtherSums) {
  const auto refusal = [](const auto& sizes) {
    return message_of<ValueError>([&] { random_split(Squares{}, sizes, random::key(1)); });
  };
  for (const std::vector<int64_t>& sizes :
       {std::vector<int64_t>{3, 8}, {3, 6}, {}, {INT64_MAX, INT64_MAX, 12}}) {
    expect_contains(refusal(sizes), {"do not add up to the 10 samples"});
  }
  expect_contains(refusal(std::vector<int64_t>{-1, 11}), {"a size is -1"});
  expect_contains(refusal(std::vector<double>{0.5, 0.6}), {"the shares add up to 1.1"});
  expect_contains(refusal(std::vector<double>{-0.5, 1.5}), {"a share is -0.5"});
}

TEST(ConcatDataset, HasOneAfterAnother) {
  const ConcatDataset dataset(std::vector<Squares>{{2}, {0}, {3}});
  EXPECT_EQ(numbers_of(dataset), (std::vector<int64_t>{0, 1, 0, 1, 4}));
  EXPECT_THROW(dataset.at(5), IndexError);
  EXPECT_THROW(dataset.at(-1), IndexError);
  EXPECT_EQ(ConcatDataset(std::vector<Squares>{}).size(), 0);
  const Tensor key = random::key(3);
  const ConcatDataset keyed(std::vector<Keyed>(2));
  EXPECT_EQ(number(std::get<0>(keyed.at(5, key))), 1);
}

TEST(StackDataset, HasThemSideBySide) {
  const StackDataset dataset(Squares{3}, TensorDataset(arange(3)));
  const auto [square, root] = dataset.at(2);
  EXPECT_EQ(number(square), 4);
  EXPECT_EQ(number(root), 2);
  EXPECT_THROW(StackDataset(Squares{3}, Squares{4}), ShapeError);
  const StackDataset one(TensorDataset(arange(3), arange(3)));
  EXPECT_EQ((std::tuple_size_v<decltype(one.at(0))>), 1u);
  const auto [first, second] = StackDataset(Keyed{}, Keyed{}).at(1, random::key(0));
  EXPECT_FALSE(bits_of(std::get<1>(first)) == bits_of(std::get<1>(second)));
}

TEST(Mapped, CallsAFunctionForEachSample) {
  EXPECT_EQ(numbers_of(mapped(Squares{3}, [](const Tensor& x) { return x + 1; })),
            (std::vector<int64_t>{1, 2, 5}));
  const Tensor key = random::key(4);
  const auto with_key = [](const auto& sample, const Tensor& own) {
    return std::pair(sample, own);
  };
  const auto once = mapped(Squares{3}, with_key);
  EXPECT_EQ(bits_of(once.at(2, key).second), bits_of(key));
  const auto twice = mapped(once, with_key);
  EXPECT_EQ(bits_of(twice.at(2, key).second), bits_of(key));
  EXPECT_FALSE(bits_of(twice.at(2, key).first.second) == bits_of(key));
  const auto plain =
      mapped(Keyed{}, [](const std::tuple<Tensor, Tensor>& sample) { return std::get<1>(sample); });
  EXPECT_EQ(bits_of(plain.at(2, key)), bits_of(key));
}

TEST(Datasets, AreVectorsToo) {
  static_assert(Dataset<std::vector<Tensor>>);
  EXPECT_EQ(numbers_of(Subset(std::vector<Tensor>{full({}, 5), full({}, 6)}, {1})),
            (std::vector<int64_t>{6}));
}

TEST(ArrayFiles, AreDatasetsOfTheirRows) {
  const TemporaryFolder folder;
  const Tensor x = arange(12);
  save_npy(folder.path("x.npy"), x.array());
  EXPECT_EQ(numbers_of(npy_dataset(folder.path("x.npy")))[11], 11);
  save_npz(folder.path("x.npz"), {{"a", x.array()}, {"b", (x + 1).array()}});
  EXPECT_EQ(number(npz_dataset(folder.path("x.npz")).at(3).at("b")), 4);
  save_npz(folder.path("y.npz"), {{"a", x.array()}, {"b", arange(3).array()}});
  expect_contains(message_of<ShapeError>([&] { npz_dataset(folder.path("y.npz")); }), {"y.npz: "});
  expect_contains(message_of<IoError>([&] { npy_dataset(folder.path("none")); }), {"none"});
  expect_contains(message_of<IoError>([&] { idx_dataset(folder.path("none")); }), {"none"});
}

TEST(ArrayFiles, LargeOnesAreReadByRow) {
  const TemporaryFolder folder;
  save_npy(folder.path("x.npy"), zeros({1024, 64, 64}).array());
  const auto resident = [] {
    int64_t pages = 0;
    FILE* file = std::fopen("/proc/self/statm", "r");
    if (std::fscanf(file, "%*d %ld", &pages) != 1) pages = 0;
    std::fclose(file);
    return pages * 4096;
  };
  const int64_t before = resident();
  const auto dataset = npy_dataset(folder.path("x.npy"));
  EXPECT_EQ(dataset.at(500).array().copy().sizes(), (Sizes{64, 64}));
  EXPECT_LT(resident() - before, 4 << 20);
}

}  // namespace
}  // namespace plait
