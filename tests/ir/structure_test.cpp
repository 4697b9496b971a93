// The type rules of structural instructions: each error, with a text that causes it.
#include <gtest/gtest.h>

#include "plait/core/error.h"
#include "plait/ir/program.h"

#include "tests/support/scalar_ops.h"

namespace plait::ir {
namespace {

struct Refusal {
  std::string name;  // name of the test
  ErrorKind kind;
  std::string message;  // a part of the error's message
  std::string body;     // body of @main
  std::string others = "";
};

constexpr std::string_view kHelpers = R"(
type @list = <k> {f32[k], @list?}
type @pair<n> = {f32[n], i64[]}
func @same(%x: f32[]) -> (f32[]) { return %x }
func @same64(%x: f64[]) -> (f64[]) { return %x }
func @two(%x: f32[]) -> (f32[], f32[]) { return %x, %x }
func @none() -> () { return }
func @yes(%x: f32[]) -> (bool[]) {
  %0 = less %x, %x
  return %0
}
func @sized<n>(%x: f32[n]) -> (f32[n]) { return %x }
func @grow<n>(%x: f32[n]) -> <m> (f32[m]) {
  %y = halve %x
  return <n//2> %y
}
func @more<n>(%x: f32[n]) -> (bool[]) {
  %n = size {value = n}
  %0 = less %n, %n
  return %0
}
func @row(%c: f32[], %x: f32[]) -> (f32[], f32[]) { return %c, %x }
func @node<k>(%x: f32[k], %c: f32[]) -> (f32[]) { return %c }
func @either(%x: f32[]^{data}) -> (f32[]) over {data: 4} {
  %0 = all_reduce_sum %x {axes = {data}}
  return %0
}
)";

std::string program_of(const Refusal& refusal) {
  return "func @main<n, m>(%x: f32[], %v: f32[n], %w: f32[m], %p: bool[], %i: i64[], %list: "
         "@list?, "
         "%d: f32[]^{data}, %q: bool[]^{data}, %j: i64[]^{data}) -> () over {data: 4} {\n" +
         refusal.body + "\nreturn\n}\n" + std::string(kHelpers) + refusal.others;
}

class Refused : public testing::TestWithParam<Refusal> {};

TEST_P(Refused, WithAClearError) {
  register_scalar_ops();
  try {
    Program::parse(program_of(GetParam()));
    FAIL() << "accepted:\n" << program_of(GetParam());
  } catch (const Error& error) {
    EXPECT_EQ(name_of(error.kind()), name_of(GetParam().kind)) << error.what();
    EXPECT_NE(std::string(error.what()).find(GetParam().message), std::string::npos)
        << error.what();
  }
}

constexpr ErrorKind kType = ErrorKind::type, kIndex = ErrorKind::index, kKey = ErrorKind::key;

INSTANTIATE_TEST_SUITE_P(
    Data, Refused,
    testing::Values(
        Refusal{"SizeDtype", kType, "a number", "%0 = size {value = n, dtype = bool}"},
        Refusal{"AsSizeOfVector", kType, "one integer", "<k> = as_size %v"},
        Refusal{"AsSizeVarying", kType, "padded form", "<k> = as_size %j"},
        Refusal{"RefineUnstated", kType, "must be stated", "%0 = refine %v"},
        Refusal{"RefineDtype", kType, "sizes only", "%0 = refine %v : f64[m]"},
        Refusal{"RefineRank", kType, "sizes only", "%0 = refine %v : f32[n, 1]"},
        Refusal{"GuardType", kType, "bool[]", "guard %x"},
        Refusal{"VaryTwice", kType, "already", "%0 = vary %d {axes = {data}}"},
        Refusal{"VaryUnknown", kType, "has no axis", "%0 = vary %x {axes = {model}}"},
        Refusal{"MixedAxes", kType, "varies along", "%0 = add %x, %d"},
        Refusal{"ElementOfArray", kType, "takes a tuple", "%0 = element %x {index = 0}"},
        Refusal{"ElementRange", kIndex, "index 2 is out of range for a tuple of 1",
                "%t = tuple %x\n%0 = element %t {index = 2}"},
        Refusal{"PackUnstated", kType, "must be stated", "%0 = pack<n> %v, %list"},
        Refusal{"PackUnknown", kKey, "unknown record @nothing", "%0 = pack %x : @nothing"},
        Refusal{"PackHeld", kType, "holds 1 sizes", "%0 = pack %v, %list : @list"},
        Refusal{"PackFields", kType, "has 2 fields", "%0 = pack<n> %v : @list"},
        Refusal{"PackField", kType, "expected f32[m]", "%0 = pack<m> %v, %list : @list"},
        Refusal{"PackArgument", kType, "size arguments", "%0 = pack %v, %i : @pair"},
        Refusal{"UnpackArray", kType, "takes a record", "%0, %1 = unpack %x"},
        Refusal{"AbsentUnstated", kType, "must be stated", "%0 = absent"},
        Refusal{"AbsentArray", kType, "optional", "%0 = absent : f32[]"},
        Refusal{"UnwrapArray", kType, "optional", "%0 = unwrap %x"},
        Refusal{"IsPresentArray", kType, "optional", "%0 = is_present %x"},
        Refusal{"StatedType", kType, "stated type of result 0", "%0 = add %x, %x : f64[]"}),
    [](const auto& info) { return info.param.name; });

INSTANTIATE_TEST_SUITE_P(
    Control, Refused,
    testing::Values(
        Refusal{"CallUnknown", kKey, "@nowhere", "%0 = call @nowhere(%x)"},
        Refusal{"CallCount", kType, "takes 1 values, 2 are given", "%0 = call @same(%x, %x)"},
        Refusal{"CallType", kType, "parameter 0 of @same", "%0 = call @same(%i)"},
        Refusal{"CallSizes", kType, "takes 1 sizes", "%0 = call @sized<n, n>(%v)"},
        Refusal{"CallSizeDiffers", kType, "expected f32[m]", "%0 = call @sized<m>(%v)"},
        Refusal{"CondPredicate", kType, "expected bool[]", "%0 = cond @same, @same(%x, %x)"},
        Refusal{"CondResults", kType, "@two against @same", "%0 = cond @same, @two(%p, %x)"},
        Refusal{"CondOperands", kType, "parameter 0 of @same64",
                "%0 = cond @same, @same64(%p, %x)"},
        Refusal{"CondVaryingResult", kType, "must vary along it", "%0 = cond @same, @same(%q, %x)"},
        Refusal{"CondVaryingSize", kType, "padded form",
                "<k> %0 = cond @grow<n>, @grow<n>(%q, %v)"},
        Refusal{"CondOneBranch", kType, "takes 2 functions", "%0 = cond @same(%p, %x)"},
        Refusal{"SwitchIndex", kType, "an integer", "%0 = switch @same, @same(%x, %x)"},
        Refusal{"SwitchSizes", kType, "@grow returns 1", "%0 = switch @sized<n>, @grow<n>(%i, %v)"},
        Refusal{"WhileTest", kType, "must return one bool[]", "%0 = while @same, @same(%x)"},
        Refusal{"WhileBody", kType, "results and parameters of", "%0 = while @yes, @two(%x)"},
        Refusal{"WhileSizes", kType, "the same sizes", "<k> %0 = while @more<n>, @grow<m>(%v)"},
        Refusal{"WhileConstants", kType, "constants = 3",
                "%0 = while @yes, @same(%x) {constants = 3}"},
        Refusal{"WhileSizedConstant", kType, "changes from step to step",
                "<k> %0 = while @more2<n>, @keep<n>(%v, %v) {constants = 1}",
                "func @more2<n>(%c: f32[n], %x: f32[n]) -> (bool[]) {\n%0 = call "
                "@more<n>(%x)\nreturn %0\n}\n"
                "func @keep<n>(%c: f32[n], %x: f32[n]) -> <m> (f32[m]) {\n%y = halve %x\nreturn "
                "<n//2> %y\n}\n"},
        Refusal{
            "WhileVaryingTest", kType, "must vary along it",
            "%0 = while @test2, @body2(%d, %x) {constants = 1}",
            "func @test2(%d: f32[]^{data}, %x: f32[]) -> (bool[]^{data}) over {data: 4} {\n"
            "%0 = less %d, %d\nreturn %0\n}\n"
            "func @body2(%d: f32[]^{data}, %x: f32[]) -> (f32[]) over {data: 4} { return %x }\n"},
        Refusal{"ScanLength", kType, "whose first size is m",
                "%0, %1 = scan @row(%x, %v) {carries = 1, length = m}"},
        Refusal{"ScanScalar", kType, "an array whose first size",
                "%0, %1 = scan @row(%x, %x) {carries = 1, length = n}"},
        Refusal{"ScanCarries", kType, "carries = 9",
                "%0 = scan @row(%x, %v) {carries = 9, length = n}"},
        Refusal{"ScanFewResults", kType, "fewer than",
                "%1 = scan @drop(%x) {carries = 1, length = n}",
                "func @drop(%x: f32[]) -> () { return }\n"},
        Refusal{"UnwindArray", kType, "a list of records", "%0 = unwind @same(%x)"},
        Refusal{"UnwindBody", kType, "parameters of @pair", "%0 = unwind @pair(%list, %x)",
                "func @pair<k>(%x: f32[], %c: f32[k]) -> (f32[]) { return %x }\n"},
        Refusal{"VjpSizes", kType, "the same sizes",
                "%0 = custom_vjp @sized<n>, @sized<m>, @sized<n>(%v)"},
        Refusal{"VjpBackward", kType, "parameters of @none",
                "%0 = custom_vjp @same, @two, @none(%x)"},
        Refusal{"JvpRule", kType, "results of @same", "%0 = custom_jvp @same, @same(%x)"}),
    [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace plait::ir
