// Refusals of index.h and at.h.
#include <gtest/gtest.h>

#include "plait/ops/arrays/create.h"
#include "plait/ops/indexing/at.h"
#include "plait/ops/indexing/index.h"
#include "plait/tensor/inside/tracing/trace.h"

#include "refusals.h"

namespace plait {
namespace {

using Indices = std::vector<Index>;

struct BadIndex {
  Indices index;
  ErrorKind kind;
  std::vector<std::string> words;
};

// Indices of f32[2, 3].
std::vector<BadIndex> bad_indices() {
  return {
      {{2}, kIndex, {"index", "2", "axis 0", "f32[2, 3]"}},
      {{-3}, kIndex, {"-3", "axis 0", "f32[2, 3]"}},
      {{0, 3}, kIndex, {"3", "axis 1", "f32[2, 3]"}},
      {{0, 0, 0}, kIndex, {"3 axes", "f32[2, 3]"}},
      {{ellipsis, ellipsis}, kIndex, {"ellips", "f32[2, 3]"}},
      {{Slice{.step = 0}}, kValue, {"step of a slice is 0", "f32[2, 3]"}},
      {{f32(2)}, kType, {"f32[2]", "f32[2, 3]"}},
      {{keys(2)}, kType, {"key[2]", "f32[2, 3]"}},
      {{truths(3)}, kIndex, {"bool[3]", "axis 0", "f32[2, 3]"}},
      {{truths(2, 2)}, kIndex, {"bool[2, 2]", "axis 1", "f32[2, 3]"}},
      {{places({0, 2})}, kIndex, {"2", "f32[2, 3]"}},
      {{places({0, -3})}, kIndex, {"-3", "f32[2, 3]"}},
      {{places({0, 1}), places({0, 1, 2})}, kShape, {"[2]", "[3]", "f32[2, 3]"}},
      {{Tensor()}, kValue, {"never given", "f32[2, 3]"}},
  };
}

// Reads with a default value accept integers out of range.
bool leads_outside(const BadIndex& bad) {
  if (bad.kind != kIndex) return false;
  const auto& first = bad.index[0].choice();
  const auto* tensor = std::get_if<Tensor>(&first);
  const bool is_numbers = tensor != nullptr && !is_boolean(tensor->dtype());
  return is_numbers || (std::holds_alternative<Dim>(first) && bad.index.size() < 3);
}

// x keeps its value even if it is donated.
template <class Change>
void refuse_to_write(const Indices& index, Change change) {
  Tensor x = f32(2, 3);
  const std::string before = x.text();
  try {
    change(IndexedTensor(std::move(x), index));
  } catch (...) {
    EXPECT_EQ(x.text(), before);
    throw;
  }
}

using Changing = std::function<void(IndexedTensor)>;

}  // namespace

Refusals refusals_of_index() {
  using Indexed = void (*)(IndexedTensor&&, const Operand&);
  const std::vector<Named<Indexed>> changes = {
      {"IndexedTensor::set", [](IndexedTensor&& x, const Operand& y) { std::move(x).set(y); }},
      {"IndexedTensor::add", [](IndexedTensor&& x, const Operand& y) { std::move(x).add(y); }},
      {"IndexedTensor::multiply",
       [](IndexedTensor&& x, const Operand& y) { std::move(x).multiply(y); }},
      {"IndexedTensor::min", [](IndexedTensor&& x, const Operand& y) { std::move(x).min(y); }},
      {"IndexedTensor::max", [](IndexedTensor&& x, const Operand& y) { std::move(x).max(y); }}};
  Refusals rows = {
      {"Tensor::operator[]", [] { f32()[0]; }, kIndex, {"index", "1 axes", "f32[]"}},
      {"Tensor::operator[]", [] { Tensor()[0]; }, kValue, {"never given"}},
      {"Tensor::operator[]", [] { f32(2)[~uint64_t{0}]; }, kIndex, {"index"}},
      {"Tensor::at", [] { f32(2).at(2).get(); }, kIndex, {"2", "axis 0", "f32[2]"}},
      {"IndexedTensor::get", [] { f32(2).at(0).get(c64(1)); }, kType, {"f32[2]", "c64[1]"}},
      {"IndexedTensor::get", [] { f32(2).at(5).get(f32(3)); }, kShape, {"f32[2]", "[3]"}},
  };
  for (const BadIndex& bad : bad_indices()) {
    const Indices index = bad.index;
    rows.push_back({"index", [index] { plait::index(f32(2, 3), index); }, bad.kind, bad.words});
    for (const auto& [name, change] : changes) {
      rows.push_back({name,
                      [index, change] {
                        refuse_to_write(index, [&](IndexedTensor&& x) { change(std::move(x), 1); });
                      },
                      bad.kind, bad.words});
    }
    if (leads_outside(bad)) continue;
    rows.push_back({"IndexedTensor::get", [index] { IndexedTensor(f32(2, 3), index).get(0); },
                    bad.kind, bad.words});
  }
  const auto refuse_value = [&](const Indices& index, const Tensor& value, ErrorKind kind,
                                const std::vector<std::string>& words) {
    for (const auto& [name, change] : changes) {
      rows.push_back({name,
                      [index, value, change] {
                        refuse_to_write(index,
                                        [&](IndexedTensor&& x) { change(std::move(x), value); });
                      },
                      kind, words});
    }
  };
  refuse_value({0}, f32(2), kShape, {"at", "[2]", "[3]"});
  refuse_value({places({0, 1, 0})}, f32(2, 3), kShape, {"at", "[2, 3]", "[3, 3]"});
  refuse_value({0}, c64(3), kType, {"at", "c64[3]", "f32[2, 3]"});
  refuse_value({0}, keys(3), kType, {"at", "key[3]", "f32[2, 3]"});
  refuse_value({0}, Tensor(), kValue, {"at", "never given"});
  return rows;
}

TEST(Refusals, Index) { expect_refused(refusals_of_index()); }

// Other members of Tensor.
TEST(Refusals, OfMembers) {
  const auto expect = [](ErrorKind kind, std::string_view words, auto call) {
    try {
      call();
      ADD_FAILURE() << "was not refused: " << words;
    } catch (const Error& error) {
      EXPECT_EQ(name_of(error.kind()), name_of(kind)) << error.what();
      EXPECT_NE(error.message().find(words), std::string::npos) << error.message();
    }
  };
  const Tensor nothing;
  expect(kValue, "never given a value", [&] { nothing.dtype(); });
  expect(kValue, "never given a value", [&] { nothing.rank(); });
  expect(kValue, "never given a value", [&] { nothing.shape(); });
  expect(kValue, "never given a value", [&] { nothing.type(); });
  expect(kValue, "never given a value", [&] { nothing.array(); });
  expect(kValue, "never given a value", [&] { nothing.text(); });
  expect(kValue, "never given a value", [&] { nothing.item<float>(); });
  expect(kValue, "never given a value", [&] { nothing.is_traced(); });
  expect(kIndex, "axis 2", [] { f32(2, 3).shape(2); });
  expect(kIndex, "axis -3", [] { f32(2, 3).shape(-3); });
  expect(kIndex, "axis 0", [] { f32().shape(0); });
  expect(kValue, "[2]", [] { f32(2).item<float>(); });
  expect(kValue, "[0]", [] { f32(0).item<float>(); });
  Trace recording("f");
  const Tensor x = recording.parameter(ir::Type::array(DType::f32, {2}), "x");
  expect(kValue, "f32[2]", [&] { x.array(); });
  expect(kValue, "f32[2]", [&] { x.item<float>(); });
  expect(kIndex, "axis 1", [&] { x.shape(1); });
}

}  // namespace plait
