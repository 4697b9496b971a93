// One open GGUF file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "plait/io/inside/gguf/gguf_header.h"

namespace plait {

class GgufFile {
 public:
  explicit GgufFile(const std::string& path);
  explicit GgufFile(std::span<const std::byte> bytes);  // they are not owned
  GgufFile(const GgufFile&) = delete;
  GgufFile& operator=(const GgufFile&) = delete;

  const GgufHeader& header() const { return header_; }
  std::span<const std::string> names() const { return names_; }
  const GgufValue* find_value(std::string_view key) const;     // null if there is none
  const GgufTensor* find_tensor(std::string_view name) const;  // likewise

  Array array(const GgufTensor& tensor) const;  // errors name the file and the tensor

 private:
  void read_header();
  Array array_of(const GgufTensor& tensor) const;

  std::string path_;
  std::shared_ptr<const void> owner_;  // owner of the bytes; null if they are not owned
  std::span<const std::byte> bytes_;
  GgufHeader header_;
  std::vector<std::string> names_;
  std::unordered_map<std::string_view, size_t> values_, tensors_;  // places in the header
};

}  // namespace plait
