// The lines of a text file that is compressed by gzip, in order. Memory has one line at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "plait/io/inside/file.h"
#include "plait/io/inside/gzip.h"

namespace plait {

class GzipLines {
 public:
  struct Line {
    std::string text;
    size_t lines_before;
  };

  explicit GzipLines(std::shared_ptr<const InputFile> file);

  // With its end; with `skips_blank` one that has more than spaces. ParseError, without the path,
  // if the file is damaged.
  std::optional<Line> next(bool skips_blank);
  // Where the next line begins in the decompressed text.
  size_t position() const { return position_; }
  // Decompresses up to a byte. False if no line begins there.
  bool pass_to(size_t byte);

 private:
  bool fill();  // false at the end
  std::string_view rest() const { return std::string_view(piece_).substr(at_); }
  bool read_line(std::string& line);

  std::shared_ptr<const InputFile> file_;
  GzipReader reader_;
  std::string piece_;  // part of the text, read from `at_` on
  size_t at_ = 0, position_ = 0, lines_ = 0;
};

}  // namespace plait
