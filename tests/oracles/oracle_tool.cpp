// Prints results of Plait's dtypes and files for the oracles (*_oracle.py), which compare them with
// other libraries.
//   oracle_tool dtypes            name, long name, kind and size of each
//   oracle_tool limits            the limits of each dtype that has some, floats in hexadecimal
//   oracle_tool promotions        dtype, dtype, result; "-" where there is none
//   oracle_tool scalars           dtype, kind of scalar, result; "-" where there is none
//   oracle_tool convert FROM TO   elements from standard input to standard output
//   oracle_tool text DTYPE        elements from standard input, one text a line
//   oracle_tool parse DTYPE       texts from standard input, one a line, to elements
//   oracle_tool apply             lines of a primitive's name and numbers: what it gives in f64
//   oracle_tool npy FROM TO       the array of one .npy file to another
//   oracle_tool npz FROM TO       the arrays of one .npz file to another; also npz_compressed
//   oracle_tool train MODEL OPTIMIZER STEPS FROM TO   see train_models.h
#include <array>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "plait/core/error.h"
#include "plait/core/numbers/element.h"
#include "plait/core/numbers/literal.h"
#include "plait/core/numbers/promotion.h"
#include "plait/core/text.h"
#include "plait/io/npy.h"
#include "plait/io/npz.h"
#include "plait/ops/arrays/create.h"
#include "plait/ops/register_all.h"
#include "plait/tensor/apply.h"

#include "tests/oracles/function_cases.h"
#include "tests/oracles/layer_cases.h"
#include "tests/oracles/optimizer_cases.h"
#include "tests/oracles/train_models.h"

namespace plait {
namespace {

void print_dtypes() {
  constexpr std::array kKinds = {"boolean", "integer", "floating", "complex", "key"};
  for (const DTypeInfo& info : kDTypes) {
    fmt::print("{} {} {} {}\n", info.name, info.long_name, kKinds[static_cast<size_t>(info.kind)],
               info.size);
  }
}

void print_limits() {
  for (const DTypeInfo& info : kDTypes) {
    if (is_inexact(info.dtype)) {
      const FloatLimits limits = float_limits(info.dtype);
      fmt::print("{} {} {:a} {:a} {:a} {:a}\n", info.name, limits.bits, limits.epsilon, limits.max,
                 limits.smallest_normal, limits.smallest_subnormal);
    } else if (is_integer(info.dtype)) {
      const IntegerLimits limits = integer_limits(info.dtype);
      fmt::print("{} {} {} {}\n", info.name, limits.bits, limits.min, limits.max);
    }
  }
}

void print_promotions() {
  for (const DTypeInfo& a : kDTypes) {
    for (const DTypeInfo& b : kDTypes) {
      const auto result = find_promotion(a.dtype, b.dtype);
      fmt::print("{} {} {}\n", a.name, b.name, result ? name_of(*result) : "-");
    }
  }
}

void print_scalar_promotions() {
  constexpr std::array kScalars = {"bool", "int", "float", "complex"};
  for (const DTypeInfo& info : kDTypes) {
    for (size_t kind = 0; kind < kScalars.size(); ++kind) {
      std::string_view result = "-";
      try {
        result = name_of(promote(info.dtype, static_cast<ScalarKind>(kind)));
      } catch (const TypeError&) {
      }
      fmt::print("{} {} {}\n", info.name, kScalars[kind], result);
    }
  }
}

std::vector<std::byte> read_input() {
  const std::string text(std::istreambuf_iterator<char>(std::cin), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

void write_output(const std::vector<std::byte>& bytes) {
  std::cout.write(reinterpret_cast<const char*>(bytes.data()),
                  static_cast<std::streamsize>(bytes.size()));
}

DType dtype_named(std::string_view name) {
  const auto dtype = parse_dtype_or_alias(name);
  if (!dtype) throw ValueError("unknown dtype {}", name);
  return *dtype;
}

void convert_input(DType from, DType to) {
  const std::vector<std::byte> source = read_input();
  const int64_t count = static_cast<int64_t>(source.size()) / size_of(from);
  std::vector<std::byte> target(static_cast<size_t>(count * size_of(to)));
  convert(from, source.data(), to, target.data(), count);
  write_output(target);
}

void print_texts(DType dtype) {
  const std::vector<std::byte> input = read_input();
  const auto size = static_cast<size_t>(size_of(dtype));
  for (size_t i = 0; i + size <= input.size(); i += size) {
    const auto element = std::span(input).subspan(i, size);
    const std::string text = Literal::of_bytes(dtype, {}, {element.begin(), element.end()}).text();
    const size_t open = text.find('(');
    fmt::print("{}\n", text.substr(open + 1, text.size() - open - 2));
  }
}

void parse_input(DType dtype) {
  std::vector<std::byte> output;
  for (std::string line; std::getline(std::cin, line);) {
    const Literal literal =
        parse_whole(fmt::format("{}[]({})", name_of(dtype), line), parse_literal);
    output.insert(output.end(), literal.bytes().begin(), literal.bytes().end());
  }
  write_output(output);
}

// For lines with the name of a primitive and its operands: its results in f64.
void apply_to_lines() {
  register_all();
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    std::vector<Tensor> operands;
    for (std::string number; words >> number;) {
      operands.push_back(tensor<double>({std::strtod(number.c_str(), nullptr)}));
    }
    fmt::print("{:a}\n", plait::apply(ir::primitive(name), operands).item<double>());
  }
}

void run(const std::vector<std::string>& words) {
  const std::string command = words.empty() ? "" : words[0];
  if (command == "dtypes" && words.size() == 1) return print_dtypes();
  if (command == "limits" && words.size() == 1) return print_limits();
  if (command == "promotions" && words.size() == 1) return print_promotions();
  if (command == "scalars" && words.size() == 1) return print_scalar_promotions();
  if (command == "convert" && words.size() == 3) {
    return convert_input(dtype_named(words[1]), dtype_named(words[2]));
  }
  if (command == "text" && words.size() == 2) return print_texts(dtype_named(words[1]));
  if (command == "parse" && words.size() == 2) return parse_input(dtype_named(words[1]));
  if (command == "npy" && words.size() == 3) return save_npy(words[2], load_npy(words[1]));
  if ((command == "npz" || command == "npz_compressed") && words.size() == 3) {
    return save_npz(words[2], load_npz(words[1]), command == "npz_compressed");
  }
  if (command == "apply" && words.size() == 1) return apply_to_lines();
  if (command == "layers" && words.size() == 2) return run_layer_cases(words[1]);
  if (command == "functions" && words.size() == 2) return run_function_cases(words[1]);
  if (command == "optimizers" && words.size() == 2) return run_optimizer_cases(words[1]);
  if (command == "train" && words.size() == 6) {
    return train_model(words[1], words[2], std::stoi(words[3]), words[4], words[5]);
  }
  throw ValueError("unknown command; the first lines of oracle_tool.cpp list them");
}

}  // namespace
}  // namespace plait

int main(int count, char** words) {
  try {
    plait::run({words + 1, words + count});
  } catch (const plait::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
  return 0;
}
