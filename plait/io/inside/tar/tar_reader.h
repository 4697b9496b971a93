// The members of a tar archive: ustar, GNU's long names, pax headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace plait {

class GzipReader;

struct TarMember {
  std::string name = {};
  size_t begin = 0, size = 0;  // begin and size of the content, in the archive
};

// Reads the headers, one after another; content is skipped, unless it is read.
class TarReader {
 public:
  // Begins at the header of a member.
  explicit TarReader(std::span<const std::byte> archive, size_t position = 0);
  // The same, of a compressed archive, from where the reader is.
  explicit TarReader(GzipReader& archive);
  ~TarReader();
  TarReader(const TarReader&) = delete;
  TarReader& operator=(const TarReader&) = delete;

  // The next regular file, or member of an unknown type; nothing at the end of the archive.
  // ParseError if a header is damaged, for a sparse file, or if the archive ends early, also
  // without the mark of its end. In a compressed archive it is known after the content of a member
  // that this ended early.
  std::optional<TarMember> next();
  // Appends the content of the last member, once.
  void read_content(std::vector<std::byte>& into);
  // Where the header of the next member begins, with the headers that extend it.
  size_t position() const;

 private:
  struct Header;
  class Source;
  class BytesSource;
  class GzipSource;

  std::optional<Header> header();
  void begin_content(const Header& header);
  void pass_content();  // the rest of it
  [[noreturn]] void refuse_content(size_t available) const;

  std::unique_ptr<Source> source_;
  std::unique_ptr<Header> member_;  // that has content left
  size_t padding_ = 0;              // after its content
};

}  // namespace plait
