// Any bytes either are a file of CIFAR, of each kind, or give an error; so does each of its
// samples.
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>

#include "plait/core/error.h"
#include "plait/data/readers/cifar.h"

#include "tests/io/temporary_folder.h"

namespace {

using plait::data::CifarDataset;

void read_sample(const CifarDataset& dataset, int64_t index) {
  try {
    const auto [image, label] = dataset.at(index);
    const auto number = label.item<int64_t>();
    if (image.array().sizes() != plait::Sizes{3, 32, 32} || number < 0 ||
        number >= dataset.class_count()) {
      throw std::logic_error("a sample differs from those of CIFAR");
    }
    image.array().contiguous();
  } catch (const plait::Error&) {  // a label that is out of range
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using enum plait::data::CifarKind;
  static const plait::TemporaryFolder folder;
  const std::string path = folder.path("data_batch_1.bin");
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  for (const auto& [kind, has_groups] :
       {std::pair(cifar10, false), {cifar100, false}, {cifar100, true}}) {
    try {
      const CifarDataset dataset(kind, {path}, has_groups);
      for (int64_t i = 0; i < dataset.size(); ++i) read_sample(dataset, i);
    } catch (const plait::Error&) {  // another size
    }
  }
  return 0;
}
