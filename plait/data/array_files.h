// Datasets of files that hold arrays: the rows of the arrays are the samples.
#pragma once

#include <map>
#include <string>

#include "plait/data/dataset.h"

namespace plait::data {

// A .npy file. A large one is not read into memory: its rows are read when they are used.
TensorDataset<Tensor> npy_dataset(const std::string& path);
// A .npz file, whose samples have the arrays by name. Large ones that are not compressed are
// mapped, too, but read once for their checksums.
TensorDataset<std::map<std::string, Tensor>> npz_dataset(const std::string& path);
// An IDX file, or two of images and labels, such as those of MNIST.
TensorDataset<Tensor> idx_dataset(const std::string& path);
TensorDataset<std::tuple<Tensor, Tensor>> idx_dataset(const std::string& images,
                                                      const std::string& labels);

}  // namespace plait::data
