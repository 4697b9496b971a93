// The content of .gz files (RFC 1952), of one or more members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "plait/io/inside/deflate.h"

namespace plait {

bool is_gzip(std::span<const std::byte> bytes);
// The same of a file. ParseError if its name ends as that of a gzip file, .gz or .tgz, and its
// bytes are others.
bool is_gzip(std::string_view path, std::span<const std::byte> file);

// Decompresses the content in order. ParseError if the file is not a gzip file or is damaged;
// memory is needed only for what is decompressed, whatever the file says of its length.
class GzipReader {
 public:
  explicit GzipReader(std::span<const std::byte> file);

  // Reads less than requested only at the end: then all checksums and lengths were right.
  size_t read_some(std::span<std::byte> into);
  // Appends at most so many bytes, in pieces that grow, and returns their number.
  size_t append_some(std::vector<std::byte>& into, size_t most);
  size_t skip_some(size_t most);

  void read(std::span<std::byte> into);  // fills `into`
  void expect_end();

  size_t position() const { return position_; }  // in the content

 private:
  void begin_member(size_t at);
  void end_member();

  std::span<const std::byte> file_;
  size_t member_ = 0;                 // where the member begins in the file
  size_t deflated_ = 0;               // where its deflated bytes begin
  size_t length_ = 0;                 // the bytes of the member that were read
  std::optional<Inflater> inflater_;  // none at the end of the file
  size_t position_ = 0;
};

// The whole content.
std::vector<std::byte> gunzipped(std::span<const std::byte> file);

}  // namespace plait
