#include "plait/data/readers/row_datasets.h"

#include <variant>

#include "plait/core/error.h"
#include "plait/data/dataset.h"

namespace plait::data {
namespace {

[[noreturn]] void refuse_text(const std::string& path, const std::string& column) {
  throw TypeError("{}: column '{}' is text, which tensors do not hold", path, column)
      .hint("name the columns of numbers in columns");
}

}  // namespace

CsvDataset::CsvDataset(const std::string& path, const CsvOptions& options)
    : file_(std::make_shared<CsvFile>(path, options)) {
  const std::vector<CsvType>& types = file_->types();
  for (size_t i = 0; i < types.size(); ++i) {
    if (types[i] == CsvType::text) refuse_text(path, file_->names()[i]);
  }
}

std::map<std::string, Tensor> CsvDataset::at(int64_t index) const {
  expect_index(index, size());
  return sample_of("", file_->rows(index, index + 1), 0);
}

std::map<std::string, Tensor> sample_of(const std::string& path, const CsvTable& table,
                                        int64_t row) {
  std::map<std::string, Tensor> sample;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    const auto* numbers = std::get_if<Array>(&table.columns[i]);
    if (numbers == nullptr) refuse_text(path, table.names[i]);
    sample.emplace(table.names[i], row_of(Tensor(*numbers), row));
  }
  return sample;
}

}  // namespace plait::data
