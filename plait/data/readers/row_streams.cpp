#include "plait/data/readers/row_streams.h"

#include <fmt/ranges.h>

#include "plait/core/error.h"

namespace plait::data {

std::optional<std::map<std::string, Tensor>> CsvStream::next() {
  for (; number_ < static_cast<int64_t>(paths_.size()); ++number_, row_ = 0, file_.reset()) {
    if (!file_) file_.emplace(paths_[static_cast<size_t>(number_)], options_, columns_);
    if (auto sample = file_->find(row_)) {
      ++row_;
      return sample;
    }
  }
  return std::nullopt;
}

void CsvStream::seek(std::span<const int64_t> position) {
  if (position.empty()) return seek(std::vector<int64_t>{0, 0});
  const auto files = static_cast<int64_t>(paths_.size());
  if (position.size() != 2 || position[0] < 0 || position[0] > files || position[1] < 0) {
    throw ValueError(
        "CsvStream: the position is [{}], expected the number of one of {} files and a row",
        fmt::join(position, ", "), files);
  }
  number_ = position[0];
  row_ = position[1];
  file_.reset();
}

}  // namespace plait::data
