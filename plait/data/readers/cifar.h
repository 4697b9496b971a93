// CIFAR-10 and CIFAR-100, in the binary version of their files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "plait/tensor/tensor.h"

namespace plait::data {

// The labels of a record: one of 10 classes; one of 20 groups and one of 100 classes.
enum class CifarKind : uint8_t { cifar10, cifar100 };
struct CifarOptions {
  bool train = true;    // else the images for tests
  bool groups = false;  // the labels of CIFAR-100 are the 20 groups
};

// Samples are an image, u8[3, 32, 32], and its label, i64[]. Files are mapped, and images are read
// when they are used. ParseError, which names the file, for a file of another size, and for a label
// out of range.
class CifarDataset {
 public:
  CifarDataset(CifarKind kind, const std::vector<std::string>& files, bool groups = false);

  int64_t size() const { return size_; }
  std::tuple<Tensor, Tensor> at(int64_t index) const;
  int64_t class_count() const;

 private:
  struct File;

  CifarKind kind_;
  bool groups_;
  std::vector<std::shared_ptr<const File>> files_;
  std::vector<int64_t> ends_;
  int64_t size_ = 0;
};

// From the folder with the files, or the one above: data_batch_1.bin to data_batch_5.bin and
// test_batch.bin; train.bin and test.bin.
CifarDataset cifar10_dataset(const std::string& folder, const CifarOptions& options = {});
CifarDataset cifar100_dataset(const std::string& folder, const CifarOptions& options = {});

}  // namespace plait::data
