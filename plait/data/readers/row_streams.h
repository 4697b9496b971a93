// Rows of text, JSONL and CSV files as streams, so that the first batch comes soon. They have no
// index, and their positions are bytes; several threads check and copy lines.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "plait/data/readers/row_datasets.h"
#include "plait/io/rows/csv_blocks.h"
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

// Samples are those of CsvDataset, of one file after another: all have the columns of the first
// one, and the types that its cells have. With the types of all columns among the options, the
// first sample is there immediately; otherwise the first file is read for them. A row that cannot
// be read is an error once, and then its successor comes.
class CsvStream {
 public:
  explicit CsvStream(std::vector<std::string> paths, CsvOptions options = {})
      : paths_(std::move(paths)), blocks_(paths_, std::move(options)) {}

  std::optional<std::map<std::string, Tensor>> next();
  // The number of the file, the byte where the next row is searched for, and the size of the file:
  // a file of another size is refused by next().
  std::vector<int64_t> position() const;
  void seek(std::span<const int64_t> position);
  std::map<std::string, Tensor> finish(std::map<std::string, Tensor> sample, const Tensor&) const {
    return sample;
  }

 private:
  bool has_row() const { return block_ && row_ < block_->table.row_count; }

  std::vector<std::string> paths_;
  CsvBlocks blocks_;
  std::shared_ptr<const CsvBlock> block_ = nullptr;
  int64_t row_ = 0;  // the next one of the block
};

}  // namespace plait::data
