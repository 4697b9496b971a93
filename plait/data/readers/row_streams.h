// Rows of text, JSONL and CSV files as streams, so that the first batch comes soon. Lines have no
// index, and their positions are bytes; several threads check and copy them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plait/data/readers/row_datasets.h"
#include "plait/io/rows/line_stream.h"
#include "plait/tensor/tensor.h"

namespace plait::data {

// Samples are lines, without their ends: make tensors of them with mapped().
class TextStream {
 public:
  explicit TextStream(std::vector<std::string> paths) : lines_(std::move(paths)) {}

  std::optional<StreamedLine> next() { return lines_.next(); }
  std::vector<int64_t> position() const { return lines_.position(); }
  void seek(std::span<const int64_t> position) { lines_.seek(position); }
  std::string finish(const StreamedLine& line, const Tensor&) const {
    return std::string(line.text());
  }

 private:
  LineStream lines_;
};

// Samples are the JSON texts of rows, which were parsed once. Blank lines are skipped.
class JsonlStream {
 public:
  explicit JsonlStream(std::vector<std::string> paths) : lines_(std::move(paths), true) {}

  std::optional<StreamedLine> next() { return lines_.next(); }
  std::vector<int64_t> position() const { return lines_.position(); }
  void seek(std::span<const int64_t> position) { lines_.seek(position); }
  std::string finish(const StreamedLine& line, const Tensor&) const {
    return std::string(line.json_text());
  }

 private:
  LineStream lines_;
};

// Samples are those of CsvDataset, of one file after another. With the types of all columns among
// the options, the first one is there immediately. Positions are rows.
class CsvStream {
 public:
  explicit CsvStream(std::vector<std::string> paths, CsvOptions options = {},
                     std::vector<std::string> columns = {})
      : paths_(std::move(paths)), options_(std::move(options)), columns_(std::move(columns)) {}

  std::optional<std::map<std::string, Tensor>> next();
  std::vector<int64_t> position() const { return {number_, row_}; }
  void seek(std::span<const int64_t> position);
  std::map<std::string, Tensor> finish(std::map<std::string, Tensor> sample, const Tensor&) const {
    return sample;
  }

 private:
  std::vector<std::string> paths_;
  CsvOptions options_;
  std::vector<std::string> columns_;
  int64_t number_ = 0, row_ = 0;
  std::optional<CsvDataset> file_ = {};  // empty until it is opened
};

}  // namespace plait::data
