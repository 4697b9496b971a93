#include "plait/data/collate.h"

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "plait/ops/arrays/create.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

using data::pad_sequence;
using data::stacked;

struct Sample {
  Tensor image;
  std::map<std::string, std::vector<Tensor>> more;
  int64_t kind = 0;
};

Tensor row(std::vector<float> values) {
  return tensor(values, {static_cast<int64_t>(values.size())});
}

TEST(Stacked, PutsTreesAlongANewAxis) {
  const std::vector<Sample> samples{{row({1, 2}), {{"a", {row({3}), tensor<int64_t>({4, 5})}}}, 7},
                                    {row({6, 7}), {{"a", {row({8}), tensor<int64_t>({9, 0})}}}, 7}};
  const Sample batch = stacked(samples);
  EXPECT_EQ(batch.image.text(), "[[1. 2.]\n [6. 7.]] : f32[2, 2]");
  EXPECT_EQ(batch.more.at("a")[0].text(), "[[3.]\n [8.]] : f32[2, 1]");
  EXPECT_EQ(batch.more.at("a")[1].text(), "[[4 5]\n [9 0]] : i64[2, 2]");
  EXPECT_EQ(batch.kind, 7);
}

TEST(Stacked, TakesViewsAndAllDTypes) {
  for (const DTypeInfo& info : kDTypes) {
    Array array = Array::empty(info.dtype, {3, 2});
    for (int64_t i = 0; i < array.element_count() * array.element_size(); ++i) {
      array.writable_data()[i] = static_cast<std::byte>(info.dtype == DType::boolean ? i % 2 : i);
    }
    const Layout turned = array.layout().permuted(std::vector<int64_t>{1, 0});
    const std::vector<Tensor> samples{Tensor(array.view(turned)),
                                      Tensor(array.view(turned).copy())};
    const Array batch = stacked(samples).array();
    EXPECT_EQ(batch.sizes(), (Sizes{2, 2, 3}));
    for (int64_t i = 0; i < 2; ++i) {
      EXPECT_EQ(batch.view(batch.layout().picked(0, i)).literal(), array.view(turned).literal());
    }
  }
}

TEST(Stacked, NumbersAndEmptyTensors) {
  EXPECT_EQ(stacked(std::vector<Tensor>{full({}, 1), full({}, 2)}).text(), "[1 2] : i64[2]");
  EXPECT_EQ(stacked(std::vector<Tensor>{zeros({0, 3})}).array().sizes(), (Sizes{1, 0, 3}));
}

TEST(Stacked, SaysWhatDiffers) {
  expect_contains(
      message_of<ShapeError>([] { stacked(std::vector<Tensor>{zeros({2}), zeros({3})}); }),
      {"f32[3]", "the first sample of its batch has f32[2]"});
  expect_contains(message_of<ShapeError>(
                      [] { stacked(std::vector<Tensor>{zeros({2}), zeros({2}, DType::f64)}); }),
                  {"f64[2]", "f32[2]"});
  const std::vector<Sample> samples{{zeros({1}), {}, 3}, {zeros({1}), {}, 4}};
  expect_contains(what_of<ValueError>([&] { stacked(samples); }),
                  {"kind: 3 ≠ 4", "make a tensor of it"});
  const std::vector<std::vector<Tensor>> lists{{zeros({1})}, {zeros({1}), zeros({1})}};
  EXPECT_THROW(stacked(lists), ValueError);
  const std::vector<std::vector<Tensor>> shorter{{zeros({1}), zeros({1})}, {zeros({1})}};
  EXPECT_THROW(stacked(shorter), ValueError);
  EXPECT_THROW(stacked(std::vector<Tensor>{}), ValueError);
}

TEST(PadSequence, AsPyTorch) {
  const std::vector<Tensor> sequences{row({1, 2, 3}), row({4}), row({})};
  EXPECT_EQ(pad_sequence(sequences).text(), "[[1. 4. 0.]\n [2. 0. 0.]\n [3. 0. 0.]] : f32[3, 3]");
  EXPECT_EQ(pad_sequence(sequences, {.batch_first = true, .padding_value = -1}).text(),
            "[[ 1.  2.  3.]\n [ 4. -1. -1.]\n [-1. -1. -1.]] : f32[3, 3]");
  EXPECT_EQ(pad_sequence(sequences, {.batch_first = true, .padding_side = data::PaddingSide::left})
                .text(),
            "[[1. 2. 3.]\n [0. 0. 4.]\n [0. 0. 0.]] : f32[3, 3]");
  const std::vector<Tensor> rows{zeros({2, 5}), ones({1, 5})};
  EXPECT_EQ(pad_sequence(rows).array().sizes(), (Sizes{2, 2, 5}));
  EXPECT_EQ(pad_sequence(rows, {.batch_first = true}).array().sizes(), (Sizes{2, 2, 5}));
}

TEST(PadSequence, RefusesWhatDoesNotFit) {
  EXPECT_THROW(pad_sequence({}), ValueError);
  const auto pad = [](std::vector<Tensor> sequences) {
    return message_of<ShapeError>([&] { pad_sequence(sequences); });
  };
  expect_contains(pad({zeros({2, 3}), zeros({2, 4})}), {"f32[2, 4] does not fit f32[2, 3]"});
  expect_contains(pad({zeros({2}), zeros({2}, DType::f64)}), {"f64[2]"});
  expect_contains(pad({zeros({})}), {"f32[]"});
}

}  // namespace
}  // namespace plait
