// Runs the command plait-ir on small files, and looks at what it prints and how it exits.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plait/io/npy.h"
#include "plait/io/npz.h"

#include "tests/support/files.h"

namespace plait {
namespace {

struct Outcome {
  int status = -1;
  std::string output, errors;
};

class PlaitIr : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() /
             ("plait-ir-test-" + std::to_string(getpid()) + "-" +
              testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }
  std::string file(const std::string& name, const std::string& content) const {
    std::ofstream(path(name), std::ios::binary) << content;
    return path(name);
  }
  std::string content(const std::string& name) const { return text_of_file(path(name)); }
  // Through the shell, so that arguments are quoted and redirected as they would be there.
  Outcome run(const std::string& arguments, const std::string& environment = "") const {
    std::string command = environment + " " + PLAIT_TOOLS_DIR + "/plait-ir " + arguments + " > " +
                          path("stdout") + " 2> " + path("stderr");
    int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, content("stdout"), content("stderr")};
  }

  std::filesystem::path folder;
};

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
  EXPECT_EQ(good.output, "kept: all 16 rules, by 2 functions of 3 instructions\n");
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
  EXPECT_NE(svg.errors.find("IoError: can't run Graphviz's `dot`"), std::string::npos)
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

TEST_F(PlaitIr, WhatIsPrintedComesFirstAlsoWhereTheProgramFails) {
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
    Outcome wrong = run("run " + path("a.plait") + " " + arguments);
    EXPECT_EQ(wrong.status, 1) << arguments << "\n" << wrong.output;
    EXPECT_TRUE(wrong.errors.starts_with("plait-ir: ")) << arguments << "\n" << wrong.errors;
  }
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
  for (std::string arguments : {"", "nonsense", "print", "print a b c", "print --nonsense x",
                                "convert x", "convert x --to somewhere", "rewrite x"}) {
    Outcome wrong = run(arguments);
    EXPECT_EQ(wrong.status, 2) << arguments;
    EXPECT_NE(wrong.errors, "") << arguments;
  }
}

TEST_F(PlaitIr, HelpHasAnExampleForEachCommand) {
  Outcome help = run("--help");
  EXPECT_EQ(help.status, 0);
  for (std::string command : {"print", "verify", "convert", "rewrite", "prune", "dot", "svg",
                              "identity", "effects", "ops", "rules", "run"}) {
    EXPECT_NE(help.output.find("\n  " + command), std::string::npos) << command;
    Outcome of_command = run(command + " --help");
    EXPECT_EQ(of_command.status, 0) << command;
    EXPECT_NE(of_command.output.find("Example: plait-ir " + command), std::string::npos) << command;
  }
}

}  // namespace
}  // namespace plait
