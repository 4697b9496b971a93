// Rows of text, JSONL and CSV files as datasets. The files are mapped, and rows are found when they
// are first asked for; copies share them.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plait/io/rows/csv.h"
#include "plait/io/rows/jsonl.h"
#include "plait/io/rows/text_lines.h"
#include "plait/tensor/tensor.h"

namespace plait::data {

// Samples are lines, without their ends: make tensors of them with mapped().
class TextDataset {
 public:
  explicit TextDataset(const std::string& path) : lines_(std::make_shared<TextLines>(path)) {}
  int64_t size() const { return lines_->size(); }
  std::string at(int64_t index) const { return std::string(lines_->line(index)); }

 private:
  std::shared_ptr<const TextLines> lines_;
};

// Samples are the JSON texts of rows, which were parsed once.
class JsonlDataset {
 public:
  explicit JsonlDataset(const std::string& path) : rows_(std::make_shared<JsonlFile>(path)) {}
  int64_t size() const { return rows_->size(); }
  std::string at(int64_t index) const { return std::string(rows_->text(index)); }

 private:
  std::shared_ptr<const JsonlFile> rows_;
};

// Samples are the numbers of a row by the names of their columns: i64[] or f64[].
class CsvDataset {
 public:
  // TypeError for a column of text: name those of numbers, {.columns = {"x", "y"}}.
  explicit CsvDataset(const std::string& path, const CsvOptions& options = {});
  int64_t size() const { return file_->size(); }
  std::map<std::string, Tensor> at(int64_t index) const;

 private:
  std::shared_ptr<const CsvFile> file_;
};

// A row of a table of numbers, as a sample. `path` is for the TypeError if a column is text.
std::map<std::string, Tensor> sample_of(const std::string& path, const CsvTable& table,
                                        int64_t row);

}  // namespace plait::data
