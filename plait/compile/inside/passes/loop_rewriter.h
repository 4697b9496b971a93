// Base of the passes over loops, which replace loops one by one, and give each a body of its own.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "plait/ir/analysis/call_graph.h"
#include "plait/ir/rewriting/copy_function.h"

namespace plait::compile {

bool is_loop(const ir::Instruction& instruction);  // a scan, or a while

class LoopRewriter {
 public:
  explicit LoopRewriter(const ir::Program& program);
  virtual ~LoopRewriter() = default;

  // Callees first: a value that has left an inner loop may leave the outer one too. Returns the
  // program itself if no loop changes.
  ir::Program run();

 protected:
  // The caller, which has a loop.
  struct Caller {
    uint32_t index;
    ir::FunctionBuilder& builder;
    ir::Copier& copier;
  };
  using FunctionPointer = std::shared_ptr<const ir::Function>;

  // Adds another form of the loop to the caller. False if it stays as it is.
  virtual bool rewrite(const ir::Instruction& loop, const Caller& caller) = 0;

  // The functions of a loop; none if one cannot be changed: it calls itself, or has facts, named
  // axes or sizes that change.
  std::vector<FunctionPointer> functions_of(uint32_t caller, const ir::Instruction& loop) const;
  // A new function, whose name begins with that of another.
  ir::FunctionBuilder new_function(const ir::Function& like, const ir::Signature& signature,
                                   const std::vector<std::string>& labels);
  // Returns its name.
  std::string finish(ir::Copier& copier);
  std::string finish(ir::FunctionBuilder& builder, const std::vector<ir::ValueId>& results);

 private:
  void rewrite_loops_of(uint32_t index);

  const ir::Program& program_;
  const ir::CallGraph graph_;
  std::vector<FunctionPointer> functions_, added_;
  ir::ProgramBuilder builder_;
};

}  // namespace plait::compile
