// The members of a tar archive: ustar, GNU's long names, pax headers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace plait {

struct TarMember {
  std::string name = {};
  size_t begin = 0, size = 0;  // begin and size of the content, in the archive
};

// Reads the headers, one after another; content is skipped.
class TarReader {
 public:
  // Begins at the header of a member.
  explicit TarReader(std::span<const std::byte> archive, size_t position = 0)
      : archive_(archive), position_(position) {}

  // The next regular file; nothing at the end of the archive. ParseError if a header is damaged, or
  // if the archive ends early, also without the mark of its end.
  std::optional<TarMember> next();
  // Where the header of the next member begins, with the headers that extend it.
  size_t position() const { return position_; }

 private:
  struct Header;
  std::optional<Header> header();
  std::span<const std::byte> content(const Header& header);

  std::span<const std::byte> archive_;
  size_t position_;
};

}  // namespace plait
