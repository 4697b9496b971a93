// What is printed while a function is differentiated: the numbers, once.
#include "plait/ops/print.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "plait/ops/elementwise.h"
#include "plait/transform/grad.h"

namespace plait {
namespace {

TEST(PrintDifferentiated, PrintsTheNumbersOnce) {
  std::vector<std::string> lines;
  PrintSink former = set_print_sink([&](std::string_view text) { lines.emplace_back(text); });
  const Tensor slope =
      grad([](const Tensor& x) { return print(square(x), "x²") * 2; })(Tensor(Array::of(3.0)));
  set_print_sink(std::move(former));
  EXPECT_EQ(slope.item<double>(), 12);
  EXPECT_EQ(lines, std::vector<std::string>{"x²: 9. : f64[]"});
}

}  // namespace
}  // namespace plait
