// Input and output of the command.
#pragma once

#include <string>
#include <string_view>

#include "plait/ir/program.h"

// Reads a file, or standard input if the path is "-". IoError if that fails.
std::string read_all(const std::string& path);
// Writes a file, or standard output if the path is "" or "-".
void write_all(const std::string& path, std::string_view content);

// Reads and verifies a program in text or binary form. Errors name the file.
plait::ir::Program read_program(const std::string& path);

// Draws a graph with Graphviz, as SVG. IoError if Graphviz is missing.
std::string svg_of(const std::string& dot);
