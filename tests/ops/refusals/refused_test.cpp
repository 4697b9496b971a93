// Programs that must be refused by a type rule or a kernel.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ir/program.h"
#include "plait/ops/arrays/create.h"
#include "plait/tensor/array_machine.h"
#include "plait/tensor/tracing/trace_function.h"

#include "tests/support/errors.h"

namespace plait {
namespace {

std::string error_of(const std::string& text, const std::vector<Tensor>& arguments = {}) {
  return what_of([&] { evaluate(ir::Program::parse(text), arguments); });
}
std::string body(const std::string& parameters, const std::string& instruction) {
  const bool says_all = parameters.find("->") != std::string::npos;
  return "func @main" + parameters + (says_all ? "" : " -> ()") + " {\n" + instruction +
         "\nreturn\n}";
}

struct Refused {
  std::string parameters, instruction, error;
};

TEST(Refused, ByTypeRules) {
  const std::vector<Refused> all = {
      {"(%x: f32[])", "%0 = broadcast %x {sizes = [-1]}",
       "ShapeError: line 2, column 1: broadcast: returns f32[-1]: a size is -1, below 0"},
      {"(%x: f32[4])", "%0 = reshape %x {sizes = [-2, -2]}", "reshape: returns f32[-2, -2]"},
      {"(%x: f32[4])", "%0 = pad %x {axis = 0, before = -1, after = 2}",
       "ValueError: line 2, column 1: pad: -1 zeros before and 2 after along axis 0"},
      // The last index is 8 · 2^61 = 2^64, which overflows to 0.
      {"(%x: f32[7])", "%0 = slice %x {axis = 0, start = 0, count = 2305843009213693953, step = 8}",
       "IndexError"},
      {"(%x: f32[7])", "%0 = slice %x {axis = 0, start = 0, count = 3, step = 0}", "a step of 0"},
      {"(%k: key[])", "%0 = random_integers %k {sizes = [2], count = 0}",
       "the count is 0, expected 1 or more"},
      {"(%x: f32[-1])", "", "ParseError: line 1, column 20: a size of -1, below 0"},
      {"() -> () over {data: -2}", "", "a size of -2, below 0"},
      {"(%x: f32[4])", "%0 = call @main<-1>(%x)", "a size of -1, below 0"},
  };
  for (const Refused& each : all) {
    const std::string error = error_of(body(each.parameters, each.instruction));
    EXPECT_NE(error.find(each.error), std::string::npos) << each.instruction << "\n" << error;
  }
}

// Symbolic sizes that the type rule cannot check.
TEST(Refused, RefusesSizesWhenTheProgramRuns) {
  const std::vector<Tensor> none{zeros({0})}, five{zeros({5})};
  EXPECT_NE(
      error_of(body("<n>(%x: f32[n])", "%0 = pad %x {axis = 0, before = n - 6, after = 9}"), five)
          .find("pad: -1 zeros before"),
      std::string::npos);
  EXPECT_NE(error_of(body("<n>(%x: f32[n])",
                          "%z = literal {value = f32[](0)}\n"
                          "%0 = broadcast %z {sizes = [0, n - 6]}"),
                     five)
                .find("a negative size: [0, -1]"),
            std::string::npos);
  EXPECT_NE(error_of(body("<n>(%x: f32[n])",
                          "%0 = window_spread %x {counts = [4294967297], window = [2], "
                          "strides = [1], dilation = [1], padding = [0], sizes = [7]}"),
                     five)
                .find("window_spread: [5] does not have [4294967297] windows"),
            std::string::npos);
  for (const char* transform : {"rfft %x {axis = 0}", "irfft %c {axis = 0, size = n}"}) {
    EXPECT_NE(error_of(body("<n>(%x: f32[n])", std::string("%0 = literal {value = c64[1]((0+0j))}\n"
                                                           "%c = refine %0 : c64[n//2 + 1]\n") +
                                                   "%y = " + transform),
                       none)
                  .find("a transform of 0 numbers"),
              std::string::npos)
        << transform;
  }
}

// None of these may take time in proportion to its sizes.
TEST(Refused, NothingIsDoneForWhatIsEmpty) {
  const std::string far = "1152921504606846976";
  const std::vector<std::string> instructions = {
      "%0, %1 = qr %x {complete = false} : f64[" + far + ", 0, 0], f64[" + far + ", 0, 0]",
      "print %x",
      "%0 = reshape %x {sizes = [" + far + ", 2, 0]}\n%1 = window_sum %0 {counts = [" + far +
          ", 0], window = [9, 9], strides = [1, 1], dilation = [1, 1], padding = [0, 0]}",
      "%0 = reshape %x {sizes = [" + far +
          ", 0]}\n%1 = convert %0 {dtype = c64}\n"
          "%2 = fft %1 {axis = 0}",
  };
  for (const std::string& instruction : instructions) {
    const std::string text = "func @main(%z: f64[]) -> () {\n%x = broadcast %z {sizes = [" + far +
                             ", 0, 0]}\n" + instruction + "\nreturn\n}";
    testing::internal::CaptureStdout();
    EXPECT_NO_THROW(evaluate(ir::Program::parse(text), {{zeros({}, DType::f64)}})) << instruction;
    testing::internal::GetCapturedStdout();
  }
}

TEST(Refused, AnAbstractTensorOutsideOfTrace) {
  const Tensor x = abstract_tensor(ir::Type::array(DType::f32, {Dim::symbol("n"), 2}));
  EXPECT_EQ(x.type().text(), "f32[n, 2]");
  EXPECT_THROW(x.array(), ValueError);
  EXPECT_THROW(trace([&](const Tensor&) { return x; })(zeros({})), ValueError);
  const auto traced = trace([](const Tensor& y) { return y; })(x);
  EXPECT_EQ(traced.program.entry().signature().parameters[0].text(), "f32[n, 2]");
}

}  // namespace
}  // namespace plait
