#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ir/analysis/identity.h"
#include "plait/ir/analysis/verify.h"
#include "plait/ir/rewriting/copy_function.h"
#include "plait/ir/text/printer.h"

#include "tests/support/scalar_ops.h"

namespace plait::ir {
namespace {

constexpr std::string_view kCopiedProgram = R"(plait 1

func @main<n>(%x: f32[n], %c: i64[]) -> <m> (f32[m], i64[]) over {data: n} where 1 <= n {  ; model.cpp:1
  <k> = as_size %c                  ; model.cpp:2
  %s = size {value = n + k} : i64[] ; model.cpp:3
  %y = call @other<n>(%x) : f32[n]
  %z = refine %y : f32[k]
  return <k> %z, %s
}

func @other<n>(%x: f32[n]) -> (f32[n]) {
  return %x
}
)";

class Copies : public testing::Test {
 protected:
  void SetUp() override {
    register_scalar_ops();
    program = Program::parse(kCopiedProgram);
  }
  Program program;
};

TEST_F(Copies, WithoutOptionsAreEqual) {
  auto same = copy(program.entry(), declarations_of(program), {});
  EXPECT_EQ(print(*same), print(program.entry()));
}

TEST_F(Copies, UnderOtherNames) {
  Declarations declarations = declarations_of(program);
  declarations.add("another", program.function(1).signature());
  CopyOptions options{.name = "copied",
                      .callees = {{"other", "another"}},
                      .sizes = {{Dim::symbol("n"), Dim::symbol("rows")},
                                {Dim::symbol("k"), Dim::symbol("n")},
                                {Dim::symbol("m"), Dim::symbol("k")}}};
  auto copied = copy(program.entry(), declarations, options);
  EXPECT_EQ(print(*copied, {.locations = false}),
            "func @copied<rows>(%x: f32[rows], %c: i64[]) -> <k> (f32[k], i64[]) over {data: rows} "
            "where 1 <= rows {\n"
            "  <n> = as_size %c\n"
            "  %s = size {value = n + rows} : i64[]\n"
            "  %y = call @another<rows>(%x) : f32[rows]\n"
            "  %z = refine %y : f32[n]\n"
            "  return <n> %z, %s\n"
            "}\n");
  EXPECT_EQ(copied->location().text(), "model.cpp:1");
  EXPECT_EQ(copied->instruction(1).location().text(), "model.cpp:3");
}

TEST_F(Copies, AreTheSameFunction) {
  auto copied = copy(program.entry(), declarations_of(program),
                     {.name = "main", .sizes = {{Dim::symbol("k"), Dim::symbol("j")}}});
  Program changed = Program::of({copied, program.functions()[1]});
  verify(changed);
  EXPECT_NE(changed.text(), program.text());
  EXPECT_TRUE(same(changed, 0, program, 0));
}

TEST_F(Copies, RefuseInstructionsAndValuesThatWereNotCopied) {
  Declarations declarations = declarations_of(program);
  FunctionBuilder builder("partial", declarations);
  Copier copier(program.entry(), builder);
  EXPECT_THROW(copier.copy(program.entry().instruction(0)), ValueError);
  EXPECT_THROW(copier.value(1000), ValueError);
}

}  // namespace
}  // namespace plait::ir
