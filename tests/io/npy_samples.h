// Hand-made .npy files, and arrays to save.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/io/inside/byte_fields.h"
#include "plait/io/inside/deflate.h"
#include "plait/tensor/memory/array.h"

#include "tests/support/errors.h"

namespace plait {

inline std::string text(std::span<const std::byte> bytes) {
  return std::string(characters_of(bytes));
}

inline std::string npy_file(std::string_view dictionary, std::string_view data, int version = 1) {
  std::string file = "\x93NUMPY";
  file += static_cast<char>(version);
  file += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    file += static_cast<char>(dictionary.size() >> (8 * i));
  }
  return file.append(dictionary).append(data);
}

inline std::string npy_of(std::string_view descr, std::string_view shape, std::string_view data,
                          bool fortran = false) {
  return npy_file(fmt::format("{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}\n", descr,
                              fortran ? "True" : "False", shape),
                  data);
}

// Adjacent bytes differ.
inline Array sample(DType dtype, Sizes sizes) {
  Array array = Array::empty(dtype, std::move(sizes));
  const int64_t bytes = array.element_count() * array.element_size();
  for (int64_t i = 0; i < bytes; ++i) {
    const auto value = static_cast<std::byte>(dtype == DType::boolean ? i % 3 == 1 : 37 * i + 11);
    array.writable_data()[i] = value;
  }
  return array;
}

inline std::vector<DType> all_dtypes() {
  std::vector<DType> dtypes;
  for (const DTypeInfo& info : kDTypes) dtypes.push_back(info.dtype);
  return dtypes;
}

inline void expect_same(const Array& actual, const Array& expected) {
  EXPECT_TRUE(actual.is_contiguous());
  EXPECT_EQ(actual.sizes(), expected.sizes());
  EXPECT_EQ(actual.literal(), expected.literal());
}

inline void expect_failure(const std::function<void()>& run, std::string_view part) {
  expect_contains(what_of(run), {part});
}

// True if this build has zlib.
inline bool can_compress() {
  try {
    deflate_into([](auto) {}, {});
    return true;
  } catch (const IoError&) {
    return false;
  }
}

}  // namespace plait
