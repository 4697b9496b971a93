// Trees that the tests of checkpoints save: a model with an optimizer.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/trees/tree.h"
#include "plait/ops/arrays/create.h"
#include "plait/tensor/tensor.h"

#include "gtest/gtest.h"

namespace plait::checkpoint_trees {

struct Layer {
  Tensor weight, bias;
  int64_t heads = 1;
  bool training = true;
};
struct Wide {
  Tensor weight, bias;
  int64_t heads = 1;
  bool training = true;
};

struct Sgd {
  std::map<std::string, Tensor> momentum;
  bool nesterov = false;
};
struct Adam {
  std::map<std::string, Tensor> momentum;
  bool nesterov = false;
};

template <class Optimizer = Sgd, class First = Layer>
struct Training {
  First first;
  std::vector<Layer> rest;
  Optimizer optimizer;
  Tensor step;
};

inline Tensor numbers(float first, int64_t count) {
  std::vector<float> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(first + static_cast<float>(i));
  return Tensor(Array::of(std::span<const float>(values), {count}));
}

inline Layer layer(float first, int64_t count = 6) {
  return {numbers(first, count), numbers(first + 0.5F, 2)};
}

template <class Optimizer = Sgd>
Training<Optimizer> training(float first = 0, int64_t count = 6) {
  return {layer(first, count),
          {layer(first + 100, count), layer(first + 200, count)},
          {{{"first.weight", numbers(first + 300, count)}}},
          Tensor(Array::of(int64_t{7}))};
}

template <class Tree>
std::vector<std::string> bits_of(const Tree& tree) {
  std::vector<std::string> all;
  for (const Tensor& tensor : tensors_of(tree)) {
    const Array array = tensor.array().contiguous();
    const auto* first = reinterpret_cast<const char*>(array.data());
    all.emplace_back(first, first + array.element_count() * array.element_size());
  }
  return all;
}

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
inline void write_content(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name != ".lock") names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

// The message of the error that the work throws; empty if it throws none.
template <class Work>
std::string error_of(Work work) {
  try {
    work();
  } catch (const Error& error) {
    return std::string(name_of(error.kind())) + ": " + error.message();
  }
  return "";
}

}  // namespace plait::checkpoint_trees
