// Kernels that go on with the rows that they compute, so that these are never in memory as a whole.
// Attention is one: q · kᵀ, softmax along each row of it, and the product with v.
//
// What such a kernel computed for the backward pass is computed there again, by the kernel that
// reads it.
#pragma once

#include <cstdint>

#include "plait/compile/inside/passes/cluster_graph.h"

namespace plait::compile {

// True if an operand is rows that a group computes of a product, and a kernel for both would save
// more memory traffic than it costs.
bool follows_rows(const ClusterGraph& graph, const ir::Instruction& product);

// Adds such products to the groups.
void chain_products(ClusterGraph& graph);

}  // namespace plait::compile
