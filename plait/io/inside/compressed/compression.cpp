#include "plait/io/inside/compressed/compression.h"

#include <algorithm>
#include <string_view>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"

namespace plait {
namespace {

struct Compression {
  std::string_view begin, name, command;
};

constexpr Compression kCompressions[] = {
    {"\x1f\x8b", "gzip", "gunzip"},
    {"\x28\xb5\x2f\xfd", "zstd", "unzstd"},
    {"\xfd\x37zXZ", "xz", "unxz"},
};

// "BZh" alone may begin a text.
bool is_bzip2(std::string_view file) {
  return file.starts_with("BZh") &&
         file.substr(std::min<size_t>(4, file.size())).starts_with("1AY&SY");
}

[[noreturn]] void refuse(std::string_view name, std::string_view command) {
  throw ParseError("byte 0: the file is compressed with {}", name)
      .hint(fmt::format("unpack it first: {} FILE", command));
}

}  // namespace

void expect_not_compressed(std::span<const std::byte> file) {
  const std::string_view text = characters_of(file.first(std::min<size_t>(16, file.size())));
  for (const auto& [begin, name, command] : kCompressions) {
    if (text.starts_with(begin)) refuse(name, command);
  }
  if (is_bzip2(text)) refuse("bzip2", "bunzip2");
}

}  // namespace plait
