#include "plait/data/readers/row_datasets.h"

#include <algorithm>
#include <variant>

#include "plait/core/error.h"
#include "plait/data/dataset.h"

namespace plait::data {

CsvDataset::CsvDataset(const std::string& path, const CsvOptions& options,
                       const std::vector<std::string>& columns)
    : file_(std::make_shared<CsvFile>(path, options)),
      columns_(columns.empty() ? file_->names() : columns) {
  const std::vector<std::string>& names = file_->names();
  for (const std::string& column : columns_) {
    const auto at = std::ranges::find(names, column);
    if (at == names.end()) throw KeyError("{}: there is no column '{}'", path, column);
    if (file_->types()[static_cast<size_t>(at - names.begin())] != CsvType::text) continue;
    throw TypeError("{}: column '{}' is text, which tensors do not hold", path, column)
        .hint("name the columns of numbers");
  }
}

std::map<std::string, Tensor> CsvDataset::at(int64_t index) const {
  expect_index(index, size());
  return *find(index);
}

std::optional<std::map<std::string, Tensor>> CsvDataset::find(int64_t index) const {
  const CsvTable table = file_->rows(index, index + 1);
  if (table.row_count == 0) return std::nullopt;
  std::map<std::string, Tensor> sample;
  for (const std::string& column : columns_) {
    sample.emplace(column, row_of(Tensor(std::get<Array>(table.at(column))), 0));
  }
  return sample;
}

}  // namespace plait::data
