// The lines of text files from the first to the last, without an index: the first line is there
// immediately, however large the files are. Files may be compressed by gzip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plait/core/uncopied.h"

namespace plait {

class GzipLines;
class InputFile;
class Json;

// A line of a file, which it keeps open. ParseErrors name file and line.
class StreamedLine {
 public:
  // The line at a position of a text that comes after so many lines, with its owner.
  StreamedLine(std::shared_ptr<const void> owner, std::string path, std::string_view text,
               size_t position, size_t lines_before = 0)
      : owner_(std::move(owner)),
        path_(std::move(path)),
        text_(text),
        position_(position),
        lines_before_(lines_before) {}

  std::string_view text() const;       // ParseError if it is not UTF-8
  std::string_view json_text() const;  // ParseError if it is not JSON
  Json json() const;                   // for the sources of Plait

 private:
  std::shared_ptr<const void> owner_;
  std::string path_;
  std::string_view text_;
  size_t position_, lines_before_;
};

// Files are opened when it is their turn. After an error next() goes on, with the next file if one
// cannot be opened, or is damaged. A copy goes on by itself. Positions in a compressed file are
// those in its content, which is decompressed from the beginning to go on there.
class LineStream {
 public:
  explicit LineStream(std::vector<std::string> paths, bool skips_blank = false)
      : paths_(std::move(paths)), skips_blank_(skips_blank) {}

  std::optional<StreamedLine> next();
  // The number of the file, and the byte where the next line begins.
  std::vector<int64_t> position() const;
  // An empty position is the beginning. ValueError if no line begins there, by next() at the
  // latest.
  void seek(std::span<const int64_t> position);

 private:
  void open();
  std::optional<StreamedLine> next_compressed();
  void end_file();

  std::vector<std::string> paths_;
  bool skips_blank_;
  size_t number_ = 0, byte_ = 0;
  std::shared_ptr<const InputFile> file_ = nullptr;  // null until it is opened
  Uncopied<GzipLines> compressed_ = {};              // instead of that
};

}  // namespace plait
