#include "plait/data/readers/row_streams.h"

namespace plait::data {

std::optional<std::map<std::string, Tensor>> CsvStream::next() {
  if (!has_row()) {
    block_ = nullptr;
    row_ = 0;
    if (auto block = blocks_.next()) block_ = std::make_shared<const CsvBlock>(std::move(*block));
    if (!block_) return std::nullopt;
  }
  return sample_of(paths_[static_cast<size_t>(block_->file)], block_->table, row_++);
}

std::vector<int64_t> CsvStream::position() const {
  return has_row() ? block_->position(row_) : blocks_.position();
}

void CsvStream::seek(std::span<const int64_t> position) {
  blocks_.seek(position);
  block_ = nullptr;
  row_ = 0;
}

}  // namespace plait::data
