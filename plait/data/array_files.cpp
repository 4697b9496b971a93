#include "plait/data/array_files.h"

#include "plait/core/error.h"
#include "plait/core/inside/system/with_path.h"
#include "plait/io/idx.h"
#include "plait/io/npy.h"
#include "plait/io/npz.h"

namespace plait::data {

TensorDataset<Tensor> npy_dataset(const std::string& path) {
  const Tensor rows(load_npy(path));
  return with_path(path, [&] { return TensorDataset(rows); });
}

TensorDataset<std::map<std::string, Tensor>> npz_dataset(const std::string& path) {
  std::map<std::string, Tensor> tensors;
  for (auto& [name, array] : load_npz(path)) tensors.emplace(name, std::move(array));
  return with_path(path, [&] { return TensorDataset(tensors); });
}

TensorDataset<Tensor> idx_dataset(const std::string& path) {
  const Tensor rows(load_idx(path));
  return with_path(path, [&] { return TensorDataset(rows); });
}

TensorDataset<std::tuple<Tensor, Tensor>> idx_dataset(const std::string& images,
                                                      const std::string& labels) {
  const Tensor rows(load_idx(images)), classes(load_idx(labels));
  return with_path(labels, [&] { return TensorDataset(rows, classes); });
}

}  // namespace plait::data
