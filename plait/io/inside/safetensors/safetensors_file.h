// One open safetensors file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "plait/io/inside/safetensors/safetensors_header.h"

namespace plait {

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);
  explicit SafetensorsFile(std::span<const std::byte> bytes);  // they are not owned
  SafetensorsFile(const SafetensorsFile&) = delete;
  SafetensorsFile& operator=(const SafetensorsFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return bytes_; }  // all of the file
  const SafetensorsHeader& header() const { return header_; }
  const SafetensorsTensor* find(std::string_view name) const;  // null if there is none

  // As in Safetensors; errors name the file and the tensor.
  Array array(const SafetensorsTensor& tensor) const;
  Array slice(const SafetensorsTensor& tensor, std::span<const Slice> slices) const;
  Array bytes_array(const SafetensorsTensor& tensor) const;
  Array values(const SafetensorsTensor& tensor) const;

 private:
  void read_header();
  std::span<const std::byte> bytes_of(const SafetensorsTensor& tensor) const;
  Array slice_of(const SafetensorsTensor& tensor, DType dtype, std::span<const Slice> slices) const;
  template <class Work>
  Array reading(const SafetensorsTensor& tensor, Work work) const;

  std::string path_;
  std::shared_ptr<const void> owner_;  // owner of the bytes; null if they are not owned
  std::span<const std::byte> bytes_;
  SafetensorsHeader header_;
  std::unordered_map<std::string_view, size_t> places_;  // in the header
};

}  // namespace plait
