// Where the command reads and writes.
#pragma once

#include <string>
#include <string_view>

#include "plait/ir/program.h"

// The whole of a file, or of standard input when it is called "-". IoError when that fails.
std::string read_all(const std::string& path);
// To a file, or to standard output when the path is "" or "-".
void write_all(const std::string& path, std::string_view content);

// A program in either form, verified. Errors name the file.
plait::ir::Program read_program(const std::string& path);

// Graphviz's drawing of a graph, as SVG. IoError when Graphviz is not there.
std::string svg_of(const std::string& dot);
