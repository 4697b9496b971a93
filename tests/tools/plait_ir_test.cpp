// Runs the command plait-ir on small files, and looks at what it prints and how it exits.
#include "tests/tools/plait_ir.h"

#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "plait/compile/inside/targets/target.h"
#include "plait/compile/pass.h"
#include "plait/core/version.h"
#include "plait/io/npy.h"
#include "plait/io/npz.h"

namespace plait {
namespace {

const std::string kProgram = R"(plait 1

func @main(%x: f64[], %y: f64[]) -> (f64[]) {
  %n = negative %y : f64[]      ; model.cpp:3
  %s = add %x, %n : f64[]     ; model.cpp:4
  print %s {label = "sum"}    ; model.cpp:5
  return %s
}

func @unused(%x: f64[]) -> (f64[]) {
  return %x
}
)";

TEST_F(PlaitIr, Prints) {
  Outcome printed = run("print " + file("a.plait", "func @main(%x: f32[])->(f32[]){return %x}"));
  EXPECT_EQ(printed.status, 0) << printed.errors;
  EXPECT_EQ(printed.output, "plait 1\n\nfunc @main(%x: f32[]) -> (f32[]) {\n  return %x\n}\n");
  Outcome bare = run("print --no-locations " + file("b.plait", kProgram));
  EXPECT_EQ(bare.output.find("model.cpp"), std::string::npos);
  EXPECT_NE(run("print " + path("b.plait")).output.find("; model.cpp:3"), std::string::npos);
}

TEST_F(PlaitIr, ReadsStandardInputAndWritesFiles) {
  file("a.plait", kProgram);
  Outcome printed = run("print - -o " + path("out") + " < " + path("a.plait"));
  EXPECT_EQ(printed.status, 0) << printed.errors;
  EXPECT_EQ(printed.output, "");
  EXPECT_EQ(content("out"), run("print " + path("a.plait")).output);
}

TEST_F(PlaitIr, Verifies) {
  Outcome good = run("verify " + file("a.plait", kProgram));
  EXPECT_EQ(good.status, 0) << good.errors;
  EXPECT_EQ(good.output, "valid: all 16 rules hold for 2 functions of 3 instructions\n");
  Outcome bad = run("verify " + file("b.plait", R"(
func @main<n>(%x: f32[n]) -> (f32[n]) {
  %s = negative %x                           ; model.cpp:7
  %r = refine %s : f32[k]                    ; model.cpp:8
  return %s
}
)"));
  EXPECT_EQ(bad.status, 1);
  EXPECT_EQ(bad.output, "");
  EXPECT_NE(bad.errors.find("column 3: rule `scope`: @main: %r = refine %s : f32[k]"),
            std::string::npos)
      << bad.errors;
  EXPECT_NE(bad.errors.find("model.cpp:8"), std::string::npos) << bad.errors;
}

TEST_F(PlaitIr, Rewrites) {
  std::string rewrite = "rewrite " + file("a.plait", kProgram) +
                        " --rule 'add(?x, negative(?y)) => subtract(?x, ?y)'";
  Outcome kept = run(rewrite);
  EXPECT_EQ(kept.status, 0) << kept.errors;
  EXPECT_NE(kept.output.find("%n = negative %y"), std::string::npos);
  EXPECT_NE(kept.output.find("%s = subtract %x, %y : f64[]"), std::string::npos) << kept.output;
  Outcome pruned = run(rewrite + " --rule 'subtract(?x, ?y) => maximum(?x, ?y)' --prune");
  EXPECT_EQ(pruned.output.find("negative"), std::string::npos);
  EXPECT_EQ(pruned.output.find("@unused"), std::string::npos);
  EXPECT_NE(pruned.output.find("maximum"), std::string::npos) << pruned.output;
  Outcome wrong = run("rewrite " + path("a.plait") + " --rule 'add(?x => ?x'");
  EXPECT_EQ(wrong.status, 1);
  EXPECT_NE(wrong.errors.find("ParseError"), std::string::npos) << wrong.errors;
}

TEST_F(PlaitIr, Prunes) {
  Outcome pruned = run("prune " + file("a.plait", kProgram));
  EXPECT_EQ(pruned.status, 0) << pruned.errors;
  EXPECT_EQ(pruned.output.find("@unused"), std::string::npos);
  EXPECT_NE(pruned.output.find("print %s"), std::string::npos);
}

TEST_F(PlaitIr, ConvertsThereAndBack) {
  file("a.plait", kProgram);
  Outcome there = run("convert " + path("a.plait") + " --to bytes -o " + path("a.plir"));
  EXPECT_EQ(there.status, 0) << there.errors;
  EXPECT_TRUE(content("a.plir").starts_with("PLIR"));
  Outcome back = run("convert " + path("a.plir") + " --to text");
  EXPECT_EQ(back.status, 0) << back.errors;
  EXPECT_EQ(back.output, run("print " + path("a.plait")).output);
}

TEST_F(PlaitIr, TellsIdentities) {
  std::string renamed = kProgram;
  for (size_t at; (at = renamed.find("%s")) != std::string::npos;) renamed.replace(at, 2, "%t");
  std::string first = run("identity " + file("a.plait", kProgram)).output;
  std::string second = run("identity " + file("b.plait", renamed)).output;
  EXPECT_EQ(first, second);
  EXPECT_EQ(first.find(" @main\n"), 32u) << first;
}

TEST_F(PlaitIr, TellsEffects) {
  file("a.plait", kProgram);
  EXPECT_EQ(run("effects " + path("a.plait")).output, "@main: observable\n@unused: pure\n");
  EXPECT_NE(run("effects --instructions " + path("a.plait"))
                .output.find("  %n = negative %y : f64[]: pure\n"),
            std::string::npos);
}

TEST_F(PlaitIr, Draws) {
  std::string dot = run("dot " + file("a.plait", kProgram)).output;
  EXPECT_TRUE(dot.starts_with("digraph program {")) << dot;
  Outcome svg = run("svg " + path("a.plait"));
  if (svg.status == 0) {
    EXPECT_NE(svg.output.find("<svg"), std::string::npos);
  } else {
    EXPECT_NE(svg.errors.find("install graphviz"), std::string::npos) << svg.errors;
  }
}

TEST_F(PlaitIr, SaysThatGraphvizIsMissing) {
  Outcome svg = run("svg " + file("a.plait", kProgram), "PATH=" + path("empty"));
  EXPECT_EQ(svg.status, 1);
  EXPECT_NE(svg.errors.find("IoError: cannot run Graphviz's `dot`"), std::string::npos)
      << svg.errors;
  EXPECT_NE(svg.errors.find("install graphviz"), std::string::npos);
}

TEST_F(PlaitIr, Evaluates) {
  Outcome sum = run("run " + file("a.plait", kProgram) + " -i 5 --input 1.5");
  EXPECT_EQ(sum.status, 0) << sum.errors;
  EXPECT_EQ(sum.output, "sum: 3.5 : f64[]\n3.5 : f64[]\n");
  EXPECT_NE(run("run " + path("a.plait") + " -i 5 -i -1.5").output.find("6.5"), std::string::npos);
  EXPECT_EQ(run("run " + path("a.plait") + " --function unused -i 7").output, "7. : f64[]\n");
  file("b.plait", R"(
func @main<n, m>(%x: f32[n], %o: bool[]?, %i: i64[2]) -> <k> (f32[k], bool[]?, i64[2], i64[]) {
  %s = size {value = n + m}
  %h = slice %x {axis = 0, start = 0, count = n//2}
  return <n//2> %h, %o, %i, %s
}
)");
  Outcome sizes =
      run("run " + path("b.plait") + " -i '[1, 2.5, 3, 4]' -i true -i 'i64[2](8, 9)' --size m=10");
  EXPECT_EQ(sizes.status, 0) << sizes.errors;
  EXPECT_EQ(sizes.output,
            "k = 2\n[1.  2.5] : f32[2]\npresent True : bool[]\n[8 9] : i64[2]\n14 : i64[]\n");
}

TEST_F(PlaitIr, EvaluatesToArrays) {
  file("a.plait", R"(
func @main<n>(%x: f32[n], %o: bool[]?) -> <k> (f32[k], (f64[], i64[2]), bool[]?) {
  %h = slice %x {axis = 0, start = 0, count = n//2}
  %s = literal {value = f64[](2.5)}
  %i = literal {value = i64[2](8, 9)}
  %p = tuple %s, %i
  return <n//2> %h, %p, %o
}
)");
  Outcome done =
      run("run " + path("a.plait") + " -i '[1, 2.5, 3, 4]' -i absent -o " + path("r.npz"));
  EXPECT_EQ(done.status, 0) << done.errors;
  std::string found;
  for (const auto& [name, array] : load_npz(path("r.npz"))) {
    found += name + " = " + text_of(array) + "\n";
  }
  EXPECT_EQ(found,
            "0 = [1.  2.5] : f32[2]\n1.0 = 2.5 : f64[]\n1.1 = [8 9] : i64[2]\nk = 2 : i64[]\n");
}

TEST_F(PlaitIr, TakesListsOfAnyDepthLiteralsAndFiles) {
  file("a.plait", "func @main<n, m>(%x: f32[n, m]) -> (f32[n, m]) { return %x }");
  EXPECT_EQ(run("run " + path("a.plait") + " -i '[[1, -2.5], [inf, 0.25]]'").output,
            "[[ 1.   -2.5 ]\n [  inf  0.25]] : f32[2, 2]\n");
  EXPECT_EQ(run("run " + path("a.plait") + " -i '[[], [], []]'").output, "[] : f32[3, 0]\n");
  EXPECT_EQ(run("run " + path("a.plait") + " -i 'f32[1, 3](7 ...)'").output,
            "[[7. 7. 7.]] : f32[1, 3]\n");
  const float numbers[] = {1, 2, 3, 4, 5, 6};
  save_npy(path("x.npy"), Array::of(std::span<const float>(numbers), {2, 3}));
  EXPECT_EQ(run("run " + path("a.plait") + " -i @" + path("x.npy")).output,
            "[[1. 2. 3.]\n [4. 5. 6.]] : f32[2, 3]\n");
  file("b.plait",
       "func @main(%x: i64[1, 1, 2]?, %c: c64[1]) -> (i64[1, 1, 2]?, c64[1]) "
       "{ return %x, %c }");
  EXPECT_EQ(
      run("run " + path("b.plait") + " -i '[[[9223372036854775807, -1]]]' -i '[(1+2j)]'").output,
      "present [[[9223372036854775807                  -1]]] : i64[1, 1, 2]\n[1.+2.j] : c64[1]\n");
  EXPECT_TRUE(
      run("run " + path("b.plait") + " -i absent -i '[(1+2j)]'").output.starts_with("absent\n"));
}

TEST_F(PlaitIr, PrintsBeforeTheErrorOfTheProgram) {
  file("a.plait", R"(
func @main<n>(%x: f64[n], %i: i64[]) -> (f64[]) {
  print %x {label = "x"}
  print %i
  %0 = gather %x, %i {axes = [0]}      ; model.cpp:9
  print %0 {label = "at i"}
  return %0
}
)");
  Outcome good = run("run " + path("a.plait") + " -i '[1, 2.5]' -i 1 -o " + path("results"));
  EXPECT_EQ(good.status, 0) << good.errors;
  EXPECT_EQ(good.output, "x: [1.  2.5] : f64[2]\n1 : i64[]\nat i: 2.5 : f64[]\n");
  EXPECT_EQ(content("results"), "2.5 : f64[]\n");
  Outcome bad = run("run " + path("a.plait") + " -i '[1, 2.5]' -i 2");
  EXPECT_EQ(bad.status, 1);
  EXPECT_EQ(bad.output, "x: [1.  2.5] : f64[2]\n2 : i64[]\n");
  EXPECT_NE(bad.errors.find("IndexError"), std::string::npos) << bad.errors;
  EXPECT_NE(bad.errors.find("model.cpp:9"), std::string::npos) << bad.errors;
}

TEST_F(PlaitIr, RefusesArgumentsThatDoNotFit) {
  file("a.plait", "func @main(%x: i64[2]) -> (i64[2]) { return %x }");
  for (std::string arguments :
       {"", "-i 1 -i 2", "-i '[1, 2.5]'", "-i '[1, 2'", "-i '[1, 2] 3'", "-i '[1, 2, 3]'",
        "-i 'f32[2](1, 2)'", "-i '[[1, 2]]'", "-i '[[1], 2]'", "-i '[1, [2]]'", "-i '[[], [1]]'",
        "-i '[[1, 2], [3]]'", "-i @nowhere.npy", "-i @a.plait", "-i '[1, 2]' --size m",
        "-i '[1, 2]' --function nowhere"}) {
    for (const std::string command : {"run ", "run --compiled ", "compare "}) {
      Outcome wrong = run(command + path("a.plait") + " " + arguments);
      EXPECT_EQ(wrong.status, 1) << command << arguments << "\n" << wrong.output;
      EXPECT_TRUE(wrong.errors.starts_with("plait-ir: ")) << arguments << "\n" << wrong.errors;
    }
  }
}

// ---- The compiler.

const std::string kLayer = R"(plait 1

func @main<n>(%x: f32[n, 4]) -> (f32[n]) {
  %0 = call @scaled<n>(%x)
  %1 = exp %0                         ; model.cpp:21
  %2 = reduce_sum %1 {axes = [1]}     ; model.cpp:22
  return %2
}

func @scaled<n>(%x: f32[n, 4]) -> (f32[n, 4]) {
  %0 = multiply %x, %x
  %1 = negative %0
  %2 = negative %1
  return %2
}
)";
const std::string kRows = " -i '[[0.1, 0.2, 0.3, 0.4], [1.1, 1.2, 1.3, 1.4], [1, 2, 3, 0.7]]'";

std::vector<size_t> places_of(const std::vector<std::string>& parts, const std::string& text) {
  std::vector<size_t> places;
  for (const std::string& part : parts) places.push_back(text.find(part));
  return places;
}

TEST_F(PlaitIr, ListsThePasses) {
  std::string wanted;
  for (const compile::Pass& pass : compile::passes()) {
    wanted += fmt::format("{:12}{}\n", pass.name, pass.summary);
  }
  EXPECT_EQ(run("passes").output, wanted);
}

TEST_F(PlaitIr, PrintsPlans) {
  const Outcome plan = run("compile " + file("a.plait", kLayer));
  EXPECT_EQ(plan.status, 0) << plan.errors;
  EXPECT_TRUE(plan.output.starts_with("plan @main(r0) -> (r")) << plan.output;
  EXPECT_EQ(run("compile --after plan - < " + path("a.plait")).output, plan.output);
  const std::string without = run("compile --passes -fuse " + path("a.plait")).output;
  EXPECT_NE(without.find("primitive exp"), std::string::npos) << without;
  EXPECT_EQ(run("compile " + path("a.plait"), "PLAIT_PASSES=-fuse").output, without);
}

TEST_F(PlaitIr, PrintsProgramsBehindPasses) {
  file("a.plait", kLayer);
  const std::string inlined = run("compile --after inline " + path("a.plait")).output;
  EXPECT_TRUE(inlined.starts_with("plait 1\n")) << inlined;
  EXPECT_EQ(inlined.find("@scaled"), std::string::npos) << inlined;
  EXPECT_NE(inlined.find("negative"), std::string::npos) << inlined;
  const Outcome fused = run("compile --after fuse -o " + path("b.plait") + " " + path("a.plait"));
  EXPECT_EQ(fused.status, 0) << fused.errors;
  EXPECT_EQ(content("b.plait").find("negative"), std::string::npos) << content("b.plait");
  EXPECT_EQ(run("run " + path("b.plait") + kRows).output,
            run("run " + path("a.plait") + kRows).output);
}

TEST_F(PlaitIr, PrintsAllThatIsDumped) {
  const std::string compiling = "compile " + file("a.plait", kLayer);
  const std::string all = run(compiling + " --after all").output;
  EXPECT_EQ(run(compiling, "PLAIT_DUMP=after:all").errors, all);
  std::vector<std::string> heads;
  for (const compile::Pass& pass : compile::passes()) {
    if (pass.name != "emit") heads.push_back(fmt::format("; ==== after {}\n", pass.name));
  }
  const std::vector<size_t> places = places_of(heads, all);
  EXPECT_NE(places.back(), std::string::npos) << all;
  EXPECT_TRUE(std::ranges::is_sorted(places)) << all;
  EXPECT_EQ(run(compiling + " --after all --passes -simplify,-fuse").output.find("after simplify"),
            std::string::npos);
}

TEST_F(PlaitIr, RunsCompiledProgramsLikeEvaluatedOnes) {
  file("a.plait", kProgram);
  file("b.plait", kLayer);
  file("c.plait", R"(
func @main<n, m>(%x: f32[n], %o: bool[]?, %i: i64[2])
    -> <k> (f32[k], bool[]?, i64[2], (i64[], f32[n])) {
  %s = size {value = n + m}
  %d = add %x, %x
  %h = slice %d {axis = 0, start = 0, count = n//2}
  %t = tuple %s, %d
  return <n//2> %h, %o, %i, %t
}
)");
  const std::string of_c = path("c.plait") + " -i '[1, 2.5, 3, 4]' -i true -i 'i64[2](8, 9)'";
  for (const std::string& arguments :
       {path("a.plait") + " -i 5 -i 1.5", path("a.plait") + " --function unused -i 7",
        path("b.plait") + " -i '[[1, 0.5, 2, 0]]'",
        path("b.plait") + " --function scaled -i '[[1, 0.5, 2, 0]]'", of_c + " --size m=10"}) {
    const Outcome evaluated = run("run " + arguments),
                  compiled = run("run --compiled " + arguments);
    EXPECT_EQ(compiled.status, 0) << arguments << compiled.errors;
    EXPECT_EQ(compiled.output, evaluated.output) << arguments;
  }
  EXPECT_EQ(run("run --compiled --size m=1 -o " + path("r.npz") + " " + of_c).status, 0);
  std::string found;
  for (const auto& [name, array] : load_npz(path("r.npz"))) found += name + " ";
  EXPECT_EQ(found, "0 1 2 3.0 3.1 k ");
}

// That it is compiled, which results do not show.
TEST_F(PlaitIr, DumpsWhatRunsCompiled) {
  const std::string running = "run " + file("a.plait", kLayer) + kRows;
  EXPECT_EQ(run(running, "PLAIT_DUMP=after:plan").errors, "");
  EXPECT_NE(run(running + " --compiled", "PLAIT_DUMP=after:plan").errors.find("plan @main"),
            std::string::npos);
  EXPECT_NE(run(running + " --compiled --passes -fuse", "PLAIT_DUMP=after:plan")
                .errors.find("primitive exp"),
            std::string::npos);
}

TEST_F(PlaitIr, ComparesWhatIsCompiled) {
  file("a.plait", kLayer);
  for (const char* options : {"", " --shift 4", " --passes -fuse", " --tolerance 1e-6"}) {
    const Outcome compared = run("compare " + path("a.plait") + kRows + options);
    EXPECT_EQ(compared.status, 0) << options << compared.errors;
    EXPECT_EQ(compared.output, "no differences\n") << options;
  }
  const Outcome printed = run("compare " + file("b.plait", kProgram) + " -i 5 -i 1.5");
  EXPECT_EQ(printed.output, "sum: 3.5 : f64[]\nno differences\n") << printed.errors;
  const Outcome nothing_will_do = run("compare --tolerance -1 " + path("a.plait") + kRows);
  EXPECT_EQ(nothing_will_do.status, 1) << nothing_will_do.output;
  EXPECT_NE(nothing_will_do.errors.find("the program after inline: result 0 is"), std::string::npos)
      << nothing_will_do.errors;
}

// Kernels add numbers up in another order.
TEST_F(PlaitIr, ComparesToTheLastBit) {
  if (compile::find_target(Device::Kind::cpu) == nullptr)
    GTEST_SKIP() << "no code is generated in this build";
  const std::string comparing = "compare " + file("a.plait", R"(
func @main<n>(%x: f32[n]) -> (f32[]) {
  %0 = exp %x                         ; model.cpp:21
  %1 = reduce_sum %0 {axes = [0]}     ; model.cpp:22
  return %1
}
)") + " -i 'f32[1000](0.1 ...)'";
  EXPECT_EQ(run(comparing).output, "no differences\n");
  const Outcome compared = run(comparing + " --tolerance 0");
  EXPECT_EQ(compared.status, 1) << compared.output;
  EXPECT_EQ(compared.output, "");
  for (const char* part : {"step 0 of @main: r1 = kernel @kernel0 r0!: result 0 is\n",
                           "and by the evaluator\n", ", at model.cpp:22"}) {
    EXPECT_NE(compared.errors.find(part), std::string::npos) << compared.errors;
  }
}

TEST_F(PlaitIr, RefusesPassesThatAreNone) {
  file("a.plait", kLayer);
  for (const std::string& command :
       {"compile --passes -fuze " + path("a.plait"), "compile --passes fuse " + path("a.plait"),
        "compile --after fuze " + path("a.plait"), "compile --after emit " + path("a.plait"),
        "compare --passes -fuze " + path("a.plait") + kRows,
        "run --compiled --passes -fuze " + path("a.plait") + kRows}) {
    const Outcome wrong = run(command);
    EXPECT_EQ(wrong.status, 2) << command << wrong.errors;
    EXPECT_EQ(wrong.output, "") << command;
    EXPECT_NE(wrong.errors.find("simplify"), std::string::npos) << command << wrong.errors;
  }
  const Outcome left_out = run("compile --after fuse --passes -fuse " + path("a.plait"));
  EXPECT_EQ(left_out.status, 2) << left_out.output;
  EXPECT_NE(left_out.errors.find("fuse is among the passes that are left out"), std::string::npos)
      << left_out.errors;
}

TEST_F(PlaitIr, ListsOperationsAndRules) {
  std::string ops = run("ops").output;
  for (auto name : {"\nadd ", "\nwhile ", "\nliteral ", "\nmatmul ", "\nprint ", "numpy.matmul\n"})
    EXPECT_NE(ops.find(name), std::string::npos) << name;
  EXPECT_NE(run("rules").output.find("scope           A size is used only where it is known.\n"),
            std::string::npos);
}

TEST_F(PlaitIr, TellsAllOfOneOperation) {
  std::string sum = run("ops reduce_sum").output;
  for (auto line : {"name        reduce_sum\n", "operands    1\n",
                    "attributes  axes, needs_some = false\n", "oracle      numpy.sum\n"})
    EXPECT_NE(sum.find(line), std::string::npos) << sum;
  Outcome unknown = run("ops reduce_sums");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_NE(unknown.errors.find("did you mean reduce_sum"), std::string::npos) << unknown.errors;
}

TEST_F(PlaitIr, MalformedInputIsAnErrorThatSaysWhere) {
  Outcome text =
      run("print " + file("a.plait", "func @main(%x: f32[]) -> (f32[]) {\n  return %z\n}"));
  EXPECT_EQ(text.status, 1);
  EXPECT_NE(text.errors.find("line 2"), std::string::npos) << text.errors;
  EXPECT_NE(text.errors.find("a.plait"), std::string::npos) << text.errors;
  for (std::string bytes : {std::string("PLIR"), std::string("PLIR\x01\xff\xff\xff\xff\x0f"),
                            std::string(64, '\0'), std::string("\xff\xfe")}) {
    Outcome wrong = run("print " + file("b.plir", bytes));
    EXPECT_EQ(wrong.status, 1);
    EXPECT_NE(wrong.errors.find("ParseError"), std::string::npos) << wrong.errors;
  }
}

TEST_F(PlaitIr, FilesThatCannotBeReadOrWritten) {
  Outcome missing = run("print " + path("nowhere"));
  EXPECT_EQ(missing.status, 1);
  EXPECT_NE(missing.errors.find("IoError: "), std::string::npos) << missing.errors;
  EXPECT_NE(missing.errors.find("nowhere"), std::string::npos) << missing.errors;
  EXPECT_EQ(run("print " + folder.string()).status, 1);
  Outcome unwritable = run("print " + file("a.plait", kProgram) + " -o " + path("no/such/folder"));
  EXPECT_EQ(unwritable.status, 1);
  EXPECT_NE(unwritable.errors.find("IoError"), std::string::npos) << unwritable.errors;
}

TEST_F(PlaitIr, WrongUseExitsWithTwo) {
  for (std::string arguments :
       {"", "nonsense", "print", "print a b c", "print --nonsense x", "convert x",
        "convert x --to somewhere", "rewrite x", "run x --passes -fuse",
        "compare x --tolerance much", "compare x --shift -1"}) {
    Outcome wrong = run(arguments);
    EXPECT_EQ(wrong.status, 2) << arguments;
    EXPECT_NE(wrong.errors, "") << arguments;
  }
}

TEST_F(PlaitIr, SaysWhichVersionItIs) {
  const Outcome outcome = run("--version");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, fmt::format("plait-ir {}\n", version()));
}

TEST_F(PlaitIr, HelpHasAnExampleForEachCommand) {
  Outcome help = run("--help");
  EXPECT_EQ(help.status, 0);
  for (std::string command :
       {"print", "verify", "convert", "rewrite", "prune", "dot", "svg", "identity", "effects",
        "ops", "rules", "run", "passes", "compile", "compare"}) {
    EXPECT_NE(help.output.find("\n  " + command), std::string::npos) << command;
    Outcome of_command = run(command + " --help");
    EXPECT_EQ(of_command.status, 0) << command;
    EXPECT_NE(of_command.output.find("Example: plait-ir " + command), std::string::npos) << command;
  }
}

}  // namespace
}  // namespace plait
