// Lines of text and JSONL files as streams: without an index, so that the first batch comes soon,
// and positions are bytes. Several threads check and copy the lines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

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

}  // namespace plait::data
