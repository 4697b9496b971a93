// The content of files that may be compressed by gzip.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace plait {

class InputFile;

// The bytes of a file, or those that a gzip file decompresses to, which are kept in memory. For the
// lifetime of the object. Errors name the file; ParseError if it is compressed otherwise.
class FileContent {
 public:
  explicit FileContent(const std::string& path);

  std::span<const std::byte> bytes() const { return bytes_; }

 private:
  std::shared_ptr<const InputFile> file_;  // null if it was decompressed
  std::vector<std::byte> decompressed_;
  std::span<const std::byte> bytes_;
};

}  // namespace plait
