#include "plait/data/readers/cifar.h"

#include <filesystem>

#include "plait/core/error.h"
#include "plait/data/dataset.h"
#include "plait/io/inside/element_bytes.h"
#include "plait/io/inside/file.h"
#include "plait/ops/arrays/create.h"

namespace plait::data {
namespace {

constexpr int64_t kImageBytes = 3 * 32 * 32;

int64_t label_bytes(CifarKind kind) { return kind == CifarKind::cifar10 ? 1 : 2; }
int64_t record_bytes(CifarKind kind) { return label_bytes(kind) + kImageBytes; }

}  // namespace

struct CifarDataset::File {
  explicit File(const std::string& name) : path(name), file(name) {}

  std::string path;
  InputFile file;
};

CifarDataset::CifarDataset(CifarKind kind, const std::vector<std::string>& files, bool groups)
    : kind_(kind), groups_(groups && kind == CifarKind::cifar100) {
  for (const std::string& path : files) {
    files_.push_back(std::make_shared<const File>(path));
    const auto bytes = static_cast<int64_t>(files_.back()->file.bytes().size());
    if (bytes == 0 || bytes % record_bytes(kind) != 0) {
      throw ParseError("{}: {} bytes, expected records of {} bytes", path, bytes,
                       record_bytes(kind));
    }
    ends_.push_back(size_ += bytes / record_bytes(kind));
  }
}

int64_t CifarDataset::class_count() const {
  return kind_ == CifarKind::cifar10 ? 10 : groups_ ? 20 : 100;
}

std::tuple<Tensor, Tensor> CifarDataset::at(int64_t index) const {
  expect_index(index, size_);
  const auto [part, row] = part_at(ends_, index);
  const std::shared_ptr<const File>& file = files_[part];
  const int64_t begin = row * record_bytes(kind_), labels = label_bytes(kind_);
  const auto record = file->file.bytes().subspan(static_cast<size_t>(begin),
                                                 static_cast<size_t>(record_bytes(kind_)));
  const int64_t place = labels - (groups_ ? 2 : 1);
  const auto label = std::to_integer<int64_t>(record[static_cast<size_t>(place)]);
  if (label >= class_count()) {
    throw ParseError("{}: byte {}: the label {} is out of range, expected 0 to {}", file->path,
                     begin + place, label, class_count() - 1);
  }
  const auto pixels = record.subspan(static_cast<size_t>(labels));
  return {Tensor(array_of_bytes(DType::u8, {3, 32, 32}, pixels, file)), full({}, label)};
}

namespace {

CifarDataset cifar_dataset(CifarKind kind, const std::string& folder, const char* inner,
                           const std::vector<std::string>& names, bool groups) {
  namespace fs = std::filesystem;
  const bool is_inside = fs::exists(fs::path(folder) / inner / names[0]);
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    const fs::path in = is_inside ? fs::path(folder) / inner : fs::path(folder);
    paths.push_back((in / name).string());
  }
  if (!fs::exists(paths[0])) {
    throw IoError("cannot open {}: the folder has no such file", paths[0])
        .hint("the files are those of the binary version, not of the one for Python");
  }
  return {kind, paths, groups};
}

}  // namespace

CifarDataset cifar10_dataset(const std::string& folder, const CifarOptions& options) {
  std::vector<std::string> names = {"test_batch.bin"};
  if (options.train) {
    names.clear();
    for (int i = 1; i <= 5; ++i) names.push_back("data_batch_" + std::to_string(i) + ".bin");
  }
  return cifar_dataset(CifarKind::cifar10, folder, "cifar-10-batches-bin", names, false);
}

CifarDataset cifar100_dataset(const std::string& folder, const CifarOptions& options) {
  const std::vector<std::string> names = {options.train ? "train.bin" : "test.bin"};
  return cifar_dataset(CifarKind::cifar100, folder, "cifar-100-binary", names, options.groups);
}

}  // namespace plait::data
