// GGUF files, versions 2 and 3: the metadata and the quantised weights of a language model, as
// llama.cpp writes them.
//
//   const Gguf file = Gguf::open("model.gguf");
//   const auto& name = file.at("general.architecture").as<std::string>();
//   const Array weight = file.array("blk.0.attn_q.weight");  // f32
//
// Tensors of F32 F16 BF16 F64 I8 I16 I32 I64 are arrays of that dtype. Those of Q4_0 Q4_1 Q5_0 Q5_1
// Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K IQ4_NL IQ4_XS TQ1_0 TQ2_0 MXFP4 are dequantised to f32. Other types
// are listed, but a TypeError when they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "plait/tensor/memory/array.h"

namespace plait {

class GgufFile;

// A value of the metadata.
class GgufValue {
 public:
  using Strings = std::vector<std::string>;
  using List = std::vector<GgufValue>;  // content of lists
  // An integer is int64_t, or uint64_t beyond its range. A list of numbers or bools is an Array of
  // one axis, with the dtype that it has in the file.
  using Value = std::variant<bool, int64_t, uint64_t, double, std::string, Array, Strings, List>;

  GgufValue(Value value) : value_(std::move(value)) {}  // NOLINT: a value is one

  const Value& value() const { return value_; }
  // The value of one of these types; TypeError if it has another.
  template <class T>
  const T& as() const;

 private:
  Value value_;
};

// A tensor as the file describes it.
struct GgufInfo {
  std::string type;             // "F32", "Q4_K"
  Sizes sizes = {};             // in row-major order: the last one is the first in the file
  uint64_t begin = 0, end = 0;  // begin and end of its bytes in the file
};

// An open file. Tensors are read when they are asked for. Copies share the file, and arrays that
// borrow its memory keep it open. May be used from several threads.
class Gguf {
 public:
  // IoError if the file cannot be read, ParseError if it is malformed, of version 1, or big-endian.
  static Gguf open(const std::string& path);
  // The bytes of a file, which must outlive it; arrays are copies.
  static Gguf read(std::span<const std::byte> file);

  uint32_t version() const;
  // The metadata, in the order of the file.
  const std::vector<std::pair<std::string, GgufValue>>& metadata() const;
  const GgufValue* find(std::string_view key) const;  // null if there is none
  const GgufValue& at(std::string_view key) const;    // KeyError if there is none

  // Tensors, in the order of the file.
  std::span<const std::string> names() const;
  bool contains(std::string_view name) const;
  // KeyError for an unknown name, here and below.
  const GgufInfo& info(std::string_view name) const;
  // Borrows the memory of the file, or dequantises, in parallel.
  Array array(std::string_view name) const;

 private:
  explicit Gguf(std::shared_ptr<const GgufFile> file) : file_(std::move(file)) {}

  std::shared_ptr<const GgufFile> file_;
};

// All tensors. ValueError if the file is one part of several: each of these is opened by itself.
std::map<std::string, Array> load_gguf(const std::string& path);

}  // namespace plait
