// The lines of text files from the first to the last, without an index: the first line is there
// immediately, however large the files are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plait {

class InputFile;
class Json;

// A line of a file, which it keeps open. ParseErrors name file and line.
class StreamedLine {
 public:
  StreamedLine(std::shared_ptr<const InputFile> file, std::string path, size_t position)
      : file_(std::move(file)), path_(std::move(path)), position_(position) {}

  std::string_view text() const;       // ParseError if it is not UTF-8
  std::string_view json_text() const;  // ParseError if it is not JSON
  Json json() const;                   // for the sources of Plait

 private:
  std::shared_ptr<const InputFile> file_;
  std::string path_;
  size_t position_;
};

// Files are opened when it is their turn. After an error next() goes on, with the next file if one
// cannot be opened. A copy goes on by itself.
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
  void end_file();

  std::vector<std::string> paths_;
  bool skips_blank_;
  size_t number_ = 0, byte_ = 0;
  std::shared_ptr<const InputFile> file_ = nullptr;  // null until it is opened
};

}  // namespace plait
